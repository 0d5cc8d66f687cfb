"""`ralph replay`: replays a session from the journal, on the screen or as lines."""

import sys
from typing import Annotated

import typer

from ralph_tui.cli.completion import sessions
from ralph_tui.cli.console import note
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project, past_of
from ralph_tui.domain.errors import RalphError

app = typer.Typer()


@app.command(epilog=examples("ralph replay", "ralph replay 3", "ralph replay --json"))
def replay(
    session: Annotated[
        str,
        typer.Argument(
            metavar="SESSION",
            help="The number of an iteration, or the start of a session or run ID.",
            autocompletion=sessions,
        ),
    ] = "last",
    *,
    headless: Annotated[
        bool, typer.Option("--headless", help="Print lines at once instead of opening the screen.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON event per line.")] = False,
    project_root: ProjectRoot = None,
) -> None:
    """Replay a past iteration, session or run.

    Plays at 1, 2, 5 or 10 times the original speed, with pause, search and filter. Nothing is run or changed.
    """
    from ralph_tui.cli.console import no_screen
    from ralph_tui.store.journal.journal_library import JournalLibrary

    project = find_project(project_root)
    past = past_of(project)
    library = JournalLibrary(project.root, past=lambda: past)
    history = library.refresh()
    iteration = history.find(session)
    if iteration is None and not history.iterations:
        where = f"for {past.feature}" if past.feature else f"in {project.root}"
        raise RalphError(f"Nothing has run {where} yet.", "`ralph run` starts a run.")
    if iteration is None:
        hint = "`ralph history` lists them."
        if project.layout.project.exists():
            hint = f"{hint[:-1]}; `-f NAME` looks at another feature."
        raise RalphError(f"There is no session {session!r}.", hint)
    reason = None if headless or as_json else no_screen()
    if reason:
        note(f"{reason}, so the events are printed.")
    if headless or as_json or reason:
        from ralph_tui.cli.printer import json_printer, line_printer

        show = json_printer(sys.stdout) if as_json else line_printer(sys.stdout)
        for event in library.between(iteration.start, iteration.end):
            show(event)
        return
    from ralph_tui.cli.composition import launch_project
    from ralph_tui.tui.app.entry import open_replay

    # The launch only names the project and its settings; a replay never starts it.
    open_replay(launch_project(project.root, {}), f"@{iteration.start}")
