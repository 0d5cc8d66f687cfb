"""The entry point: runs the most frequent commands at once, leaves the rest to the command tree, and exits.

Loading Typer takes a tenth of a second, too long for the screen and for a status line in a shell prompt.
"""

import contextlib
import errno
import gc
import io
import os
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from types import ModuleType

from ralph_tui.cli.console import discard_stdout, fail, note
from ralph_tui.domain.errors import ExitCode, RalphError, SetupError

LOADER = "pydantic.plugin._loader"
"""Reads the metadata of every installed distribution when the first model is built."""

START_OBJECTS = 300_000
"""More objects than the imports and the first screen create. All of them stay, so collecting them wastes 20 ms per 100,000."""


def start_lean() -> None:
    """Raise the collector's threshold and skip pydantic's plugin search. Call this before pydantic is imported."""
    gc.set_threshold(START_OBJECTS)

    def from_real_loader(name: str) -> object:
        if name.startswith("__"):
            raise AttributeError(name)
        sys.modules.pop(LOADER, None)
        return getattr(import_module(LOADER), name)

    loader = ModuleType(LOADER)
    vars(loader).update(get_plugins=tuple, __getattr__=from_real_loader)
    sys.modules.setdefault(LOADER, loader)


def main(arguments: list[str] | None = None) -> None:
    start_lean()
    words = sys.argv[1:] if arguments is None else arguments
    _prepare_streams()
    status = _status(words)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # as with `ralph tasks | head`
        discard_stdout()
    except OSError as error:
        status = _report_unwritable_stdout(error)
    gc.freeze()  # skips the interpreter's last collection: the system frees all memory at once
    sys.exit(status)


def _open() -> int:
    from ralph_tui.cli.run.mode import open_here

    return open_here(_begin)


def _begin(_: Path) -> int:
    from ralph_tui.cli.app import run_command

    return run_command([])


def _print_status(*, as_json: bool = False) -> int:
    from ralph_tui.cli.status_report import print_status

    print_status(as_json=as_json)
    return int(ExitCode.COMPLETE)


QUICK: Mapping[tuple[str, ...], Callable[[], int]] = {
    (): _open,
    ("status",): _print_status,
    ("status", "--json"): lambda: _print_status(as_json=True),
}
"""Whole command lines that need no parser. The command tree does the same for each of them."""


COMPLETING = "_RALPH_COMPLETE"
"""Set by a shell that asks for completions of a command line."""


def _status(words: list[str]) -> int:
    try:
        _refuse_windows(words)
        quick = QUICK.get(tuple(words))
        if quick and COMPLETING not in os.environ:
            return quick()
        from ralph_tui.cli.app import run_command

        return run_command(words)
    except RalphError as error:
        fail(error)
        return int(error.exit_code)
    except KeyboardInterrupt:
        note("interrupted.")
        return int(ExitCode.INTERRUPTED)
    except BrokenPipeError:  # as with `ralph status | true`
        discard_stdout()
        return int(ExitCode.COMPLETE)
    except OSError as error:
        return _report_os_error(error)
    except Exception as error:  # noqa: BLE001  (the last resort; the crash report has the details)
        return _report_unexpected(error)


def _report_os_error(error: OSError) -> int:
    # Standard output has no file name, unlike the files that commands open.
    if error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        return _report_unwritable_stdout(error)
    refused = error.errno in (errno.EACCES, errno.EPERM, errno.EROFS)
    if not refused or error.filename is None:
        return _report_unexpected(error)
    path = os.fsdecode(error.filename)
    hint = "Check who owns it and its permissions, then run the command again."
    if Path(path).is_relative_to(Path.home()):
        hint += " With a home that is read-only, set XDG_STATE_HOME and CLAUDE_CONFIG_DIR to other directories."
    fail(RalphError(f"{path} cannot be used: {str(error.strerror).lower()}.", hint))
    return int(ExitCode.ERROR)


def _report_unwritable_stdout(error: OSError) -> int:
    discard_stdout()
    why = error.strerror or str(error)
    fail(RalphError(f"Standard output cannot be written: {why}.", "The output is incomplete."))
    return int(ExitCode.ERROR)


def _report_unexpected(error: Exception) -> int:
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # of pathlib
        fail(SetupError("Your home directory is not known.", "Set HOME to a directory of yours."))
        return int(SetupError.exit_code)
    from ralph_tui.store.crash_reports import write_report

    fail(
        RalphError(
            f"something went wrong that ralph did not expect ({type(error).__name__}).",
            f"Please report it. The details are in {write_report(error, Path.cwd())}.",
        )
    )
    return int(ExitCode.ERROR)


def _prepare_streams() -> None:
    """Open closed streams, and show characters that the terminal's encoding lacks as escapes instead of failing."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)  # noqa: FBT003  (positional-only)
            setattr(sys, name, os.fdopen(nowhere, mode))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            with contextlib.suppress(OSError):
                stream.reconfigure(errors="backslashreplace")


def _refuse_windows(words: list[str]) -> None:
    if sys.platform == "win32" and not {"--help", "--version"} & set(words):
        raise SetupError(
            "ralph does not run on Windows: it needs POSIX process groups, signals and file locks.",
            "Use it inside WSL.",
        )
