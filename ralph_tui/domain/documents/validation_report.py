"""The validation report: what was checked, with which evidence, and what remains to be done."""

from collections.abc import Container, Sequence

from pydantic import Field

from ralph_tui.domain.base import Count, Record, Timestamp
from ralph_tui.domain.documents.specs import Spec
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
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


class Seen(Record):
    """What an extra tool showed during the phase, kept by Python as it was returned."""

    tool: str
    input: str = ""
    text: str = ""
    pictures: tuple[str, ...] = ()
    """Files in the project."""


class ValidationReport(Record):
    """`.ralph/validation_report.json`."""

    schema_version: int = REPORT_SCHEMA_VERSION
    round: Count = 1
    created_at: Timestamp | None = None
    checks: tuple[Receipt, ...] = ()
    specs: tuple[SpecResult, ...] = ()
    summary: str = ""
    observations: tuple[str, ...] = Field(default=())
    """What the model says it saw with extra tools, such as a browser."""
    seen: tuple[Seen, ...] = ()
    """What those tools returned; bounded."""

    @property
    def passed(self) -> bool:
        """Every check and every criterion passed, and there is no gap."""
        return all(receipt.ok for receipt in self.checks) and not self.failures()

    @property
    def proof(self) -> str:
        """What a report that passed rests on, in words."""
        ran = sum(receipt.status is ReceiptStatus.PASSED for receipt in self.checks)
        judged = sum(len(result.criteria) for result in self.specs)
        parts = (
            plural(ran, "check") if ran else "",
            f"{judged} acceptance criteri{'on' if judged == 1 else 'a'}" if judged else "",
        )
        held = " and ".join(filter(None, parts))
        return f"{held} passed" if held else "there was nothing to check"

    @property
    def sights(self) -> str:
        """How much was seen with extra tools, in words; empty when nothing was."""
        pictures = sum(len(sight.pictures) for sight in self.seen)
        shown = f", {plural(pictures, 'picture')}" if pictures else ""
        calls = f"{plural(len(self.seen), 'look')} with extra tools"
        return calls + shown if self.seen else ""

    def settles(self, plan: ImplementationPlan) -> bool:
        """Return whether it passed, and was made when this plan was complete."""
        made = self.created_at
        if made is None or not self.passed or not plan.is_finished:
            return False
        return all(task.completed_at is None or task.completed_at <= made for task in plan.tasks)

    def failures(self) -> tuple[str, ...]:
        """Return everything that did not pass, as sentences."""
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
    """Return why a report is refused: a spec or a criterion left out, or no evidence."""
    problems: list[str] = []
    by_name = {result.spec: result for result in results}
    for spec in specs:
        result = by_name.get(spec.path) or by_name.get(spec.name)
        if result is None:
            problems.append(f"{spec.name} is not in the report")
            continue
        found = {_folded(c.criterion): c for c in result.criteria}
        for criterion in spec.criteria:
            finding = found.get(_folded(criterion))
            if finding is None:
                problems.append(f"{spec.name}: no finding on “{criterion}”")
            elif not finding.evidence.strip():
                problems.append(f"{spec.name}: no evidence for “{criterion}”")
    return tuple(problems)


def _folded(text: str) -> str:
    return " ".join(text.lower().split()).strip(" .`")


def repair_tasks(report: ValidationReport, plan: ImplementationPlan) -> tuple[Task, ...]:
    """Make a task for each failure, after everything else in the plan."""
    last = max((task.priority for task in plan.tasks), default=0)
    known = set(plan.taken_ids())
    tasks: list[Task] = []
    for number, failure in enumerate(report.failures(), 1):
        task_id = _free(f"fix-r{report.round}-{number:02}", known)
        known.add(task_id)
        tasks.append(
            Task(
                id=task_id,
                description=f"Validation found: {failure}. Put it right.",
                priority=last + 1,
                verification_criteria=(failure,),
            )
        )
    return tuple(tasks)


def rejection_task(reason: str, number: int, plan: ImplementationPlan) -> Task:
    """Make a task, the next one, of what the person misses in this round's result."""
    return Task(
        id=_free(f"rejected-r{number}", plan.taken_ids()),
        description=f"The person rejected the result: {reason}",
        priority=1,
        verification_criteria=(reason,),
    )


def _free(task_id: str, known: Container[str]) -> str:
    """Return an id like this that no task has, because each request counts its rounds from one."""
    while task_id in known:
        task_id += "x"
    return task_id
