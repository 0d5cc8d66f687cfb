"""Puts a project together: the one place where settings, agent and engine meet."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ralph_tui.cli.say import note
from ralph_tui.config.load import load_settings
from ralph_tui.domain.errors import SetupError

if TYPE_CHECKING:
    from ralph_tui.domain.events import LoopFinished
    from ralph_tui.engine.launch import Launch
    from ralph_tui.engine.mission import Mission
    from ralph_tui.engine.ports import Agent, EventSink

MAX_SPEED = 1000.0


def launch_project(
    root: Path, overrides: Mapping[str, object], mission: "Mission | None" = None
) -> "Launch":
    """The project at `root` with a real key or login; nothing is started or spent yet.

    Without a mission it works the plan.

    Raises:
        ConfigError: A setting is wrong.
    """
    settings = load_settings(root, overrides=overrides)
    from ralph_tui.cli.preflight import check_machine
    from ralph_tui.engine.run import Wiring, make_launch
    from ralph_tui.store.project import Project

    project = Project(root)

    def make_agent() -> "Agent":
        from ralph_tui.agent.session import ClaudeAgent

        return ClaudeAgent(log=project.log_path("claude-cli.log"))

    wiring = Wiring(make_agent, settings, preflight=check_machine, warm_up=import_agent)
    return make_launch(project.root, wiring, mission)


def import_agent() -> None:
    """Import the SDK; takes seconds, so the screen has it done after its first paint."""
    import ralph_tui.agent.session  # noqa: F401  (asked for its effect)


def launch_demo(*, speed: float, keep_at: Path | None) -> "Launch":
    """The demo in a fresh project: the same engine and agent, on a model played by this process.

    Raises:
        RalphError: The speed makes no sense, or the project cannot be written there.
    """
    if not 0 < speed <= MAX_SPEED:
        raise SetupError(
            f"--speed must be above 0 and at most {MAX_SPEED:g}, not {speed:g}.",
            "1 is the pace of a patient model.",
        )
    from ralph_tui.cli.preflight import uv_version
    from ralph_tui.demo.loading import load_scenario, shipped_scenario
    from ralph_tui.demo.project import create_demo_project, demo_environment
    from ralph_tui.demo.server import ModelServer
    from ralph_tui.engine.run import Wiring, make_launch
    from ralph_tui.store.project import Project

    uv_version()
    scenario = load_scenario(shipped_scenario("demo"))
    project = Project(create_demo_project(keep_at))
    note(f"the demo works in {project.root} and leaves it there to look at.")
    # The person's own settings and variables are no part of the demo.
    settings = load_settings(project.root, environ={}, home=project.root)

    async def run(sink: "EventSink") -> "LoopFinished":
        server = ModelServer(scenario, speed=speed)
        with TemporaryDirectory(prefix="ralph-demo-cli-", ignore_cleanup_errors=True) as directory:

            def make_agent() -> "Agent":
                from ralph_tui.agent.session import ClaudeAgent

                environment = server.environment(Path(directory))
                return ClaudeAgent(environment, log=project.log_path("claude-cli.log"))

            wiring = Wiring(make_agent, settings, environment=demo_environment())
            async with server:
                return await make_launch(project.root, wiring).run(sink)

    watching = Wiring(_no_agent, settings, warm_up=import_agent, label="demo")
    return replace(make_launch(project.root, watching), run=run, run_request=None)


def _no_agent() -> "Agent":
    raise AssertionError("the demo's agent is made when its model is there")
