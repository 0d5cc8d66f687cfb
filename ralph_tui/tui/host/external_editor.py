"""Opens a file in the person's editor; the screen is suspended while the loop continues."""

import asyncio
import os
import shlex
import signal
from pathlib import Path

from textual.app import App, SuspendNotSupported

from ralph_tui.domain.errors import RalphError


def editor_command() -> list[str]:
    given = os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        words = shlex.split(given)
    except ValueError as error:
        raise RalphError(
            f"The editor command {given!r} cannot be parsed: {error}.", "Correct VISUAL or EDITOR."
        ) from error
    return words or ["vi"]


async def edit(app: "App[int]", path: Path) -> int:
    """Open `path`, wait until the editor ends, and return its exit status."""
    words = editor_command()
    loop = asyncio.get_running_loop()
    try:
        # The loop continues meanwhile; its output is drawn when the screen is back.
        with app.batch_update(), app.suspend():
            loop.add_signal_handler(signal.SIGINT, _nothing)  # ctrl+c belongs to the editor
            try:
                ended = await _run([*words, str(path)])
            finally:
                loop.remove_signal_handler(signal.SIGINT)
    except SuspendNotSupported as error:
        message = "An editor cannot be opened here, because it needs a terminal."
        raise RalphError(
            message, f"Edit {path} elsewhere. Changes appear here automatically."
        ) from error
    if isinstance(ended, OSError):
        message = f"The editor {words[0]!r} cannot be started: {ended.strerror or ended}."
        raise RalphError(message, "Set VISUAL or EDITOR to one that is installed.") from ended
    return ended


async def _run(command: list[str]) -> int | OSError:
    """Return the exit status, or why the editor did not start, because Textual's `suspend` swallows errors."""
    try:
        process = await asyncio.create_subprocess_exec(*command)
        return await process.wait()
    except OSError as error:
        return error


def _nothing() -> None:
    """Ignore the signal."""
