"""Build the `Launch` of a user interface; the engine is imported on first use, after the first paint."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path

from ralph_tui.domain.events import Event, EventSink, LoopFinished, LoopLost, LoopStarted
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch, PlanImporter
from ralph_tui.engine.control.request import REPLAN, RunRequest
from ralph_tui.engine.core.services import RunServices

_RUNNER = "ralph_tui.engine.run.runner"


def open_controls(root: Path, tell: Callable[[str], None] | None = None) -> Controls:
    """Return what a person controls a project with; it refuses plans that a run would refuse."""

    def require(root: Path, plan: ImplementationPlan, tasks: Sequence[str]) -> None:
        from ralph_tui.engine.run.verify_task import require_named_checks

        require_named_checks(root, plan, tasks)

    return Controls(root, tell, require)


def make_launch(root: Path, services: RunServices, request: RunRequest | None = None) -> Launch:
    """Return the launch of a project, to run or to watch it; without a request, a run builds the plan."""
    chosen = request or RunRequest(only=Phase.BUILDING)
    controls = open_controls(root)

    async def run(asked: RunRequest, sink: EventSink) -> LoopFinished:
        await asyncio.to_thread(import_module, _RUNNER)
        from ralph_tui.engine.run.runner import run_loop

        return await run_loop(root, services, asked, sink)

    async def watch(sink: EventSink) -> None:
        def emit(event: Event) -> None:
            if isinstance(event, LoopStarted):
                controls.follow_feature(event.feature)
            elif isinstance(event, LoopLost):
                controls.follow_feature(None)
            sink(event)

        await asyncio.to_thread(import_module, "ralph_tui.engine.run.observer")
        from ralph_tui.engine.run.observer import follow_project

        await follow_project(root, emit, services.settings)

    def warm_up() -> None:
        import_module(_RUNNER)
        services.warm_up()

    def importer() -> PlanImporter:
        from ralph_tui.engine.run.plan_import import PlanImport

        return PlanImport(controls, services.settings, base=root)

    return Launch(
        root=root,
        controls=controls,
        run=partial(run, chosen),
        watch=watch,
        warm_up=warm_up,
        label=services.label,
        screen=services.settings.screen,
        run_request=lambda text, sink: run(replace(chosen, text=text, only=None), sink),
        run_replan=lambda text, sink: run(
            replace(chosen, text=text or REPLAN, only=Phase.PLANNING), sink
        ),
        importer=importer,
    )
