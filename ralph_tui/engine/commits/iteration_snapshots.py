"""Snapshot the project before and after each iteration, so that the person can undo it."""

import asyncio
from collections.abc import Callable

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import EventSink, Notice
from ralph_tui.engine.control.undo import tree_of
from ralph_tui.vcs.snapshots import Difference, SnapshotStore


class IterationSnapshots:
    """Takes the snapshots of one run; after a failure it reports the error once and takes no more."""

    def __init__(self, store: SnapshotStore, run_id: str, emit: EventSink) -> None:
        """Prepare snapshots in `store`; nothing is written before the first iteration."""
        self._store = store
        self._run_id = run_id
        self._emit = emit
        self._begun = False
        self._failed = False
        self.used = True

    async def tree(self) -> str:
        return await asyncio.to_thread(tree_of, self._store) if self.used else ""

    async def before(self, iteration: int, task_id: str) -> None:
        if not self._begun:
            self._begun = True
            await self._try(self._store.forget_old)
        await self._try(lambda: self._store.begin(iteration, task_id, self._run_id))

    async def after(self, iteration: int) -> None:
        await self._try(lambda: self._store.end(iteration))

    async def files(self, iteration: int) -> tuple[str, ...]:
        """Return the paths that differ between the snapshots of an iteration, also those that commands changed."""
        found: list[str] = []
        if self._begun:
            await self._try(lambda: found.extend(self._store.changed_in(iteration)))
        return tuple(found)

    async def changes(self) -> tuple[Difference, ...]:
        found: list[Difference] = []

        def compare() -> None:
            points = [point for point in self._store.points() if point.run == self._run_id]
            ended = [point.after for point in points if point.after]
            if ended:
                before, after = points[0].before, ended[-1]
                found.extend(self._store.differences(before, after, with_lines=True))

        if self._begun:
            await self._try(compare)
        return tuple(found)

    async def _try(self, work: Callable[[], None]) -> None:
        if self._failed or not self.used:
            return
        try:
            await asyncio.to_thread(work)
        except (RalphError, OSError) as error:
            self._failed = True
            text = f"Work of this run cannot be undone: {error}"
            self._emit(Notice(level="warning", text=text))
