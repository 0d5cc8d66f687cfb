"""`ralph demo`: a whole run, with the model and a person simulated on this machine."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from ralph_tui.cli.console import note
from ralph_tui.cli.options import Headless, Json, examples
from ralph_tui.cli.run.mode import show_run
from ralph_tui.domain.errors import SetupError

if TYPE_CHECKING:
    from ralph_tui.domain.events import EventSink, LoopFinished
    from ralph_tui.engine.control.launch import Launch
    from ralph_tui.engine.core.ports import Agent

app = typer.Typer()

MAX_SPEED = 1000.0


@app.command(epilog=examples("ralph demo --headless"))
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
    ask: Annotated[
        bool,
        typer.Option(
            "--ask", help="Leave every answer and approval to you, however long you take."
        ),
    ] = False,
) -> None:
    """Watch Ralph go from a request to a checked result.

    It needs no key and no network. The model is played by a server on this machine; everything else is
    real. What Ralph asks you, the demo answers after a few seconds unless you do.
    """

    def launch(*, interactive: bool) -> "Launch":
        on_screen = interactive and not (headless or as_json)
        return launch_demo(
            speed=speed, keep_at=keep_at, interactive=interactive, on_screen=on_screen, ask=ask
        )

    raise typer.Exit(show_run(launch, headless=headless, as_json=as_json))


def launch_demo(
    *,
    speed: float,
    keep_at: Path | None,
    interactive: bool = True,
    on_screen: bool = False,
    ask: bool = False,
) -> "Launch":
    """Prepare the demo in a fresh project: the same engine and agent, with a model simulated by this process.

    Args:
        speed: How much faster than real time it plays; above 0 and at most `MAX_SPEED`.
        keep_at: Where to make the project; None for a temporary directory.
        interactive: Whether a person can answer while the demo waits.
        on_screen: Whether answers come slowly enough to be read on the screen.
        ask: Leave every answer to the person; nothing is answered automatically.

    Raises:
        RalphError: The speed is out of range, or the project cannot be written there.
    """
    if not 0 < speed <= MAX_SPEED:
        raise SetupError(
            f"--speed must be above 0 and at most {MAX_SPEED:g}, not {speed:g}.",
            "1 is the pace of a patient model.",
        )
    from ralph_tui.cli.composition import import_agent
    from ralph_tui.cli.doctor.preflight import uv_version
    from ralph_tui.config.load import load_settings
    from ralph_tui.demo.auto_person import AutoPerson
    from ralph_tui.demo.project import create_demo_project, demo_environment
    from ralph_tui.demo.scenario_loader import load_scenario, shipped_scenario
    from ralph_tui.demo.server import ModelServer
    from ralph_tui.engine.control.request import RunRequest
    from ralph_tui.engine.core.services import RunServices
    from ralph_tui.engine.run.launch_factory import make_launch
    from ralph_tui.store.project import Project

    uv_version()
    scenario = load_scenario(shipped_scenario("demo"))
    project = Project(create_demo_project(keep_at))
    note(f"the demo works in {project.root} and leaves it there to look at.")
    # The person's own settings and variables are no part of the demo.
    # Nor is a sandbox: its model cannot think of anything to hold back.
    overrides = {"safety.sandbox": "off"}
    settings = load_settings(project.root, overrides=overrides, environ={}, home=project.root)
    person = None if ask else AutoPerson(scenario.person, project, speed=speed, on_screen=on_screen)
    request = RunRequest(text=scenario.request, interactive=interactive or person is not None)

    async def run(sink: "EventSink") -> "LoopFinished":
        server = ModelServer(scenario, speed=speed)
        with TemporaryDirectory(prefix="ralph-demo-cli-", ignore_cleanup_errors=True) as directory:

            def make_agent() -> "Agent":
                from ralph_tui.agent.agent import ClaudeAgent

                environment = server.environment(Path(directory))
                return ClaudeAgent(environment, log=project.log_path("claude-cli.log"))

            services = RunServices(
                make_agent,
                settings,
                environment=demo_environment(),
                beside=person.live if person else None,
            )
            async with server:
                return await make_launch(project.root, services, request).run(sink)

    watching = RunServices(_no_agent, settings, warm_up=import_agent, label="demo")
    launch = make_launch(project.root, watching)
    return replace(launch, run=run, run_request=None, run_replan=None, auto_responder=person)


def _no_agent() -> "Agent":
    raise AssertionError("the demo's agent is made when its model is there")
