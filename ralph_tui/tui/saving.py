"""A text that a person exports: a file of the project, or a download where the screen is in a browser."""

import asyncio
import io
from typing import TYPE_CHECKING

from ralph_tui.domain.errors import RalphError
from ralph_tui.tui.exporting import write_export

if TYPE_CHECKING:
    from ralph_tui.tui.host import Host


async def save(app: "Host", stem: str, text: str) -> None:
    """Write it to `.ralph/exports` and say where; what goes wrong is said."""
    if not text.strip():
        app.say("There is nothing to export yet.")
        return
    if app.is_web:
        app.deliver_text(io.StringIO(text), save_filename=f"ralph-{stem}.txt")
        return
    root, now = app.launch.root, app.clock()
    try:
        path = await asyncio.to_thread(write_export, root, "txt", text, now, stem=stem)
    except RalphError as error:
        app.say(str(error), error=True)
    else:
        app.say(f"Written: {path}")
