"""Shows a run on the screen, or in lines if the screen cannot open or is not wanted."""

import os
import sys
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from ralph_tui.cli.console import no_screen, note
from ralph_tui.cli.project_lookup import (
    find_project,
    named_project,
    project_directory,
    start_directory,
)
from ralph_tui.domain.errors import StoreError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from ralph_tui.domain.events import Notice
    from ralph_tui.engine.control.launch import Launch


def open_here(begin: "Callable[[Path], int]") -> int:
    """Open the screen on a project without starting anything; return the exit status."""
    if reason := no_screen():
        find_project()  # where there is none, the error alone
        note(f"{reason}, so here is the status; `ralph build` runs the loop.")
        from ralph_tui.cli.status_report import print_status

        print_status()
        return 0
    from ralph_tui.store.project_root import nearest

    directory = start_directory()
    exactly = named_project() is not None
    if not _is_set_up(directory, exactly=exactly):
        return begin(directory)
    _require_directory(directory if exactly else nearest(directory) or directory)
    return open_project()


def _is_set_up(directory: Path, *, exactly: bool) -> bool:
    from ralph_tui.store.project_root import DOT, nearest, upwards

    if os.path.lexists(directory / DOT) or (not exactly and nearest(directory) is not None):
        return True
    from ralph_tui.store.backup.mirror import missing_state

    places = (directory,) if exactly else upwards(directory)
    return any(missing_state(place) is not None for place in places)


def _require_directory(place: Path) -> None:
    """Refuse a `.ralph` that is not a directory; the screen could only wait for somebody to move it away."""
    from ralph_tui.store.backup.mirror import missing_state
    from ralph_tui.store.project_root import DOT

    if (lost := missing_state(place)) is not None:
        raise lost
    if os.path.lexists(place / DOT):
        from ralph_tui.store.layout import Layout
        from ralph_tui.store.project_dir import require

        require(Layout(place))


def open_project() -> int:
    from ralph_tui.tui.terminal.splash import splash

    with splash(project_directory()) as drawn:
        project = find_project()
        root = project.root
        if drawn is not None:
            with suppress(StoreError):  # the screen tells what is wrong
                drawn.show_tasks(root.name, project.look().plan.tasks)
        from ralph_tui.cli.composition import launch_project
        from ralph_tui.cli.run.background import background_starter
        from ralph_tui.engine.control.request import RunRequest
        from ralph_tui.tui.app.app import RalphApp, show

        # `b` continues from the project's state, as `ralph run` does.
        launch = replace(
            launch_project(root, {}, RunRequest(interactive=True)),
            continue_in_background=background_starter(root, "run"),
            readiness=partial(_readiness, root),
        )
        app = RalphApp(launch)
    return show(app, drawn)


def _readiness(root: Path) -> "Iterable[Notice]":
    from ralph_tui.cli.doctor.checks import readiness

    return readiness(root)


def may_prompt(*, as_json: bool, may_ask: bool) -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and may_ask and not as_json


class MakeLaunch(Protocol):
    """Makes a launch once it is known whether a person can decide while it waits."""

    def __call__(self, *, interactive: bool) -> "Launch": ...


def show_run(
    make: MakeLaunch,
    *,
    headless: bool,
    as_json: bool,
    may_ask: bool = True,
    verbose: bool = False,
) -> int:
    """Run a launch on the screen, or in lines if asked for or if the screen cannot open.

    Args:
        may_ask: Whether lines may prompt on a terminal.
    """
    on_screen = not (headless or as_json)
    reason = no_screen() if on_screen else None
    if reason:
        note(f"{reason}, so this runs in line mode.")
    if on_screen and not reason:
        from ralph_tui.tui.app.app import RalphApp, show

        return show(RalphApp(make(interactive=True), autostart=True))
    from ralph_tui.cli.run.headless import run_lines

    prompts = may_prompt(as_json=as_json, may_ask=may_ask)
    return run_lines(
        lambda: make(interactive=prompts), as_json=as_json, interactive=prompts, verbose=verbose
    )
