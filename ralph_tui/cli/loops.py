"""Commands that run the loop, on the screen or in lines."""

import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.here import find_project
from ralph_tui.cli.options import ProjectRoot, examples
from ralph_tui.cli.say import note

if TYPE_CHECKING:
    from ralph_tui.engine.launch import Launch

Headless = Annotated[
    bool, typer.Option("--headless", help="Print lines instead of opening the screen.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON event per line.")]
MaxIterations = Annotated[
    int | None,
    typer.Option("--max-iterations", metavar="N", help="Most iterations in this run."),
]
Model = Annotated[
    str | None, typer.Option("--model", metavar="NAME", help="The model that builds.")
]
MaxCost = Annotated[
    float | None,
    typer.Option("--max-cost", metavar="USD", help="Stop when this run has cost so much."),
]


def run(
    *,
    headless: Headless = False,
    as_json: Json = False,
    max_iterations: MaxIterations = None,
    model: Model = None,
    max_cost: MaxCost = None,
    project_root: ProjectRoot = None,
) -> None:
    """Work the plan until it is done."""
    build(
        headless=headless,
        as_json=as_json,
        max_iterations=max_iterations,
        model=model,
        max_cost=max_cost,
        project_root=project_root,
    )


def build(
    *,
    headless: Headless = False,
    as_json: Json = False,
    max_iterations: MaxIterations = None,
    model: Model = None,
    max_cost: MaxCost = None,
    project_root: ProjectRoot = None,
) -> None:
    """Build the plan, one task per iteration.

    The plan is .ralph/implementation_plan.json.
    """
    overrides: Mapping[str, object] = {
        "phases.building.max_iterations": max_iterations,
        "models.primary": model,
        "safety.cost_limits.per_session": max_cost,
    }

    def launch() -> "Launch":
        from ralph_tui.cli.wiring import launch_project

        return launch_project(find_project(project_root).root, overrides)

    raise typer.Exit(show_run(launch, headless=headless, as_json=as_json))


def demo(
    *,
    headless: Headless = False,
    as_json: Json = False,
    speed: Annotated[
        float, typer.Option("--speed", metavar="FACTOR", help="2 plays twice as fast.")
    ] = 1.0,
    keep_at: Annotated[
        Path | None,
        typer.Option("--keep-at", metavar="PATH", help="Make the demo project here."),
    ] = None,
) -> None:
    """Watch Ralph finish a plan.

    It needs no key and no network. The model is played by a server on this machine; everything else is real.
    """

    def launch() -> "Launch":
        from ralph_tui.cli.wiring import launch_demo

        return launch_demo(speed=speed, keep_at=keep_at)

    raise typer.Exit(show_run(launch, headless=headless, as_json=as_json))


def open_here(project_root: Path | None) -> int:
    """Open the screen on a project without starting anything; the exit status."""
    project = find_project(project_root)
    if reason := no_screen():
        note(f"{reason}, so here is the status; `ralph build` runs the loop.")
        from ralph_tui.cli.look import status

        status(project_root=project.root)
        return 0
    from ralph_tui.cli.wiring import launch_project
    from ralph_tui.tui.app import run_app

    return run_app(launch_project(project.root, {}), autostart=False)


def show_run(make: "Callable[[], Launch]", *, headless: bool, as_json: bool) -> int:
    """Run a launch on the screen, or in lines where that was asked for or cannot be helped."""
    reason = None if headless or as_json else no_screen()
    if reason:
        note(f"{reason}, so this runs in line mode.")
    if not (headless or as_json or reason):
        from ralph_tui.tui.app import run_app

        return run_app(make(), autostart=True)
    from ralph_tui.cli.headless import run_lines

    return run_lines(make, as_json=as_json)


def no_screen() -> str | None:
    """Why the screen cannot open here; None when it can."""
    for stream, name in ((sys.stdout, "standard output"), (sys.stdin, "standard input")):
        if stream is None or not stream.isatty():
            return f"{name} is not a terminal"
    term = os.environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        return f"the terminal cannot show a screen (TERM={term or 'not set'})"
    return None


def register(app: typer.Typer) -> None:
    """Add these commands."""
    app.command(epilog=examples("ralph run --max-cost 5"))(run)
    app.command(epilog=examples("ralph build --headless --max-iterations 10"))(build)
    app.command(epilog=examples("ralph demo --headless"))(demo)
