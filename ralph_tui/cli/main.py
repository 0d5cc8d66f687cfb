"""The front door: answers the most frequent commands at once, hands the rest to the command tree, and exits.

Typer takes a tenth of a second, too long for the screen and for a status line in a prompt.
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
"""It reads the metadata of every installed distribution when the first model is built."""

START_OBJECTS = 300_000
"""More than the imports and the first screen make. They all stay: a look at 100,000 finds nothing and takes 20 ms."""


def start_lean() -> None:
    """Raise the collector's threshold and skip the plugin search; call it before pydantic is imported."""
    gc.set_threshold(START_OBJECTS)
    _load_no_plugins()


def end_lean() -> None:
    """Skip the interpreter's last collection: the system takes back everything at once."""
    gc.freeze()


def _load_no_plugins() -> None:
    """Replace pydantic's plugin loader: ralph's models use no plugin, and the search takes an eighth of a status."""
    loader = ModuleType(LOADER)
    vars(loader).update(get_plugins=tuple, __getattr__=_of_the_real_loader)
    sys.modules.setdefault(LOADER, loader)


def _of_the_real_loader(name: str) -> object:
    """Load the real module for any other name, which another version of pydantic may ask for."""
    if name.startswith("__"):
        raise AttributeError(name)
    sys.modules.pop(LOADER, None)
    return getattr(import_module(LOADER), name)


def main(arguments: list[str] | None = None) -> None:
    """Run ralph and exit with its status."""
    start_lean()
    words = sys.argv[1:] if arguments is None else arguments
    _fill_closed_streams()
    _show_any_text()
    status = _status(words)
    try:
        sys.stdout.flush()
    except BrokenPipeError:  # `ralph tasks | head`: the reader has what it wanted
        discard_stdout()
    except OSError as error:
        status = _unwritten(error)
    end_lean()
    sys.exit(status)


def _open() -> int:
    from ralph_tui.cli.run.mode import open_here

    return open_here(None, _begin)


def _begin(directory: Path) -> int:
    from ralph_tui.cli.commands.init import begin_here

    return begin_here(directory)


def _stand(*, as_json: bool = False) -> int:
    from ralph_tui.cli.status_report import print_status

    print_status(None, as_json=as_json)
    return int(ExitCode.COMPLETE)


QUICK: Mapping[tuple[str, ...], Callable[[], int]] = {
    (): _open,
    ("status",): _stand,
    ("status", "--json"): lambda: _stand(as_json=True),
}
"""Whole command lines that need no parser; the tree answers each of them in the same way."""


COMPLETING = "_RALPH_COMPLETE"
"""Set by a shell that wants to know how a command line could continue."""


def _status(words: list[str]) -> int:
    """Run the command and return its exit status; no error escapes as a traceback."""
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
    except BrokenPipeError:  # `ralph status | true`: nobody reads any more
        discard_stdout()
        return int(ExitCode.COMPLETE)
    except OSError as error:
        if _is_of_output(error):
            return _unwritten(error)
        return _forbidden(error) if _is_forbidden(error) else _unexpected(error)
    except Exception as error:  # noqa: BLE001  (the last line of defence; the report has it all)
        return _unexpected(error)


def _is_of_output(error: OSError) -> bool:
    """Return whether standard output failed: it has no name, unlike the files that commands open."""
    return error.filename is None and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def _unwritten(error: OSError) -> int:
    """Say that the output is incomplete, as in `ralph tasks > /mnt/full/tasks`."""
    discard_stdout()
    why = error.strerror or str(error)
    fail(RalphError(f"Standard output cannot be written: {why}.", "What was printed is not whole."))
    return int(ExitCode.ERROR)


def _is_forbidden(error: OSError) -> bool:
    return isinstance(error, PermissionError) and error.filename is not None


def _forbidden(error: OSError) -> int:
    """Name a path that this user may not read or write."""
    path = os.fsdecode(error.filename)
    fail(
        RalphError(
            f"{path} cannot be used: permission denied.",
            "Check who owns it and its permissions, then run the command again.",
        )
    )
    return int(ExitCode.ERROR)


def _unexpected(error: Exception) -> int:
    from ralph_tui.store.crash_reports import write_report

    fail(
        RalphError(
            f"something went wrong that ralph did not expect ({type(error).__name__}).",
            f"The details are in {write_report(error, Path.cwd())}; please report it with them.",
        )
    )
    return int(ExitCode.ERROR)


def _fill_closed_streams() -> None:
    """Open a stream that was closed (`>&-`) on nothing; otherwise the next file opened gets its number."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.set_inheritable(nowhere, True)  # noqa: FBT003  (it takes no names)
            setattr(sys, name, os.fdopen(nowhere, mode))


def _show_any_text() -> None:
    """Show characters that the terminal's encoding lacks as escapes instead of failing."""
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
