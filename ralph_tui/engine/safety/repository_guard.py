"""Watch the repository: look around everything an agent runs, tell the person's changes, end the run for others."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import Event, EventSink
from ralph_tui.engine.core.outcome import End, failed_end, out_of_resources, stopped_end
from ralph_tui.engine.safety.processes import MarkedProcess
from ralph_tui.engine.safety.repository_status import repository_notices
from ralph_tui.guard.repository.watcher import (
    Change,
    Item,
    OwnCommit,
    RepositoryWatcher,
    Snapshot,
    compare,
    disturbing,
    with_commit,
)
from ralph_tui.store.journal.agent_activity import ActivityLog

HINT_LIMIT = 400


_SCANS = 5
_SCAN_PAUSE_SECONDS = 0.1
_AGAIN_SECONDS = 1.0
"""A CLI starts helpers of its own that end at once; what is still there after the scans was left running."""

Alive = Callable[[], frozenset[MarkedProcess]]


def _none_alive() -> frozenset[MarkedProcess]:
    return frozenset()


class RepositoryGuard:
    """Knows who changed the repository, from looks before the first and after the last of what runs at a time.

    What changed between the looks around a command is the agent's, or at least in doubt. What changed while
    nothing ran is the person's, unless a process of the agent was still alive when that time began.
    """

    def __init__(
        self,
        root: Path,
        emit: EventSink,
        *,
        alive: Alive = _none_alive,
        activity: ActivityLog | None = None,
    ) -> None:
        """Watch the repository of a project.

        Args:
            root: The project directory.
            emit: Takes what is reported about the repository.
            alive: Returns what is alive of all that the run started; it blocks.
            activity: Hears that a command has ended.
        """
        self._activity = activity
        self._root = root
        self._watch = RepositoryWatcher(root)
        self._emit = emit
        self._alive = alive
        self._before_work: dict[str, frozenset[MarkedProcess]] = {}
        """By session, what was alive before its first command: the CLI's own helpers and servers."""
        self._left: frozenset[MarkedProcess] = frozenset()
        """What commands of the agent had left running at the last look."""
        self._known: Snapshot | None = None
        self._begun = False
        self._running: set[str] = set()
        self._ran = False
        """Whether anything ran since the last look."""
        self._end: End | None = None
        self._looking = asyncio.Lock()
        self._again: asyncio.Task[None] | None = None
        self._later: set[asyncio.Task[None]] = set()

    def note(self, event: Event) -> None:
        """Note when a tool call ends; the look after it is taken at once, beside whatever follows."""
        match event:
            case ev.ToolFinished(tool_id=key):  # also of a call that was denied or cut off
                if self._activity is not None:
                    self._activity.end(key)
                if key in self._running:
                    task = asyncio.create_task(self.end_command(key), name="ralph-look")
                    self._later.add(task)
                    task.add_done_callback(self._later.discard)
            case _:
                pass

    async def begin_command(self, key: str, session: str = "") -> None:
        """Take a look before something of the agent runs; it must not run before this returns."""
        async with self._looking:
            if not self._running:
                await self._look()
            if session and session not in self._before_work and self._known is not None:
                alive = await asyncio.to_thread(self._alive)
                self._before_work[session] = frozenset(p for p in alive if p.session == session)
            self._running.add(key)
            self._ran = True

    async def end_command(self, key: str) -> None:
        """Take a look after the last of what runs has ended; unknown keys are ignored."""
        async with self._looking:
            if key in self._running:
                self._running.discard(key)
                if not self._running:
                    await self._look()

    async def begin(self) -> None:
        """Remember the repository as it is, and report what is unusual about it.

        Raises:
            SetupError: git cannot read it.
        """
        self._known = await asyncio.to_thread(self._watch.snapshot)
        self._begun = True
        if self._known is not None:
            for notice in await asyncio.to_thread(repository_notices, self._root):
                self._emit(notice)

    async def learn(self, made: OwnCommit) -> None:
        """Expect ralph's own commit and nothing beside it, though hooks ran; call it right after a clean check."""
        async with self._looking:
            if self._known is not None:
                self._known = with_commit(self._known, made)
                self._ran = True
                await self._look()

    async def check(self) -> End | None:
        """Report what changed since the last look; returns an end when that, or an earlier change, stops the run."""
        if self._later:
            await asyncio.wait(set(self._later))
        async with self._looking:
            await self._look()
            # No session works any more. What outlived it is found alive, whatever was said of its end.
            self._running.clear()
        end, self._end = self._end, None
        return end

    def close(self) -> None:
        """Stop looking: the run is over."""
        self._begun = False
        if self._again is not None:
            self._again.cancel()

    async def _look(self) -> None:
        """Look at the repository, and judge what changed since the look before."""
        if not self._begun:
            return
        quiet = not (self._ran or self._running or self._left)
        try:
            # First who is alive: whatever such a process did before it ended is in the look after that.
            left: frozenset[MarkedProcess] = frozenset()
            if self._known is not None:
                left = await asyncio.to_thread(self._left_running)
            before, self._known = self._known, await asyncio.to_thread(self._watch.snapshot)
            self._ran, self._left = bool(self._running), left
            change = compare(before, self._known, quiet=quiet)
            if change is not None:
                await self._judge(change, before)
        except RalphError as error:
            self._end = self._end or failed_end(error)
        except OSError as error:
            self._end = self._end or out_of_resources(error)
        if self._left and not self._running and self._again is None:
            self._again = asyncio.create_task(self._look_again(), name="ralph-look-again")

    async def _look_again(self) -> None:
        """Look until nothing of the agent is left running: from then on a change is the person's."""
        while self._left:
            await asyncio.sleep(_AGAIN_SECONDS)
            async with self._looking:
                if not self._running:
                    await self._look()
        self._again = None

    def _left_running(self) -> frozenset[MarkedProcess]:
        """Return what commands of the agent left running. Blocks, longer for what was not there at the last look."""
        left = frozenset(filter(self._is_of_a_command, self._alive()))
        for _ in range(_SCANS - 1):
            if left <= self._left:
                break
            time.sleep(_SCAN_PAUSE_SECONDS)
            left = frozenset(filter(self._is_of_a_command, self._alive()))
        return left

    def _is_of_a_command(self, process: MarkedProcess) -> bool:
        """Return whether a command may have started a process; a session without any command started none."""
        if not process.session:
            return True
        return process not in self._before_work.get(process.session, {process})

    async def _judge(self, change: Change, before: Snapshot | None) -> None:
        if before is None or not change.by_person:
            self._stop(change, _end(change))
            return
        disturbed = await asyncio.to_thread(disturbing, change, before, self._watch.follows)
        if disturbed:
            self._stop(change, _end_by_person(disturbed))
            return
        self._emit(await asyncio.to_thread(self._told, change, before))

    def _stop(self, change: Change, end: End) -> None:
        self._end = self._end or end
        for item in change.items:
            back = f" Put it back: {item.restore}" if item.restore else ""
            self._emit(ev.Notice(level="error", text=f"In the repository, {item.text}.{back}"))

    def _told(self, change: Change, before: Snapshot) -> ev.RepositoryChanged:
        """Return what the person did, as an event. Blocks."""
        moved = next((item for item in change.items if item.part in (before.head, "HEAD")), None)
        if moved is None:
            return ev.RepositoryChanged(summary=change.summary)
        # What a commit does to the index needs no words.
        others = tuple(i for i in change.items if i is not moved and i.part != "index")
        return ev.RepositoryChanged(
            branch=before.head.removeprefix("refs/heads/") if moved.part != "HEAD" else "",
            commits=self._watch.commits(moved.old, moved.new),
            summary=Change(others).summary,
        )


def _end(change: Change) -> End:
    back = change.restore
    if not back or len(back) > HINT_LIMIT:
        back = "the notices above say how."
    who = "" if change.by_agent else "If you did this yourself, run again. If not, "
    return stopped_end(
        f"the repository changed while the agent worked: {change.summary}",
        f"{who}{'put' if who else 'Put'} it back: {back}",
    )


def _end_by_person(disturbed: tuple[Item, ...]) -> End:
    """Return the end for what the person changed under the agent: a commit is fine, a switch or reset is not."""
    return stopped_end(
        f"you changed what the agent builds on: {Change(disturbed).summary}",
        "Run again to continue from here. While a run works, commits are fine;"
        " pause it before you switch the branch, reset or stash.",
    )
