"""Makes what a face can start; the engine itself is imported when it is first wanted, after the first paint."""

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.config.settings import Settings
from ralph_tui.domain.events import LoopFinished
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch
from ralph_tui.engine.control.request import REPLAN, Mission
from ralph_tui.engine.core.services import Wiring

if TYPE_CHECKING:
    from ralph_tui.domain.events import EventSink


def make_launch(root: Path, wiring: Wiring, mission: Mission | None = None) -> Launch:
    """A project ready to run or to watch; without a mission it works the plan."""
    chosen = mission or Mission(only=Phase.BUILDING)
    controls = Controls(root)
    wired = replace(wiring, told=controls.journaled.told)

    async def run(sink: "EventSink") -> LoopFinished:
        run_mission = await asyncio.to_thread(_runner)
        return await run_mission(root, wired, chosen, sink)

    async def run_request(request: str, sink: "EventSink") -> LoopFinished:
        run_mission = await asyncio.to_thread(_runner)
        return await run_mission(root, wired, replace(chosen, request=request, only=None), sink)

    async def run_replan(feedback: str, sink: "EventSink") -> LoopFinished:
        run_mission = await asyncio.to_thread(_runner)
        planning = replace(chosen, request=feedback or REPLAN, only=Phase.PLANNING)
        return await run_mission(root, wired, planning, sink)

    async def watch(sink: "EventSink") -> None:
        follow_project = await asyncio.to_thread(_follower)
        await follow_project(root, sink, wiring.settings)

    def warm_up() -> None:
        _runner()
        wiring.warm_up()

    return Launch(
        root=root,
        controls=controls,
        run=run,
        watch=watch,
        warm_up=warm_up,
        label=wiring.label,
        screen=wiring.settings.screen,
        run_request=run_request,
        run_replan=run_replan,
    )


def _runner() -> "Callable[[Path, Wiring, Mission, EventSink], Awaitable[LoopFinished]]":
    from ralph_tui.engine.run.start import run_mission

    return run_mission


def _follower() -> "Callable[[Path, EventSink, Settings], Awaitable[None]]":
    from ralph_tui.engine.run.observer import follow_project

    return follow_project
