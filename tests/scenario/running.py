"""Runs the real loop on the real CLI in this process, against a scenario."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from ralph_tui.agent.agent import ClaudeAgent
from ralph_tui.config.load import load_settings
from ralph_tui.demo.demo_project import demo_environment
from ralph_tui.demo.server import ModelServer
from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event, LoopFinished
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.runner import run_loop
from tests.harness.model import ServerProcess, cli_environment
from tests.harness.waiting import until

E = TypeVar("E", bound=ev.Event)

QUICK: Mapping[str, object] = {
    "agent.max_api_retries": 2,
    "limits.on_usage_limit": "exit",
    "limits.backoff_seconds": 0.05,
}
"""Settings that keep failing scenarios short."""


@dataclass
class Run:
    """A run of the loop with what it told."""

    project: Path
    events: list[Event] = field(default_factory=list)
    finished: LoopFinished | None = None

    def of(self, kind: type[E]) -> list[E]:
        return [event for event in self.events if isinstance(event, kind)]

    async def until_told(self, kind: type[E], matching: Callable[[E], bool] = lambda _: True) -> E:
        await until(lambda: any(matching(e) for e in self.of(kind)), what=kind.__name__)
        return next(e for e in self.of(kind) if matching(e))

    @property
    def end(self) -> LoopFinished:
        assert self.finished is not None
        return self.finished


Meanwhile = Callable[[Run], Coroutine[None, None, None]]


async def play(
    project: Path,
    server: ModelServer | ServerProcess,
    *,
    overrides: Mapping[str, object] | None = None,
    meanwhile: Meanwhile | None = None,
    request: RunRequest | None = None,
    environ: Mapping[str, str] | None = None,
) -> Run:
    """Run the loop to its end; `meanwhile` acts beside it as a person would."""
    environment = {**cli_environment(server, project.parent), **(environ or {})}
    settings = load_settings(project, overrides={**QUICK, **(overrides or {})}, environ={})
    services = RunServices(
        make_agent=lambda: ClaudeAgent(environment, log=project / ".ralph" / "cli.log"),
        settings=settings,
        environment=demo_environment(),
    )
    run = Run(project)
    chosen = request or RunRequest(only=Phase.BUILDING)
    loop = asyncio.create_task(run_loop(project, services, chosen, run.events.append))
    acting = asyncio.create_task(meanwhile(run) if meanwhile else asyncio.sleep(0))
    await asyncio.wait([loop, acting], return_when=asyncio.FIRST_EXCEPTION)
    if not loop.done():  # the person failed: end the loop, then say why
        loop.cancel()
        await asyncio.wait([loop])
    await acting
    run.finished = await loop
    return run


_MAY_GO = '[ -e go ] || [ -n "$PYTHONPYCACHEPREFIX" ]'
WAITS_FOR_GO = f"until {_MAY_GO}; do sleep 0.02; done; {_MAY_GO}"
"""A gate that waits in the project until the test lets it go; a loop alone says nothing with its status.

What appears after a claim is not in the judge tree, which that variable tells.
"""


def let_go(project: Path) -> None:
    (project / "go").touch()
