"""Undo a task or an iteration: preview the changes, then restore the files and queue the task again."""

import asyncio
import contextlib
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from ralph_tui.config.load import load_settings
from ralph_tui.domain.errors import LockedError, RalphError, SetupError
from ralph_tui.domain.events import EventSink, Notice, WorkUndone
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.run.undo_result import Undone, UndoneFile, UndoneHow, UndoPreview
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.control.plan_edits import NOTHING_CHANGED, find
from ralph_tui.store.backup.check_store import CheckStore
from ralph_tui.store.backup.mirror import mirror_of
from ralph_tui.store.export_records import followed_names
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.journal.journal import JournalWriter
from ralph_tui.store.lock import LoopLock, write_lock
from ralph_tui.store.project import Documents, Project
from ralph_tui.vcs.branches import require_committable, require_unprotected
from ralph_tui.vcs.commits import CommitRequest, Committer
from ralph_tui.vcs.snapshots import Difference, Point, SnapshotStore, plan_undo

T = TypeVar("T")

_MAX_NAMED = 4

FollowPlan = Callable[[ImplementationPlan], None]


def snapshots_of(root: Path) -> SnapshotStore:
    return SnapshotStore(root, mirror_of(root) / "work.git", layout_of(root).feature)


@contextlib.contextmanager
def scratch_store(root: Path) -> Iterator[SnapshotStore]:
    """Yield a store that keeps nothing. It gives the same trees as every other one."""
    with tempfile.TemporaryDirectory() as place:
        yield SnapshotStore(root, Path(place, "work.git"))


def tree_of(store: SnapshotStore) -> str:
    """Return the tree of the project without the exports that ralph keeps current; empty if git cannot tell. Blocks."""
    with contextlib.suppress(SetupError, OSError):
        return _without_exports(store, store.take())
    return ""


def _without_exports(store: SnapshotStore, tree: str) -> str:
    exports = followed_names(store.root)
    return store.tree_with(tree, dict.fromkeys(exports)) if exports else tree


class Undo:
    """Undoes work in one project. Every call blocks."""

    def __init__(self, project: Project) -> None:
        self._project = project
        self._store = snapshots_of(project.root)
        self._committer = Committer(project.root, None)

    def preview(self, wanted: str) -> UndoPreview:
        """Return what undoing `wanted`, a task by its id or an iteration by its number, would change."""
        self._require_no_loop()
        docs = self._project.load()
        current = self._store.take()
        points = self._points(docs, current)
        task, undone = _chosen(docs.plan, points, wanted)
        later = [
            one.id
            for one in docs.plan.tasks
            if task.id in one.dependencies and one.status is TaskStatus.COMPLETE
        ]
        if later:
            verb = "depends" if len(later) == 1 else "depend"
            raise RalphError(
                f"{shortlist(later, 3)} {verb} on {task.id}, so {task.id} cannot be undone alone.",
                f"Undo {later[-1]} first: `ralph undo {later[-1]}`. {NOTHING_CHANGED}",
            )
        changes = [self._changes(point) for point in reversed(undone)]
        changed, conflicts = plan_undo(self._store.contents(current), changes)
        if conflicts:
            raise RalphError(*self._conflict_message(conflicts, task, undone, points))
        target = self._store.tree_with(current, changed) if changed else current
        return UndoPreview(
            wanted=wanted,
            task_id=task.id,
            title=task.title,
            iterations=tuple(point.iteration for point in undone),
            files=tuple(map(_file, self._store.differences(current, target, with_lines=True))),
            commits_to=self._commit_branch(task),
            whole=len(undone) == sum(point.task_id == task.id for point in points),
            current=current,
            target=target,
        )

    def apply(
        self,
        shown: UndoPreview,
        follow: FollowPlan = lambda _: None,
    ) -> Undone:
        """Restore the files, commit the undo if the work was committed, and queue the task again in the plan for `follow`."""
        layout = self._project.layout
        with write_lock(layout):  # prevents a loop from starting meanwhile
            self._require_no_loop()
            if self._store.take() != shown.current:
                raise RalphError(
                    "The project's files changed after the preview of this undo.",
                    f"Nothing was changed. Run `ralph undo {shown.wanted}` again.",
                )
            self._store.switch(shown.current, shown.target)
            try:
                commit = self._commit(shown) if shown.commits_to else ""
            except (
                BaseException
            ):  # the person was told that the undo failed, so nothing may be undone
                self._store.switch(shown.target, shown.current)
                raise
            self._write_to_journal(shown, commit)

        docs = self._project.transact(lambda docs: _with_task_requeued(docs, shown, commit))
        self._project.mark_undone(shown.task_id, shown.iterations)
        CheckStore(self._project.root).forget_outcomes()
        follow(docs.plan)
        # Last, so that an undo that is cut off before can be repeated.
        self._store.forget(shown.iterations)
        return Undone(preview=shown, commit=commit)

    def _changes(self, point: Point) -> tuple[Difference, ...]:
        followed = followed_names(self._project.root)
        found = self._store.differences(point.before, point.after)
        return tuple(one for one in found if one.path not in followed)

    def _points(self, docs: Documents, current: str) -> tuple[Point, ...]:
        since = docs.state.started_at
        known = self._store.points()
        first = since.timestamp() if since is not None else math.inf
        points = [point for point in known if point.at + 1 > first]
        following = [*(point.before for point in points[1:]), current]
        return tuple(
            point if point.after else point._replace(after=after)
            for point, after in zip(points, following, strict=False)
        )

    def _require_no_loop(self) -> None:
        try:
            LoopLock(self._project.layout).require_free()
        except LockedError as error:
            message = "A loop is running here, so nothing can be undone."
            raise LockedError(message, "Stop the loop with `ralph stop`, then undo.") from error

    def _commit_branch(self, task: Task) -> str:
        git = load_settings(self._project.root).git
        commit = task.commit
        if commit is None or commit.pending or not commit.hash or git.commit == "off":
            return ""
        head = require_committable(self._committer.git)
        require_unprotected(head.branch, git.protected_branches)
        if commit.branch != head.branch or not self._committer.is_made(commit.hash):
            raise RalphError(
                f"{task.id} was committed to {one_line(commit.branch)} as {commit.hash[:10]}, but {head.branch} is checked out.",
                f"Run `git switch {one_line(commit.branch)}` first. {NOTHING_CHANGED}",
            )
        if not self._committer.git.succeeds("diff", "--cached", "--quiet", "--no-ext-diff"):
            raise RalphError(
                "You have staged changes, which the commit of this undo would include.",
                f"Commit them, or run `git restore --staged .` first. {NOTHING_CHANGED}",
            )
        return head.branch

    def _commit(self, shown: UndoPreview) -> str:
        settings = load_settings(self._project.root).git
        points = self._points(self._project.load(), shown.current)
        undone = (point for point in points if point.iteration in shown.iterations)
        paths = {one.path for point in undone for one in self._changes(point)}
        if not paths:
            return ""
        wanted = CommitRequest(
            message=f"Undo {one_line(shown.task_id, 60)}: {one_line(shown.title, 60)}",
            trailers={"Ralph-Undo": shown.task_id} if settings.trailers else {},
            protected=settings.protected_branches,
            paths=tuple(sorted(paths)),
        )
        commit = self._committer.commit(wanted)
        return commit.commit if commit is not None else ""

    def _write_to_journal(self, shown: UndoPreview, commit: str) -> None:
        journal = JournalWriter(self._project.layout.events)
        try:
            undone = WorkUndone(
                task_id=shown.task_id,
                iterations=shown.iterations,
                files=tuple(file.path for file in shown.files),
                commit=commit,
                feature=self._project.layout.feature,
            )
            journal.write([journal.stamp(undone)])
        finally:
            journal.close()

    def _conflict_message(
        self, paths: Sequence[str], task: Task, undone: Sequence[Point], points: Sequence[Point]
    ) -> tuple[str, str]:
        named = shortlist([one_line(path, 60) for path in paths], 3)
        first, numbers = undone[0].iteration, {point.iteration for point in undone}
        for point in reversed(points):
            if point.iteration < first or point.iteration in numbers:
                continue
            if {one.path for one in self._changes(point)}.isdisjoint(paths):
                continue
            is_same = point.task_id == task.id
            who = f"iteration {point.iteration}" if is_same else one_line(point.task_id, 80)
            what = f"all of {task.id}" if is_same else f"{who} first"
            return (
                f"{who.capitalize() if is_same else who} later changed the same files ({named}), so this cannot be undone cleanly.",
                f"Undo {what}: `ralph undo {task.id if is_same else who}`. {NOTHING_CHANGED}",
            )
        verb = "was" if len(paths) == 1 else "were"
        return (
            f"{plural(len(paths), 'file')} of {task.id} {verb} changed since then ({named}), so the task cannot be undone cleanly.",
            f"Save your changes (commit or copy them), restore these files, then undo. {NOTHING_CHANGED}",
        )


def _chosen(
    plan: ImplementationPlan, points: Sequence[Point], wanted: str
) -> tuple[Task, tuple[Point, ...]]:
    number = wanted.removeprefix("#")
    if plan.task(wanted) is None and number.isascii() and number.isdigit():
        found = [point for point in points if point.iteration == int(number)]
        if not found:
            raise RalphError(f"There are no snapshots of iteration {number}.", _undo_hint(points))
        task = plan.task(found[0].task_id)
        if task is None:
            message = (
                f"Iteration {number} worked on {found[0].task_id}, which is no longer in the plan."
            )
            raise RalphError(message, NOTHING_CHANGED)
    else:
        task = find(plan, wanted)
        found = [point for point in points if point.task_id == task.id]
        if not found:
            raise RalphError(
                f"There are no snapshots of {task.id}, so its work cannot be undone.",
                _undo_hint(points, task),
            )
    return task, tuple(found)


def _undo_hint(points: Sequence[Point], task: Task | None = None) -> str:
    if task is not None and task.commit is not None and task.commit.hash:
        return f"To undo its commit, run `git revert {task.commit.hash[:10]}`."
    if task is not None and task.status is TaskStatus.PENDING and not task.iterations:
        return "No iteration has worked on it, or its work is undone already."
    ids = list(dict.fromkeys(point.task_id for point in reversed(points)))
    if not ids:
        return "Ralph keeps snapshots of every iteration from now on."
    return f"There are snapshots of {shortlist([one_line(i, 60) for i in ids], _MAX_NAMED)}."


def _file(one: Difference) -> UndoneFile:
    how = UndoneHow.RESTORE
    if one.old is None:
        how = UndoneHow.BRING_BACK
    elif one.new is None:
        how = UndoneHow.REMOVE
    return UndoneFile(
        path=one_line(one.path, 200), how=how, additions=one.additions, deletions=one.deletions
    )


def _with_task_requeued(docs: Documents, shown: UndoPreview, commit: str) -> Documents:
    task = docs.plan.task(shown.task_id)
    if task is None:
        return docs
    plan = docs.plan.with_task(
        task.id,
        status=TaskStatus.PENDING,
        completed_at=None,
        verification=None,
        commit=None,
        completion_notes=None,
        begun=None,
        blockers=(),
        last_failure="",
        retry_count=0,
        iterations=0,
        review_rejections=0,
    )
    branch = docs.state.branch
    if branch is not None and commit and branch.name == shown.commits_to:
        docs = docs.with_state(branch=branch.model_copy(update={"head": commit}))
    return docs.replacing(plan=plan)


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

    async def before(self, iteration: int, task_id: str) -> str:
        if not self._begun:
            self._begun = True
            await self._try(self._store.forget_old)
        return await self._taken(lambda: self._store.begin(iteration, task_id, self._run_id))

    async def after(self, iteration: int) -> str:
        return await self._taken(lambda: self._store.end(iteration))

    async def _taken(self, take: Callable[[], str]) -> str:
        return await self._try(lambda: _without_exports(self._store, take())) or ""

    async def files(self, before: str, after: str) -> tuple[str, ...]:
        """Return the paths that differ between these trees, also those that commands changed."""
        found = await self._try(lambda: self._store.differences(before, after))
        return tuple(one.path for one in found or ())

    async def changes(self) -> tuple[Difference, ...]:
        def compare() -> tuple[Difference, ...]:
            points = [point for point in self._store.points() if point.run == self._run_id]
            ended = [point.after for point in points if point.after]
            if not ended:
                return ()
            return self._store.differences(points[0].before, ended[-1], with_lines=True)

        return await self._try(compare) or ()

    async def _try(self, work: Callable[[], T]) -> T | None:
        if self._begun and self.used and not self._failed:
            try:
                return await asyncio.to_thread(work)
            except (RalphError, OSError) as error:
                self._failed = True
                text = f"Work of this run cannot be undone: {error}"
                self._emit(Notice(level="warning", text=text))
        return None
