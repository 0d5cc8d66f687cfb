"""Composes a run, real or demo: the one place where settings, agent and engine meet."""

import gc
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ralph_tui.cli.console import note
from ralph_tui.config.load import load_settings
from ralph_tui.domain.errors import SetupError

if TYPE_CHECKING:
    from ralph_tui.demo.scenario import Scenario
    from ralph_tui.domain.events import EventSink, LoopFinished
    from ralph_tui.engine.control.launch import Launch
    from ralph_tui.engine.control.request import RunRequest
    from ralph_tui.engine.core.ports import Agent
    from ralph_tui.engine.core.services import RunServices


def launch_project(
    root: Path, overrides: Mapping[str, object], request: "RunRequest | None" = None
) -> "Launch":
    """Prepare a run of the project at `root` with a real key or login. Nothing is started or spent yet.

    Without a request, the run works on the plan.
    """
    settings = load_settings(root, overrides=overrides)
    from ralph_tui.cli.doctor.preflight import check_machine
    from ralph_tui.engine.core.services import RunServices
    from ralph_tui.engine.run.launch_factory import make_launch
    from ralph_tui.store.project import Project

    project = Project(root)

    def make_agent() -> "Agent":
        return _make_claude(None, project.log_path("claude-cli.log"))

    preflight = partial(check_machine, root, settings)
    services = RunServices(make_agent, settings, preflight=preflight, warm_up=import_agent)
    return make_launch(project.root, services, request)


def preview_services(root: Path, overrides: Mapping[str, object]) -> "RunServices":
    """Return the services for previewing the next run: the settings, without an agent or a check of the machine."""
    from ralph_tui.engine.core.services import RunServices

    return RunServices(_no_agent, load_settings(root, overrides=overrides))


def import_agent() -> None:
    """Import the SDK, which takes seconds. The screen does this after its first paint."""
    import ralph_tui.agent.agent  # noqa: F401  (only to load it)


def _make_claude(environment: Mapping[str, str] | None, log: Path) -> "Agent":
    import_agent()
    from ralph_tui.agent.agent import ClaudeAgent

    # The imports create 200,000 permanent objects; collecting over them would cost a tenth of a second.
    gc.freeze()
    return ClaudeAgent(environment, log=log)


MAX_SPEED = 1000.0


def demo_tools(scenario: "Scenario") -> dict[str, SetupError | None]:
    from ralph_tui.cli.doctor.preflight import tool_version

    found: dict[str, SetupError | None] = {}
    for command, install in scenario.needs.items():
        tool = command.split()[0]
        try:
            tool_version(command, install)
            found[tool] = None
        except SetupError as error:
            found[tool] = error
    return found


def launch_demo(
    name: str = "",
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
        interactive: Whether a person can answer while the demo waits.
        on_screen: Whether automatic answers are slow enough to be read on the screen.
        ask: Whether every answer is left to the person.
    """
    if not 0 < speed <= MAX_SPEED:
        raise SetupError(
            f"--speed must be above 0 and at most {MAX_SPEED:g}, not {speed:g}.",
            "The default is 1, the normal pace.",
        )
    from ralph_tui.demo.auto_person import AutoPerson
    from ralph_tui.demo.demo_project import create_demo_project, demo_environment
    from ralph_tui.demo.scenario import FIRST, load_scenario, shipped_scenario
    from ralph_tui.demo.server import ModelServer
    from ralph_tui.engine.control.request import RunRequest
    from ralph_tui.engine.core.services import RunServices, no_background
    from ralph_tui.engine.run.launch_factory import make_launch
    from ralph_tui.store.project import Project

    scenario = load_scenario(shipped_scenario(name or FIRST))
    for error in filter(None, demo_tools(scenario).values()):
        elsewhere = "" if scenario.name == FIRST else ", or run `ralph demo`, which needs only uv."
        raise SetupError(error.message, error.hint + elsewhere)
    project = Project(create_demo_project(scenario.files, keep_at, scenario.project))
    note(f"the demo works in {project.root} and leaves the project there to look at.")
    # The demo ignores the person's own settings and variables.
    # It needs no sandbox, because its model only follows a script.
    overrides = {"safety.sandbox": "off"}
    settings = load_settings(project.root, overrides=overrides, environ={}, home=project.root)
    person = None if ask else AutoPerson(scenario.person, project, speed=speed, on_screen=on_screen)
    request = RunRequest(text=scenario.request, interactive=interactive or person is not None)

    async def run(sink: "EventSink") -> "LoopFinished":
        server = ModelServer(scenario, speed=speed)
        with TemporaryDirectory(prefix="ralph-demo-cli-", ignore_cleanup_errors=True) as directory:

            def make_agent() -> "Agent":
                environment = server.environment(Path(directory))
                return _make_claude(environment, project.log_path("claude-cli.log"))

            services = RunServices(
                make_agent,
                settings,
                environment=demo_environment(),
                beside=person.live if person else no_background,
            )
            async with server:
                return await make_launch(project.root, services, request).run(sink)

    watching = RunServices(_no_agent, settings, warm_up=import_agent, label="demo")
    launch = make_launch(project.root, watching)
    return replace(launch, run=run, run_request=None, run_replan=None, auto_responder=person)


def _no_agent() -> "Agent":
    raise AssertionError("this launch starts no session")
