"""Guard the repository: report the person's changes to it, and end the run for changes by the agent."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import Event, EventSink, Notice
from ralph_tui.domain.formatting import plural
from ralph_tui.engine.core.outcome import End, failed_end, stopped_end
from ralph_tui.engine.safety.processes import MarkedProcess
from ralph_tui.guard.repository.changes import (
    Change,
    OwnCommit,
    Snapshot,
    compare,
    ends_run,
    with_commit,
)
from ralph_tui.guard.repository.watcher import RepositoryWatcher
from ralph_tui.store.backup.document_hold import DocumentHold
from ralph_tui.vcs.branches import RALPH_FILES, in_progress
from ralph_tui.vcs.git import Git, GitError


def repository_notices(root: Path) -> tuple[Notice, ...]:
    """Return notices about the repository that contains `root`; empty without one. Blocks."""
    git = Git(root)
    try:
        status = git.text("status", "--porcelain=v2", "--branch", "--untracked-files=no")
        directory = Path(git.text("rev-parse", "--absolute-git-dir"))
    except GitError:
        return ()
    lines = status.splitlines()
    found = [_unfinished(directory, conflicts=sum(line.startswith("u ") for line in lines))]
    if "# branch.head (detached)" in lines and not found[0]:
        found.append("HEAD is detached: new commits belong to no branch.")
    if (lock := directory / "index.lock").exists():
        found.append(f"{lock} exists. If no git command is running, remove this file.")
    notices = [Notice(level="warning", text=f"In the repository, {text}") for text in found if text]
    if "# branch.oid (initial)" in lines:
        text = "The repository has no commit yet, so the agent's changes cannot be told apart from yours."
        notices.append(Notice(text=text))
    own = tuple(f" {name}" for name in RALPH_FILES)
    if changed := sum(line.startswith(("1 ", "2 ")) and not line.endswith(own) for line in lines):
        text = f"Uncommitted changes in {plural(changed, 'file')} will mix with the agent's."
        notices.append(Notice(text=text))
    return tuple(notices)


def _unfinished(directory: Path, *, conflicts: int) -> str:
    name, _ = in_progress(directory)
    if not name and not conflicts:
        return ""
    what = f"{name} is not finished" if name else "a conflict is not resolved"
    files = f" ({plural(conflicts, 'file')} in conflict)" if conflicts else ""
    return f"{what}{files}, so the agent would work on an unfinished state. Run `git status` to see how to finish it."


HINT_LIMIT = 400


_SCANS = 5
_SCAN_PAUSE_SECONDS = 0.1
"""The CLI starts short-lived helpers, so only what is alive after several scans counts as left running."""

_REINSPECT_SECONDS = 1.0

Alive = Callable[[], frozenset[MarkedProcess]]


class RepositoryGuard:
    """Finds out who changed the repository, by inspecting it around the agent's commands.

    Where the sandbox makes git's directory read-only, every change is the person's. Elsewhere a change between the inspections before and after a command may be the agent's. A change while no command
    ran is the person's, unless a process of the agent was still alive when that period began.
    """

    def __init__(
        self,
        root: Path,
        emit: EventSink,
        *,
        alive: Alive = frozenset,
        confined: bool = False,
        documents: DocumentHold | None = None,
    ) -> None:
        """Watch the repository of a project.

        Args:
            alive: Returns the live processes that the run started. Blocks.
            confined: Whether no process of the agent can write to the repository.
            documents: Is held while a command or process can write ralph's documents.
        """
        self._documents = documents
        self._root = root
        self._watch = RepositoryWatcher(root)
        self._emit = emit
        self._alive = alive
        self._confined = confined
        self._reported: set[str] = set()
        """Places outside this work tree whose changes were reported; a fetch repeats them."""
        self._helpers: dict[str, frozenset[MarkedProcess]] = {}
        """Processes by session that were alive before its first command: the CLI's helpers and servers."""
        self._left_running: frozenset[MarkedProcess] = frozenset()
        """Processes that commands of the agent had left running at the last inspection."""
        self._snapshot: Snapshot | None = None
        self._active = False
        self._running: set[str] = set()
        self._command_ran = False
        """Whether a command ran since the last inspection."""
        self._pending_end: End | None = None
        self._lock = asyncio.Lock()
        self._reinspection: asyncio.Task[None] | None = None
        self._inspections: set[asyncio.Task[None]] = set()

    def note(self, event: Event) -> None:
        """Inspect the repository in the background when a tool call ends."""
        if not isinstance(event, ev.ToolFinished):  # also emitted for a denied or interrupted call
            return
        if event.tool_id in self._running:
            task = asyncio.create_task(self.end_command(event.tool_id), name="ralph-inspect")
            self._inspections.add(task)
            task.add_done_callback(self._inspections.discard)

    async def begin_command(self, key: str, session: str = "", *, is_confined: bool = True) -> None:
        """Inspect the repository before a command, which must not start until this returns.

        Unless it `is_confined`, it can write ralph's documents.
        """
        async with self._lock:
            if not (self._running or self._confined):
                await self._inspect()
            if self._documents is not None and not is_confined:
                await asyncio.to_thread(self._documents.hold)
            if session and session not in self._helpers and not self._confined:
                alive = await asyncio.to_thread(self._alive)
                self._helpers[session] = frozenset(p for p in alive if p.session == session)
            self._running.add(key)
            self._command_ran = True

    async def end_command(self, key: str) -> None:
        """Inspect the repository after the last running command ends; unknown keys are ignored."""
        async with self._lock:
            if key in self._running:
                self._running.discard(key)
                if not (self._running or self._confined):
                    await self._inspect()

    async def begin(self) -> None:
        self._snapshot = await asyncio.to_thread(self._watch.snapshot)
        self._active = True
        if self._snapshot is not None:
            for notice in await asyncio.to_thread(repository_notices, self._root):
                self._emit(notice)

    async def learn(self, made: OwnCommit) -> None:
        """Accept ralph's own commit, but no other change by its hooks. Call it right after a clean check."""
        async with self._lock:
            if self._snapshot is not None:
                self._snapshot = with_commit(self._snapshot, made)
                self._command_ran = True
                await self._inspect()

    async def check(self) -> End | None:
        """Report changes since the last inspection; return an end if these or earlier changes stop the run."""
        if self._inspections:
            await asyncio.wait(set(self._inspections))
        async with self._lock:
            await self._inspect()
            # No session runs now; commands that outlived theirs are found as live processes.
            self._running.clear()
            await self._release()
        end, self._pending_end = self._pending_end, None
        return end

    def close(self) -> None:
        self._active = False
        if self._reinspection is not None:
            self._reinspection.cancel()

    async def _inspect(self) -> None:
        if not self._active:
            return
        quiet = self._confined or not (self._command_ran or self._running or self._left_running)
        try:
            # Processes first, so that the snapshot includes everything they did before they ended.
            left: frozenset[MarkedProcess] = frozenset()
            if not quiet:  # otherwise nothing has run that could have left any
                left = await asyncio.to_thread(self._find_left_running)
            before, self._snapshot = self._snapshot, await asyncio.to_thread(self._watch.snapshot)
            self._command_ran, self._left_running = bool(self._running), left
            change = compare(before, self._snapshot, quiet=quiet)
            if change is not None:
                await self._judge(change, before)
        except (RalphError, OSError) as error:
            self._pending_end = self._pending_end or failed_end(error)
        await self._release()
        if self._left_running and not self._running and self._reinspection is None:
            self._reinspection = asyncio.create_task(self._reinspect(), name="ralph-reinspect")

    async def _release(self) -> None:
        if self._documents is not None and not (self._running or self._left_running):
            await asyncio.to_thread(self._documents.release)

    async def _reinspect(self) -> None:
        while self._left_running:
            await asyncio.sleep(_REINSPECT_SECONDS)
            async with self._lock:
                if not self._running:
                    await self._inspect()
        self._reinspection = None

    def _find_left_running(self) -> frozenset[MarkedProcess]:
        left = frozenset(filter(self._may_come_from_command, self._alive()))
        for _ in range(_SCANS - 1):
            if left <= self._left_running:
                break
            time.sleep(_SCAN_PAUSE_SECONDS)
            left = frozenset(filter(self._may_come_from_command, self._alive()))
        return left

    def _may_come_from_command(self, process: MarkedProcess) -> bool:
        if not process.session:
            return True
        return process not in self._helpers.get(process.session, {process})

    async def _judge(self, change: Change, before: Snapshot | None) -> None:
        if before is None:
            self._stop(change)
            return
        ends = partial(ends_run, before=before, follows=self._watch.follows)
        ending = Change(await asyncio.to_thread(lambda: tuple(filter(ends, change.items))))
        if ending.items:
            self._stop(ending)
        event = await asyncio.to_thread(self._event_of, change, ending, before)
        if event.commits or event.summary:
            self._emit(event)

    def _stop(self, change: Change) -> None:
        end = _end_by_change(change)
        if change.by_person:
            end = stopped_end(
                f"you changed what the agent is working on: {change.summary}",
                "Run again to continue from here. During a run, you can commit."
                " Pause the run before you switch branches, reset or stash.",
            )
        self._pending_end = self._pending_end or end
        for item in change.items:
            back = f" To restore it: {item.restore}" if item.restore else ""
            self._emit(ev.Notice(level="error", text=f"In the repository, {item.text}.{back}"))

    def _event_of(self, change: Change, ending: Change, before: Snapshot) -> ev.RepositoryChanged:
        """Return the event for changes that do not end the run. Blocks."""
        others = []
        for item in change.items:
            place = item.part if item.part.startswith("refs/") else item.text
            if item not in ending.items and (item.matters or place not in self._reported):
                others.append(item)
                self._reported |= set() if item.matters else {place}
        moved = next((i for i in others if i.part in (before.head, "HEAD")), None)
        if moved is None:
            return ev.RepositoryChanged(summary=Change(tuple(others)).summary)
        # A commit always changes the index, so that is not reported.
        beside = tuple(i for i in others if i is not moved and i.part != "index")
        return ev.RepositoryChanged(
            branch=before.head.removeprefix("refs/heads/") if moved.part != "HEAD" else "",
            commits=self._watch.commits(moved.old, moved.new),
            summary=Change(beside).summary,
        )


def _end_by_change(change: Change) -> End:
    back = change.restore
    if not back or len(back) > HINT_LIMIT:
        back = "see the notices above."
    who = "" if change.by_agent else "If you did this yourself, run again. If not, "
    return stopped_end(
        f"the repository changed while the agent worked: {change.summary}",
        f"{who}{'restore' if who else 'Restore'} the repository: {back}",
    )
