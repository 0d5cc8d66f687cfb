"""`ralph replay`: replays a session from the journal, on the screen or as lines."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.completion import sessions
from ralph_tui.cli.console import note
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project, past_of
from ralph_tui.domain.errors import RalphError

if TYPE_CHECKING:
    from ralph_tui.domain.events import Event
    from ralph_tui.domain.view.run_history import Iteration
    from ralph_tui.store.project import Project

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

    project = find_project(project_root)
    iteration = _find_iteration(project, session)
    reason = None if headless or as_json else no_screen()
    if reason:
        note(f"{reason}, so the events are printed.")
    if headless or as_json or reason:
        _print(project, iteration, as_json=as_json)
        return
    from ralph_tui.cli.composition import launch_project
    from ralph_tui.tui.app.entry import open_replay

    # The launch only names the project and its settings; a replay never starts it.
    open_replay(launch_project(project.root, {}), f"@{iteration.start}")


def _find_iteration(project: "Project", session: str) -> "Iteration":
    from ralph_tui.domain.view.run_history import HISTORY_EVENTS, RunHistoryBuilder
    from ralph_tui.store.journal.event_scanner import Scan

    past = past_of(project)
    chronicler = RunHistoryBuilder(past)
    for found in Scan(project.layout.events, HISTORY_EVENTS):
        chronicler.feed(*found)
    iteration = chronicler.chronicle.find(session)
    if iteration is not None:
        return iteration
    if not chronicler.chronicle.iterations:
        where = f"for {past.feature}" if past.feature else f"in {project.root}"
        raise RalphError(f"Nothing has run {where} yet.", "`ralph run` starts a run.")
    hint = "`ralph history` lists them."
    if project.layout.project.exists():
        hint = f"{hint[:-1]}; `-f NAME` looks at another feature."
    raise RalphError(f"There is no session {session!r}.", hint)


def _print(project: "Project", iteration: "Iteration", *, as_json: bool) -> None:
    from ralph_tui.cli.printer import json_printer, line_printer

    show = json_printer(sys.stdout) if as_json else line_printer(sys.stdout)
    for event in _events(project, iteration):
        show(event)


def _events(project: "Project", iteration: "Iteration") -> "Iterator[Event]":
    from ralph_tui.store.journal.journal import read_events

    for offset, event in read_events(project.layout.events, iteration.start):
        if iteration.end and offset > iteration.end:
            return
        yield event
