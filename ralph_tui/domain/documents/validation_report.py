"""The validation report: findings with evidence, and the tasks that follow from them."""

from collections.abc import Container, Sequence

from pydantic import Field

from ralph_tui.domain.base import Count, Record, Timestamp
from ralph_tui.domain.documents.specs import Spec
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus

REPORT_SCHEMA_VERSION = 1


class CriterionResult(Record):
    """The finding on one acceptance criterion."""

    criterion: str
    passed: bool
    evidence: str


class SpecResult(Record):
    """The findings on one specification."""

    spec: str
    criteria: tuple[CriterionResult, ...] = ()
    gaps: tuple[str, ...] = ()


class ValidationReport(Record):
    """`.ralph/validation_report.json`."""

    schema_version: int = REPORT_SCHEMA_VERSION
    round: Count = 1
    created_at: Timestamp | None = None
    checks: tuple[Receipt, ...] = ()
    specs: tuple[SpecResult, ...] = ()
    summary: str = ""
    observations: tuple[str, ...] = Field(default=())
    """What the model reports to have seen with extra tools, such as a browser."""

    @property
    def passed(self) -> bool:
        return all(receipt.ok for receipt in self.checks) and not self.failures()

    @property
    def proof(self) -> str:
        """What passed, in words."""
        ran = sum(receipt.status is ReceiptStatus.PASSED for receipt in self.checks)
        judged = sum(len(result.criteria) for result in self.specs)
        parts = (
            plural(ran, "check") if ran else "",
            f"{judged} acceptance criteri{'on' if judged == 1 else 'a'}" if judged else "",
        )
        passed = " and ".join(filter(None, parts))
        return f"{passed} passed" if passed else "there was nothing to check"

    def confirms(self, plan: ImplementationPlan) -> bool:
        """Return whether the plan is complete and this report passed after its last task was completed."""
        created = self.created_at
        if created is None or not self.passed or not plan.is_finished:
            return False
        return all(task.completed_at is None or task.completed_at <= created for task in plan.tasks)

    def failures(self) -> tuple[str, ...]:
        """Return the failed checks and criteria and the gaps, as text."""
        failed = [f"check failed: {r.command}" for r in self.checks if not r.ok]
        for result in self.specs:
            failed += [
                f"{result.spec}: {c.criterion} ({c.evidence})"
                for c in result.criteria
                if not c.passed
            ]
            failed += [f"{result.spec}: {gap}" for gap in result.gaps]
        return tuple(failed)


def report_problems(results: Sequence[SpecResult], specs: Sequence[Spec]) -> tuple[str, ...]:
    """Return why a report is rejected: missing specs or criteria, or findings without evidence."""
    problems: list[str] = []
    by_name = {result.spec: result for result in results}
    for spec in specs:
        result = by_name.get(spec.path) or by_name.get(spec.name)
        if result is None:
            problems.append(f"{spec.name} is not in the report")
            continue
        found = {_normalized(c.criterion): c for c in result.criteria}
        for criterion in spec.criteria:
            finding = found.get(_normalized(criterion))
            if finding is None:
                problems.append(f"{spec.name}: no finding on “{criterion}”")
            elif not finding.evidence.strip():
                problems.append(f"{spec.name}: no evidence for “{criterion}”")
    return tuple(problems)


def _normalized(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .`")


def repair_tasks(report: ValidationReport, plan: ImplementationPlan) -> tuple[Task, ...]:
    last = max((task.priority for task in plan.tasks), default=0)
    known = set(plan.taken_ids())
    tasks: list[Task] = []
    for number, failure in enumerate(report.failures(), 1):
        task_id = _unused_id(f"fix-r{report.round}-{number:02}", known)
        known.add(task_id)
        tasks.append(
            Task(
                id=task_id,
                description=f"Validation found: {failure}. Fix it.",
                priority=last + 1,
                verification_criteria=(failure,),
            )
        )
    return tuple(tasks)


def rejection_task(reason: str, number: int, plan: ImplementationPlan) -> Task:
    """Return a task, to run next, for the reason why the person rejected the result of a round."""
    left = (task.priority for task in plan.tasks if task.status is not TaskStatus.COMPLETE)
    before_all = min(left, default=2) - 1
    return Task(
        id=_unused_id(f"rejected-r{number}", plan.taken_ids()),
        description=f"The person rejected the result: {reason}",
        priority=min(1, before_all),
        verification_criteria=(reason,),
    )


def _unused_id(task_id: str, known: Container[str]) -> str:
    """Return an unused id like this one. Ids can repeat, because each request counts its rounds from one."""
    while task_id in known:
        task_id += "x"
    return task_id
