"""Writes exports: to a file of the project, or as a download where the screen is in a browser."""

import asyncio
import io
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.domain.errors import RalphError
from ralph_tui.store.layout import Layout
from ralph_tui.store.text_files import write_text

if TYPE_CHECKING:
    from ralph_tui.tui.host.widget_host import Host


async def save(
    app: "Host", stem: str, given: str | Callable[[], str], *, form: str = "txt"
) -> None:
    """Write a text to `.ralph/exports` and say where, or why not; in a browser, offer it as a download.

    Args:
        app: Whose project it is.
        stem: The beginning of the file's name, such as "history".
        given: The text, or a function that makes it and is run in a thread.
        form: The end of the file's name, without a dot.
    """
    text = given if isinstance(given, str) else await asyncio.to_thread(given)
    if not text.strip():
        app.say("There is nothing to export yet.")
        return
    if app.is_web:
        app.deliver_text(io.StringIO(text), save_filename=f"ralph-{stem}.{form}")
        return
    root, now = app.launch.root, app.clock()
    try:
        path = Layout(root).dot / "exports" / f"{stem}-{now:%Y%m%dT%H%M%S}.{form}"
        await asyncio.to_thread(write_text, path, text)
    except RalphError as error:
        app.say(_within(root, str(error)), error=True)
    else:
        app.say(_within(root, f"Written: {path}"))


def _within(root: Path, text: str) -> str:
    """Make paths relative to the project: whole, they break in the middle and push out the rest."""
    return text.replace(f"{root}{os.sep}", "")
