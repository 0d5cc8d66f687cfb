"""When a finished task is opened again, and when no more."""

from datetime import UTC, datetime, timedelta

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.engine.phases.finished_work import MAX_REOPENED, with_reopened

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)
RED = Receipt(
    command="make a",
    source="criterion",
    status=ReceiptStatus.FAILED,
    reason="exit status 2",
    tail="FAILED a.py::test_a - gone\n",
)


def done(task_id: str, minutes: int, **fields: object) -> Task:
    return Task.model_validate(
        {
            "id": task_id,
            "status": "complete",
            "completed_at": NOON + timedelta(minutes=minutes),
            "retry_count": 2,
            **fields,
        }
    )


def test_the_reason_names_the_check_and_what_came_later() -> None:
    plan = ImplementationPlan(tasks=(done("z", -1), done("a", 0), done("b", 1), done("c", 2)))
    task = with_reopened(plan, "a", [RED]).task("a")
    assert task is not None
    why = "`make a` passed when this task was complete and fails now after c, b."
    assert (task.status, task.completion_notes) == (TaskStatus.PENDING, why)
    assert (task.completed_at, task.verification, task.retry_count) == (None, None, 0)
    assert task.last_failure.startswith(
        f"{why} Make it pass again without undoing what came later."
    )
    assert "a.py::test_a" in task.last_failure


def test_what_is_opened_again_too_often_is_blocked() -> None:
    plan = ImplementationPlan(tasks=(done("a", 0, reopened=MAX_REOPENED),))
    task = with_reopened(plan, "a", [RED]).task("a")
    assert task is not None
    assert task.status is TaskStatus.BLOCKED
    assert task.blockers[-1].endswith("The task was already reopened 2 times.")


def test_what_the_person_changed_meanwhile_stays() -> None:
    plan = ImplementationPlan(tasks=(Task(id="a", status=TaskStatus.BLOCKED),))
    assert with_reopened(plan, "a", [RED]) is plan
    assert with_reopened(plan, "gone", [RED]) is plan
