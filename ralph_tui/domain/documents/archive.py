"""The summary and the readable text of an archived plan."""

from collections.abc import Iterable

from ralph_tui.domain.base import Count, Record, Timestamp
from ralph_tui.domain.costs import Money
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.sanitize import one_line

SUMMARY_VERSION = 1


class ArchiveSummary(Record):
    """The summary of one archive, `summary.json`."""

    schema_version: int = SUMMARY_VERSION
    name: str
    """The folder's name."""
    feature: str = ""
    """The feature; empty for the plan without a name."""
    title: str = ""
    request: str = ""
    archived_at: Timestamp
    is_retirement: bool = False
    """Whether only the complete tasks of a plan were archived, because they were retired."""
    tasks_complete: Count = 0
    tasks_total: Count = 0
    tasks_unverified: Count = 0
    iterations: Count = 0
    cost_usd: Money = 0.0
    tokens: Count = 0
    branch: str = ""
    commit: str = ""
    digest: str = ""
    """SHA-256 of the tasks and the report, so that an unchanged plan is not automatically archived again."""


def counted(plan: ImplementationPlan) -> dict[str, int]:
    return {
        "tasks_complete": plan.counts()[TaskStatus.COMPLETE],
        "tasks_total": len(plan.tasks),
        "tasks_unverified": sum(task.is_unverified for task in plan.tasks),
    }


def archive_text(summary: ArchiveSummary, plan: ImplementationPlan, progress: str) -> str:
    title = one_line(summary.title or summary.request, 200) or summary.name
    facts = {
        "Archived": f"{summary.archived_at:%Y-%m-%d %H:%M} UTC",
        "Feature": summary.feature,
        "Request": one_line(summary.request, 500),
        "Tasks": f"{summary.tasks_complete} of {summary.tasks_total} complete",
        "Not verified": str(summary.tasks_unverified or ""),
        "Iterations": f"{summary.iterations:,}",
        "Cost": f"${summary.cost_usd:,.2f}",
        "Branch": f"{summary.branch} at {summary.commit[:10]}" if summary.commit else "",
    }
    lines = [f"# {title}", "", *(f"- {name}: {fact}" for name, fact in facts.items() if fact)]
    lines += ["", "## Tasks", "", *(line for task in plan.tasks for line in _task_lines(task))]
    return "\n".join([*lines, *(["", "## Progress log", "", progress] if progress else [])])


def _task_lines(task: Task) -> Iterable[str]:
    box = "x" if task.status is TaskStatus.COMPLETE else " "
    yield f"- [{box}] {one_line(task.id, 80)}: {one_line(task.title, 200)}"
    if task.verification is not None and (reason := one_line(task.verification.reason, 300)):
        yield f"  {reason}"
