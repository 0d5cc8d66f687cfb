"""Know the project's own Python environment: where it imports from, and what no package installed in it."""

import base64
import csv
import hashlib
import os
import re
from collections.abc import Iterator
from pathlib import Path

_RUNNERS = ("pytest", "pluggy")
_VIRTUALENVS_OWN = ("_virtualenv.pth", "import _virtualenv")
_QUOTED_PATH = re.compile(r"""['"](/[^'"\n]+)['"]""")


def editable_paths(root: Path) -> Iterator[Path]:
    """Yield the project's directories from which its own environments import it."""
    for site in site_packages(root):
        for pth in site.glob("*.pth"):
            for line in _text(pth).splitlines():
                if line.startswith("/"):
                    yield Path(line.strip())
        for finder in site.glob("__editable__*_finder.py"):
            yield from (Path(path).parent for path in _QUOTED_PATH.findall(_text(finder)))


def site_packages(root: Path) -> Iterator[Path]:
    """Yield the `site-packages` of the project's own environments."""
    for name in (".venv", "venv"):
        yield from sorted((root / name / "lib").glob("python*/site-packages"))


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")[:1_000_000]
    except OSError:
        return ""


def environment_faults(root: Path) -> tuple[str, ...]:
    """Return what no package installed in the project's own Python environment. Blocks."""
    found: list[str] = []
    for site in site_packages(root):
        found += _faults(site, root)
    return tuple(found)


def _faults(site: Path, root: Path) -> Iterator[str]:
    records = [
        p for p in site.glob("*.dist-info/RECORD") if p.parent.name.split("-")[0] in _RUNNERS
    ]
    for record in records:
        for name in _altered(site, record):
            yield f"{_shown(site / name, root)} is not as it was installed"
    interpreter = site.parents[2] / "bin" / "python"
    if _is_script(interpreter):
        yield f"{_shown(interpreter, root)} is a script instead of an interpreter"
    suspects = [p for p in site.glob("*.pth") if _runs_code(p)]
    suspects += [p for n in ("sitecustomize.py", "usercustomize.py") if (p := site / n).is_file()]
    if suspects:
        owned = {name for record in site.glob("*.dist-info/RECORD") for name in _recorded(record)}
        for path in suspects:
            if path.name not in owned:
                yield f"{_shown(path, root)} runs with every Python, and no package installed it"


def _shown(path: Path, root: Path) -> str:
    return os.path.relpath(path, root)


def _is_script(program: Path) -> bool:
    """Return whether a program is a script other than a version manager's, which chooses the interpreter."""
    try:
        real = program.resolve()
        with real.open("rb") as file:
            return file.read(2) == b"#!" and real.parent.name != "shims"
    except OSError:
        return False


def _runs_code(path: Path) -> bool:
    text = path.read_text(encoding="utf-8", errors="replace")
    if path.name == _VIRTUALENVS_OWN[0] and text.strip() == _VIRTUALENVS_OWN[1]:
        return False
    return any(line.startswith(("import ", "import\t")) for line in text.splitlines())


def _recorded(record: Path) -> Iterator[str]:
    with record.open(encoding="utf-8", errors="replace", newline="") as file:
        yield from (row[0] for row in csv.reader(file) if row)


def _altered(site: Path, record: Path) -> Iterator[str]:
    """Yield the files of a package whose content differs from its record."""
    with record.open(encoding="utf-8", errors="replace", newline="") as file:
        rows = [row for row in csv.reader(file) if len(row) > 2 and row[1].startswith("sha256=")]
    for name, digest, _ in (row[:3] for row in rows):
        if not name.endswith(".py") and "/bin/" not in name:
            continue
        wanted = digest.removeprefix("sha256=")
        if _digest(os.path.join(site, name)) != wanted:  # noqa: PTH118 - hundreds of times
            yield name


def _digest(path: str) -> str:
    try:
        with Path(path).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").digest()
    except OSError:
        return ""
    return base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
