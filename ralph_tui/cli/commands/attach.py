"""`ralph attach`: follows a loop that runs in another process."""

import contextlib
import sys
from typing import TYPE_CHECKING

import typer

from ralph_tui.cli.console import note
from ralph_tui.cli.options import Headless, Json, app, examples
from ralph_tui.cli.project_lookup import chosen_project, find_project
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.cli.printer import Printer
    from ralph_tui.store.lock import Owner
    from ralph_tui.store.project import Project


@app.command(epilog=examples("ralph attach", "ralph attach --json"))
def attach(
    *,
    as_json: Json = False,
    headless: Headless = False,
) -> None:
    """Follow a loop that runs in another process.

    On a terminal, this opens the screen, and all keys work. Otherwise, it prints lines until the loop ends. Detaching
    does not stop the loop.
    """
    import asyncio

    from ralph_tui.cli.console import no_screen
    from ralph_tui.cli.run.mode import open_project
    from ralph_tui.store.lock import LoopLock

    project = find_project()
    owner = LoopLock(project.layout).owner()
    if owner is None:
        raise RalphError(
            f"No loop is running in {project.root}.",
            "`ralph run` starts one; `ralph history` lists what ran.",
        )
    if owner.feature != project.layout.feature:
        from ralph_tui.domain.features import shown_name

        raise RalphError(
            f"The loop works on {shown_name(owner.feature)}, not on {shown_name(project.layout.feature)}.",
            "`ralph attach` without `-f` follows it.",
        )
    if not (as_json or headless or no_screen()):
        with chosen_project(project.root):
            raise typer.Exit(open_project())
    from ralph_tui.cli.printer import json_printer, line_printer
    from ralph_tui.store.journal.journal import last_run

    show = json_printer(sys.stdout) if as_json else line_printer(sys.stdout)
    found = last_run(project.layout.events)
    try:
        asyncio.run(_follow(project, owner, found[0] if found else 0, show))
    except KeyboardInterrupt:
        note("Detached. The loop continues.")


async def _follow(project: "Project", owner: "Owner", start: int, show: "Printer") -> None:
    from ralph_tui.domain.events import LoopFinished
    from ralph_tui.engine.run.observer import owner_is_not, run_until
    from ralph_tui.store.journal.journal import read_events, tail_events
    from ralph_tui.store.lock import LoopLock

    path, shown, is_over = project.layout.events, start, False

    async def tail() -> None:
        nonlocal shown, is_over
        async with contextlib.aclosing(tail_events(path, start)) as found:
            async for offset, event in found:
                show(event)
                shown = offset
                if is_over := isinstance(event, LoopFinished):
                    return

    await run_until(owner_is_not(LoopLock(project.layout), owner), tail())
    # The process may be gone although its last events have not been read yet.
    for _, event in () if is_over else read_events(path, shown):
        show(event)
        is_over = is_over or isinstance(event, LoopFinished)
    if not is_over:
        note("the loop ended without a final event.")
