"""A text that a person exports: a file of the project, or a download where the screen is in a browser."""

import asyncio
import io
from collections.abc import Callable
from typing import TYPE_CHECKING

from ralph_tui.domain.errors import RalphError
from ralph_tui.tui.exporting import write_export

if TYPE_CHECKING:
    from ralph_tui.tui.host import Host


async def save(
    app: "Host", stem: str, given: str | Callable[[], str], *, form: str = "txt"
) -> None:
    """Write it to `.ralph/exports` and say where; what goes wrong is said. A text that takes long is made here."""
    text = given if isinstance(given, str) else await asyncio.to_thread(given)
    if not text.strip():
        app.say("There is nothing to export yet.")
        return
    if app.is_web:
        app.deliver_text(io.StringIO(text), save_filename=f"ralph-{stem}.{form}")
        return
    root, now = app.launch.root, app.clock()
    try:
        path = await asyncio.to_thread(write_export, root, form, text, now, stem=stem)
    except RalphError as error:
        app.say(str(error), error=True)
    else:
        app.say(f"Written: {path}")
