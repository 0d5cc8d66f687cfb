"""Load files for an import or export: regular files of UTF-8 text, limited in size, not reached through a link."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.formats import MAX_BYTES, InteropError, Source
from ralph_tui.store.io.files import DamagedError, read_regular

STANDARD_INPUT = "-"
_SAVE_AS = "Save the file as UTF-8 and import it again."


@dataclass(frozen=True)
class LoadedFile:
    """A file that was read.

    Attributes:
        source: The text, under the name that messages use.
        path: The path relative to the project, with slashes; absolute for a file outside; empty for standard input.
    """

    source: Source
    path: str


def load_source(root: Path, given: str, base: Path | None = None) -> LoadedFile:
    """Read the named file, relative to `base` or the current directory; `-` without a base is standard input."""
    if given == STANDARD_INPUT and base is None:
        return LoadedFile(Source("standard input", _decoded("standard input", _stdin())), "")
    return load_file(root, given, base)


def load_file(root: Path, given: str, base: Path | None = None) -> LoadedFile:
    path = place_of(root, given, base)
    name = one_line(given, 300)
    return LoadedFile(Source(name, _decoded(name, _bytes(path, name))), name_in(root, path))


def place_of(root: Path, given: str, base: Path | None = None) -> Path:
    """Return the real path of a named file, relative to `base` or the current directory."""
    name = one_line(given, 300)
    if not given or "\0" in given:
        raise InteropError(
            name or "''", 0, "this is not a valid file name", "Give the path of a file."
        )
    named = os.path.join(base or "", os.path.expanduser(given))  # noqa: PTH111, PTH118 - it may be absolute
    lexical = Path(os.path.abspath(named))  # noqa: PTH100 - links are looked at below
    real = Path(os.path.realpath(lexical))
    # The project itself may have been reached through a link, and macOS has one on /tmp.
    parent = Path(os.path.realpath(lexical.parent))
    seems_inside = lexical.is_relative_to(root) or parent.is_relative_to(root)
    if seems_inside and not real.is_relative_to(root):
        raise InteropError(
            name,
            0,
            "it is a link to a place outside the project",
            "Give the path of the file itself.",
        )
    return real


def name_in(root: Path, path: Path) -> str:
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


def _bytes(path: Path, name: str) -> bytes:
    try:
        data = read_regular(path, limit=MAX_BYTES)
    except DamagedError as error:
        raise InteropError(name, 0, f"it is {error}", "Give the path of a plan file.") from error
    if data is None:
        raise InteropError(name, 0, "the file does not exist", "Check the path.")
    return data


def _stdin() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise InteropError(
            "standard input",
            0,
            "there is nothing to read",
            "Pipe a file to ralph, or give the path of one.",
        )
    data = sys.stdin.buffer.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise InteropError("standard input", 0, "it is too large", "Pipe a smaller plan to ralph.")
    return data


def _decoded(name: str, data: bytes) -> str:
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise InteropError(name, 1, "it is UTF-16, not UTF-8", _SAVE_AS)
    if (nul := data.find(b"\0")) >= 0:
        what = "it contains a NUL byte, so it is not text"
        raise InteropError(name, _line(data, nul), what, _SAVE_AS)
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        what = f"byte 0x{data[error.start]:02x} is not UTF-8, perhaps Latin-1"
        raise InteropError(name, _line(data, error.start), what, _SAVE_AS) from error


def _line(data: bytes, position: int) -> int:
    return data.count(b"\n", 0, position) + 1
