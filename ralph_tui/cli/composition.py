"""Composes a run: the one place where settings, agent and engine meet."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.config.load import load_settings

if TYPE_CHECKING:
    from ralph_tui.engine.control.launch import Launch
    from ralph_tui.engine.control.request import RunRequest
    from ralph_tui.engine.core.ports import Agent


def launch_project(
    root: Path, overrides: Mapping[str, object], request: "RunRequest | None" = None
) -> "Launch":
    """Prepare a run of the project at `root` with a real key or login; start and spend nothing yet.

    Without a request, the run works on the plan.

    Raises:
        ConfigError: A setting is wrong.
    """
    settings = load_settings(root, overrides=overrides)
    from ralph_tui.cli.doctor.preflight import check_machine
    from ralph_tui.engine.core.services import RunServices
    from ralph_tui.engine.run.launch_factory import make_launch
    from ralph_tui.store.project import Project

    project = Project(root)

    def make_agent() -> "Agent":
        from ralph_tui.agent.agent import ClaudeAgent

        return ClaudeAgent(log=project.log_path("claude-cli.log"))

    services = RunServices(make_agent, settings, preflight=check_machine, warm_up=import_agent)
    return make_launch(project.root, services, request)


def import_agent() -> None:
    """Import the SDK, which takes seconds; the screen does it after its first paint."""
    import ralph_tui.agent.agent  # noqa: F401  (asked for its effect)
