"""What the archive says about one plan."""

from ralph_tui.domain.base import Count, Record, Timestamp
from ralph_tui.domain.costs import Money
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus

SUMMARY_VERSION = 1


class ArchiveSummary(Record):
    """`summary.json` of one archive."""

    schema_version: int = SUMMARY_VERSION
    name: str
    """The folder's name."""
    feature: str = ""
    """The feature; empty for the plan without a name."""
    title: str = ""
    request: str = ""
    archived_at: Timestamp
    is_retirement: bool = False
    """Whether only the complete tasks of a plan were archived, because they left it."""
    tasks_complete: Count = 0
    tasks_total: Count = 0
    tasks_unverified: Count = 0
    iterations: Count = 0
    cost_usd: Money = 0.0
    tokens: Count = 0
    branch: str = ""
    commit: str = ""
    digest: str = ""
    """SHA-256 of the tasks and the report; what did not change is not archived again automatically."""


def counted(plan: ImplementationPlan) -> dict[str, int]:
    """Return how many tasks there are and how many are complete, as fields of a summary."""
    return {
        "tasks_complete": plan.counts()[TaskStatus.COMPLETE],
        "tasks_total": len(plan.tasks),
        "tasks_unverified": sum(task.is_unverified for task in plan.tasks),
    }
