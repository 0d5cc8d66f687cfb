"""Saves texts and pictures in the project, or as downloads where the screen is in a browser."""

import asyncio
import io
import os
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.domain.errors import RalphError
from ralph_tui.store.layout import Layout
from ralph_tui.store.text_files import write_text

if TYPE_CHECKING:
    from ralph_tui.tui.host.widget_host import Host


async def share(app: "Host", stem: str, text: str) -> None:
    """Copy a text, and save it, because not every terminal takes a copy."""
    app.copy_to_clipboard(text)
    if text.strip():
        await save(app, stem, text)


async def save(app: "Host", stem: str, text: str, *, form: str = "txt") -> None:
    """Write a text to `.ralph/exports` and report its path; in a browser, offer it as a download.

    Args:
        form: The file's extension, without a dot.
    """
    if app.is_web:
        app.deliver_text(io.StringIO(text), save_filename=f"ralph-{stem}.{form}")
        return
    root, now = app.launch.root, app.clock()
    try:
        path = Layout(root).dot / "exports" / f"{stem}-{now:%Y%m%dT%H%M%S}.{form}"
        await asyncio.to_thread(write_text, path, text)
    except RalphError as error:
        app.show_message(_within(root, str(error)), error=True)
    else:
        app.show_message(_within(root, f"Saved: {path}"))


def _within(root: Path, text: str) -> str:
    """Make paths relative to the project, because absolute ones wrap and crowd out the rest of the toast."""
    return text.replace(f"{root}{os.sep}", "")
