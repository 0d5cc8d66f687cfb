"""Watch the repository: look before and after every session, tell changes or end the run."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event, EventSink
from ralph_tui.engine.core.outcome import End, stopped_end
from ralph_tui.engine.safety.repository_status import repository_notices
from ralph_tui.guard.guard import COMMAND_TOOLS
from ralph_tui.guard.repository.watcher import (
    SLACK_SECONDS,
    Change,
    OwnCommit,
    RepositoryWatcher,
    Snapshot,
    compare,
    with_commit,
)
from ralph_tui.store.journal.agent_activity import ActivityLog

HINT_LIMIT = 400

QUIET_STEPS = frozenset({"agent", "git-commit", "readme-check", "noop"})
"""Types of steps that run nothing an agent wrote, or whose commands are noted one by one."""


class RepositoryGuard:
    """Notes when commands of an agent run, and what changes in the repository meanwhile."""

    def __init__(
        self,
        root: Path,
        emit: EventSink,
        *,
        clock: Callable[[], float] = time.time,
        activity: ActivityLog | None = None,
    ) -> None:
        """Watch the repository of a project.

        Args:
            root: The project directory.
            emit: Takes the notices about the repository.
            clock: Seconds since the epoch, as the repository's files have them.
            activity: Hears that a command has ended.
        """
        self._activity = activity
        self._root = root
        self._watch = RepositoryWatcher(root)
        self._emit = emit
        self._clock = clock
        self._known: Snapshot | None = None
        self._running: dict[str, float] = {}
        self._busy: list[tuple[float, float]] = []

    def note(self, event: Event) -> None:
        """Note when commands begin and end."""
        match event:
            case ev.ToolStarted(name=name, tool_id=key) if name in COMMAND_TOOLS:
                self._running.setdefault(key, self._clock())
            case ev.GateStarted():
                self._running["gate"] = self._clock()
            case ev.StepStarted(kind=kind) if kind not in QUIET_STEPS:
                self._running["step"] = self._clock()  # it may run what the agent wrote
            case ev.StepFinished():
                self._ended("step")
            case ev.ToolFinished(tool_id=key):
                self._ended(key)
            case ev.GateFinished():
                self._ended("gate")
            case _:
                pass

    def _ended(self, key: str) -> None:
        if self._activity is not None:
            self._activity.end(key)
        started = self._running.pop(key, None)
        if started is not None:
            self._busy.append((started, self._clock()))

    async def begin(self) -> None:
        """Remember the repository as it is, and report what is unusual about it.

        Raises:
            SetupError: git cannot read it.
        """
        self._known = await asyncio.to_thread(self._watch.snapshot)
        if self._known is not None:
            for notice in await asyncio.to_thread(repository_notices, self._root):
                self._emit(notice)

    def learn(self, made: OwnCommit) -> None:
        """Expect ralph's own commit, and nothing beside it; call it right after a check that found nothing."""
        if self._known is not None:
            self._known = with_commit(self._known, made)

    async def check(self) -> End | None:
        """Report what changed since the last look; returns an end unless it was surely the person.

        Raises:
            SetupError: git cannot read the repository any more.
        """
        now = self._clock()
        busy = [*self._busy, *((started, now) for started in self._running.values())]
        before, self._known = self._known, await asyncio.to_thread(self._watch.snapshot)
        self._busy = [span for span in self._busy if span[1] > now - 2 * SLACK_SECONDS]
        change = compare(before, self._known, busy)
        if change is None:
            return None
        if change.by_person:
            text = f"The repository was changed by you meanwhile: {change.summary}."
            self._emit(ev.Notice(level="info", text=text))
            return None
        for item in change.items:
            back = f" Put it back: {item.restore}" if item.restore else ""
            self._emit(ev.Notice(level="error", text=f"In the repository, {item.text}.{back}"))
        return _end(change)


def _end(change: Change) -> End:
    back = change.restore
    if not back or len(back) > HINT_LIMIT:
        back = "the notices above say how."
    who = "" if change.by_agent else "If you did this yourself, run again. If not, "
    return stopped_end(
        f"the repository changed while the agent worked: {change.summary}",
        f"{who}{'put' if who else 'Put'} it back: {back}",
    )
