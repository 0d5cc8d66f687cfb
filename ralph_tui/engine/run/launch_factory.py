"""Build the `Launch` of a user interface; the engine is imported on first use, after the first paint."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain.events import (
    Event,
    EventSink,
    LoopFinished,
    LoopLost,
    LoopStarted,
)
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch, PlanImporter
from ralph_tui.engine.control.request import REPLAN, RunRequest
from ralph_tui.engine.core.services import RunServices


def make_launch(root: Path, services: RunServices, request: RunRequest | None = None) -> Launch:
    """Return the launch of a project, to run or to watch it; without a request, a run builds the plan."""
    chosen = request or RunRequest(only=Phase.BUILDING)
    controls = Controls(root)
    attributed = replace(services, attribute_event=controls.attribution.attributed)

    async def run(sink: EventSink) -> LoopFinished:
        run_loop = await asyncio.to_thread(_runner)
        return await run_loop(root, attributed, chosen, sink)

    async def run_request(text: str, sink: EventSink) -> LoopFinished:
        run_loop = await asyncio.to_thread(_runner)
        return await run_loop(root, attributed, replace(chosen, text=text, only=None), sink)

    async def run_replan(feedback: str, sink: EventSink) -> LoopFinished:
        run_loop = await asyncio.to_thread(_runner)
        planning = replace(chosen, text=feedback or REPLAN, only=Phase.PLANNING)
        return await run_loop(root, attributed, planning, sink)

    async def watch(sink: EventSink) -> None:
        follow_project = await asyncio.to_thread(_follower)
        await follow_project(root, _with_feature_switch(controls, sink), services.settings)

    def warm_up() -> None:
        _runner()
        services.warm_up()

    def importer() -> PlanImporter:
        from ralph_tui.engine.run.plan_import import PlanImport

        return PlanImport(controls, services.settings, base=root)

    return Launch(
        root=root,
        controls=controls,
        run=run,
        watch=watch,
        warm_up=warm_up,
        label=services.label,
        screen=services.settings.screen,
        run_request=run_request,
        run_replan=run_replan,
        importer=importer,
    )


def _with_feature_switch(controls: Controls, sink: EventSink) -> EventSink:
    def emit(event: Event) -> None:
        if isinstance(event, LoopStarted):
            controls.follow_feature(event.feature)
        elif isinstance(event, LoopLost):
            controls.follow_feature(None)
        sink(event)

    return emit


def _runner() -> Callable[[Path, RunServices, RunRequest, EventSink], Awaitable[LoopFinished]]:
    from ralph_tui.engine.run.runner import run_loop

    return run_loop


def _follower() -> Callable[[Path, EventSink, Settings], Awaitable[None]]:
    from ralph_tui.engine.run.observer import follow_project

    return follow_project
