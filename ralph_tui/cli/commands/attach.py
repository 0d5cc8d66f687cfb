"""`ralph attach`: follows a loop that runs in another process."""

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import note
from ralph_tui.cli.options import Headless, ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project, owner_of
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.cli.printer import Printer
    from ralph_tui.store.project import Project

app = typer.Typer()

OWNER_SECONDS = 1.0
"""How often to check, while no event arrives, that the loop's process still exists."""


@app.command(epilog=examples("ralph attach", "ralph attach --json"))
def attach(
    *,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON event per line.")] = False,
    headless: Headless = False,
    project_root: ProjectRoot = None,
) -> None:
    """Follow a loop that runs in another process.

    On a terminal, this opens the screen, and all keys work. Otherwise, it prints lines until the loop ends. Detaching
    does not stop the loop.
    """
    import asyncio

    from ralph_tui.cli.console import no_screen
    from ralph_tui.cli.run.mode import open_project
    from ralph_tui.store.lock import LoopLock

    project = find_project(project_root)
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
        raise typer.Exit(open_project(project.root))
    from ralph_tui.cli.printer import json_printer, line_printer
    from ralph_tui.store.journal.journal import last_run

    show = json_printer(sys.stdout) if as_json else line_printer(sys.stdout)
    found = last_run(project.layout.events)
    try:
        asyncio.run(_follow(project, found[0] if found else 0, show))
    except KeyboardInterrupt:
        note("Detached. The loop continues.")


async def _follow(project: "Project", start: int, show: "Printer") -> None:
    """Show the events of a run from its start to its end."""
    import asyncio

    from ralph_tui.domain.events import Event, LoopFinished
    from ralph_tui.store.journal.journal import read_events, tail_events

    events: asyncio.Queue[tuple[int, Event]] = asyncio.Queue(maxsize=1000)
    shown = start

    async def pump() -> None:
        async with contextlib.aclosing(tail_events(project.layout.events, shown)) as found:
            async for item in found:
                await events.put(item)

    pumping = asyncio.create_task(pump())
    try:
        while True:
            try:
                async with asyncio.timeout(OWNER_SECONDS):
                    shown, event = await events.get()
            except TimeoutError:
                if pumping.done():
                    await pumping
                if await asyncio.to_thread(owner_of, project) is None:
                    break
                continue
            show(event)
            if isinstance(event, LoopFinished):
                return
    finally:
        pumping.cancel()
        await asyncio.wait([pumping])
    # The process is gone, but its last events may not have been read yet.
    for _, event in read_events(project.layout.events, shown):
        show(event)
        if isinstance(event, LoopFinished):
            return
    note("the loop ended without a final event.")
