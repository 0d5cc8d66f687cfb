"""The data of `ralph report`: the request, the tasks with their checks, the costs and the timeline. Pure functions."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated

from pydantic import AfterValidator, Field

from ralph_tui.domain.base import Model
from ralph_tui.domain.documents.validation_report import ValidationReport
from ralph_tui.domain.events import ToolDenied
from ralph_tui.domain.formatting import plural, shortlist, took
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.verification.verification import Receipt
from ralph_tui.domain.view.metrics import Metric
from ralph_tui.domain.view.run_history import Iteration, RunHistory
from ralph_tui.present.events.run_result import result_facts
from ralph_tui.present.text.figures import money
from ralph_tui.present.text.status_labels import RECEIPT

Said = Annotated[str, AfterValidator(lambda text: one_line(text, 1_000))]
"""A text on one line, inert and without secrets."""


class CheckLine(Model):
    """One check of the last claim that was verified."""

    command: Said
    result: str
    seconds: float = 0.0
    reason: Said = ""


class TaskLine(Model):
    """One task, with the basis of its completion."""

    id: Said
    title: Said
    status: str
    outcome: str = ""
    """The basis of the completion: verified, unverified, reviewed or accepted; empty for an open task."""
    reason: Said = ""
    cost_usd: float | None = None
    tokens: int | None = None
    checks: tuple[CheckLine, ...] = ()


class TimelineLine(Model):
    """One iteration from the journal."""

    started_at: datetime | None = None
    iteration: int
    task_id: Said
    outcome: str = ""
    """How the iteration ended; empty if it has not, or was killed."""
    reason: Said = ""
    cost_usd: float = 0.0
    seconds: float = 0.0
    files: tuple[Said, ...] = ()


class DeniedLine(Model):
    """One call that the guard refused."""

    iteration: int
    rule: Said
    command: Said
    reason: Said


class CriterionLine(Model):
    """One acceptance criterion with the result of its validation."""

    criterion: Said
    passed: bool
    evidence: Said


class RunReport(Model):
    """Everything that a report shows."""

    project: str
    feature: str = ""
    request: str = ""
    ending: str = ""
    facts: dict[str, str] = Field(default_factory=dict)
    runs: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    tasks: tuple[TaskLine, ...] = ()
    files: tuple[str, ...] = ()
    timeline: tuple[TimelineLine, ...] = ()
    denied: tuple[DeniedLine, ...] = ()
    reviewed: bool = False
    """Whether there is a validation report."""
    criteria: tuple[CriterionLine, ...] = ()
    gaps: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()

    @property
    def complete(self) -> int:
        return sum(task.status == TaskStatus.COMPLETE.value for task in self.tasks)

    @property
    def totals(self) -> str:
        """The totals of all runs in words; empty without runs, and if the facts of a single run say the same."""
        if not self.timeline or (self.runs <= 1 and "Cost" in self.facts):
            return ""
        counted = (plural(self.runs, "run"), plural(len(self.timeline), "iteration"))
        return ", ".join((money(self.cost_usd), *counted, took(self.seconds)))


def collect_report(
    about: RunReport,
    plan: ImplementationPlan,
    past: RunHistory,
    validation: ValidationReport | None,
) -> RunReport:
    """Return the report of a plan, its journal and its validation.

    Args:
        about: A report with project, feature, request, cost and metrics; the rest is filled in.
    """
    finished = past.runs[-1].finished if past.runs else None
    ending = one_line(finished.reason, 500) if finished is not None else ""
    if past.undone:
        undone = [one_line(task_id, 80) for task_id in past.undone]
        finished, ending = None, f"You undid {shortlist(undone, 3)} after the run."
    judged = validation.specs if validation is not None else ()
    timeline = tuple(map(_timeline_line, past.iterations))
    return about.model_copy(
        update={
            "project": one_line(about.project),
            "request": inert(about.request).strip(),
            "ending": ending,
            "facts": result_facts(plan.tasks, finished),
            "runs": len(past.runs),
            "seconds": past.seconds,
            "tasks": tuple(
                _task(task, () if task.id in past.undone else past.receipts.get(task.id, ()))
                for task in plan.tasks
            ),
            "files": tuple(sorted({path for line in timeline for path in line.files})),
            "timeline": timeline,
            "denied": tuple(
                DeniedLine(iteration=number, rule=e.rule, command=e.part, reason=e.reason)
                for number, e in past.rulings
                if isinstance(e, ToolDenied)
            ),
            "reviewed": validation is not None,
            "criteria": tuple(
                CriterionLine(criterion=c.criterion, passed=c.passed, evidence=c.evidence)
                for spec in judged
                for c in spec.criteria
            ),
            "gaps": tuple(one_line(gap, 500) for spec in judged for gap in spec.gaps),
        }
    )


def _timeline_line(it: Iteration) -> TimelineLine:
    word = it.outcome.value.replace("_", " ") if it.outcome else ""
    return TimelineLine(
        started_at=it.started_at,
        iteration=it.number,
        task_id=it.task_id,
        outcome="undone" if it.is_undone else word,
        reason="" if it.is_undone else it.reason,
        cost_usd=it.cost_usd,
        seconds=it.seconds,
        files=() if it.is_undone else it.files,
    )


def _task(task: Task, receipts: Sequence[Receipt]) -> TaskLine:
    basis = task.verification if task.status is TaskStatus.COMPLETE else None
    return TaskLine(
        id=task.id,
        title=task.title,
        status=task.status.value,
        outcome=basis.outcome.value if basis is not None else "",
        reason=basis.reason if basis is not None else task.last_failure,
        cost_usd=task.actual_cost_usd,
        tokens=task.actual_tokens_used,
        checks=tuple(
            CheckLine(
                command=one.command,
                result=RECEIPT[one.status].word,
                seconds=one.seconds,
                reason=one.reason,
            )
            for one in receipts
        ),
    )
