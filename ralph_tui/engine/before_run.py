"""The baseline of a run: its checks once, before the first task is worked."""

import asyncio
from collections.abc import Awaitable, Sequence
from typing import TypeVar

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Halt
from ralph_tui.engine.verification.fingerprint import Contents
from ralph_tui.engine.workshop import Workshop

T = TypeVar("T")

_NAMED_TASKS = 5


async def take_baseline(shop: Workshop, contents: Contents) -> None:
    """Know what is red before the first task, and say so.

    Once an attempt at an open task was made, what is red may be its doing: then the baseline from before
    that attempt holds, and where there is none nothing is excused.
    """
    if not shop.settings.phases.building.baseline:
        return
    baseline = shop.gate.baseline
    await asyncio.to_thread(baseline.load)
    open_tasks = [t for t in shop.ledger.docs.plan.tasks if t.status is not TaskStatus.COMPLETE]
    if not any(task.begun or task.retry_count or task.reopened for task in open_tasks):
        rules = await asyncio.to_thread(shop.gate.rules)
        now = await asyncio.to_thread(contents.digest)
        if rules.commands and not baseline.holds(now, rules.commands):
            number = len(rules.commands)
            checks = "check" if number == 1 else "checks"
            shop.emit(ev.Notice(text=f"Running {number} {checks} once before the first task."))
            examined = await unless_stopped(shop, shop.gate.examine_all())
            if examined is None:
                return
            await asyncio.to_thread(baseline.take, now, examined)
    await _tell(shop, open_tasks)


async def _tell(shop: Workshop, open_tasks: Sequence[Task]) -> None:
    red = tuple(shop.gate.baseline.told())
    for command, what in red:
        text = f"Before this run `{command}` fails ({what}). It must not get worse."
        shop.emit(ev.Notice(level="warning", text=text))
    if not red:
        return
    bare = await asyncio.to_thread(
        lambda: [task.id for task in open_tasks if not shop.gate.own_checks(task)]
    )
    if bare:
        more = f" and {len(bare) - _NAMED_TASKS} more" if len(bare) > _NAMED_TASKS else ""
        names = ", ".join(bare[:_NAMED_TASKS]) + more
        text = f"Without a command of their own these tasks complete only once it passes: {names}."
        shop.emit(ev.Notice(level="warning", text=text))


async def unless_stopped(shop: Workshop, work: Awaitable[T]) -> T | None:
    """The result of checks that may take long; None when the person stops the run at once meanwhile."""
    running = asyncio.ensure_future(work)
    try:
        while not running.done():
            if shop.ledger.docs.state.stop is Halt.NOW:
                return None
            changed = asyncio.ensure_future(shop.ledger.wait_changed())
            await asyncio.wait([running, changed], return_when=asyncio.FIRST_COMPLETED)
            changed.cancel()
        return running.result()
    finally:
        if not running.done():
            running.cancel()
            await asyncio.wait([running])
