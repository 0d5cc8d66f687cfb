"""Archive a plan with its specs, log and report, and remove complete tasks from the plan."""

import hashlib
from datetime import datetime
from pathlib import Path

from ralph_tui.domain.documents.archive import ArchiveSummary, counted
from ralph_tui.domain.documents.progress_log import pending_commit_line
from ralph_tui.domain.errors import RalphError, StoreError
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.interop.json_plans import new_prd
from ralph_tui.store.archive import PLAN, PROGRESS, read_archives, staged_archive, write_archive
from ralph_tui.store.documents.multi_file_commit import Move
from ralph_tui.store.io.files import DamagedError, explained, read_regular
from ralph_tui.store.io.strict_json import json_text
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project
from ralph_tui.store.text_files import MAX_SPECS
from ralph_tui.vcs.branches import branch_slug

PRD = "prd.json"
REPORT = "report.json"
_UNNAMED = "plan"


def archive_finished(project: Project, now: datetime) -> ArchiveSummary | None:
    """Archive a finished plan, unless an archive has the same tasks and report. Blocks."""
    docs = project.load()
    digest = _digest(project.layout, docs.plan)
    known = {one.digest for one in read_archives(project.layout)[0]}
    if not docs.plan.is_finished or digest in known:
        return None
    return archive_plan(project, now)


def archive_by_hand(project: Project, now: datetime, *, complete: bool = False) -> ArchiveSummary:
    """Archive the plan, or only its complete tasks, while holding the loop's lock. Blocks."""
    lock = LoopLock(project.layout)
    lock.acquire("archive")
    try:
        return (retire_complete if complete else archive_plan)(project, now)
    finally:
        lock.release()


def archive_plan(project: Project, now: datetime) -> ArchiveSummary:
    docs = project.load()
    if not docs.plan.tasks:
        raise RalphError("The plan has no tasks to archive.", "Make a plan with `ralph plan`.")
    summary = _summary(project.layout, docs, docs.plan, now)
    name = f"{now:%Y-%m-%d}-{_stem(project, docs)}"
    return write_archive(project.layout, name, summary, _files(project.layout, docs.plan))


def retire_complete(project: Project, now: datetime) -> ArchiveSummary:
    """Archive the complete tasks and remove them from the plan; tasks that depend on them can still run. Blocks."""
    docs = project.load()
    done = tuple(task for task in docs.plan.tasks if task.status is TaskStatus.COMPLETE)
    if not done:
        raise RalphError(
            "No complete task to archive.",
            "See the status of each task with `ralph tasks`.",
        )
    pending = [task.id for task in done if task.commit is not None and task.commit.pending]
    if pending:
        raise RalphError(
            f"{pending[0]} is complete but not committed.",
            "Commit it with `ralph build`, then archive again.",
        )
    only_done = docs.plan.model_copy(update={"tasks": done})
    summary = _summary(project.layout, docs, only_done, now)
    ids = frozenset(task.id for task in done)
    with staged_archive(
        project.layout,
        f"{now:%Y-%m-%d}-{_stem(project, docs)}-complete",
        summary.model_copy(update={"is_retirement": True}),
        _plan_files(only_done),
    ) as staged:
        # One transaction, so that the tasks are never in both the plan and the archive.
        project.transact_moving(
            lambda docs: docs.replacing(plan=docs.plan.retiring(ids)),
            (Move(staged.source, staged.target),),
        )
        return staged.summary


def _summary(
    layout: Layout, docs: Documents, plan: ImplementationPlan, now: datetime
) -> ArchiveSummary:
    state, branch = docs.state, docs.state.branch
    return ArchiveSummary(
        name="",
        feature=layout.feature,
        title=plan.title,
        request=state.request,
        archived_at=now,
        iterations=state.iteration_count,
        cost_usd=state.total_cost_usd,
        tokens=state.total_tokens_used,
        branch=branch.name if branch is not None else "",
        commit=branch.head if branch is not None else "",
        digest=_digest(layout, plan),
        **counted(plan),
    )


def _stem(project: Project, docs: Documents) -> str:
    names = (docs.plan.title, docs.state.request, project.root.name)
    slugs = (slug for name in names if (slug := branch_slug(name)))
    return project.layout.feature or next(slugs, _UNNAMED)


def _digest(layout: Layout, plan: ImplementationPlan) -> str:
    digest = hashlib.sha256(_read(layout.validation_report) or b"")
    for task in plan.tasks:
        digest.update(json_text(task).encode("utf-8", "replace") + b"\n")
    return digest.hexdigest()


def _plan_files(plan: ImplementationPlan) -> dict[str, bytes]:
    prd = new_prd(plan)
    return {
        PLAN: json_text(plan, indent=2).encode("utf-8", "replace") + b"\n",
        PRD: prd.encode("utf-8", "replace"),
    }


def _files(layout: Layout, plan: ImplementationPlan) -> dict[str, bytes]:
    progress = _read(layout.progress) or b""
    pending_line = (
        pending_commit_line(plan, progress.decode("utf-8", "replace")) if progress else ""
    )
    report = _read(layout.validation_report)
    return {
        **_plan_files(plan),
        **({PROGRESS: progress + pending_line.encode()} if progress else {}),
        **({REPORT: report} if report is not None else {}),
        **{f"specs/{path.name}": data for path, data in _specs(layout)},
    }


def _specs(layout: Layout) -> list[tuple[Path, bytes]]:
    with explained("read", layout.specs):
        paths = sorted(path for path in layout.specs.glob("*.md") if path.is_file())
    read = ((path, _read(path)) for path in paths[:MAX_SPECS])
    return [(path, data) for path, data in read if data is not None]


def _read(path: Path) -> bytes | None:
    try:
        return read_regular(path)
    except DamagedError as error:
        raise StoreError(f"{path} is {error}.", "Move it elsewhere, then archive again.") from error
