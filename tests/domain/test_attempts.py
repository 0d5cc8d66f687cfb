"""A task is given up after its attempts or its iterations, whichever comes first; 0 is no limit."""

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.plan.plan import Task, TaskLimits, TaskStatus, after_iteration

LIMITS = st.builds(
    TaskLimits,
    max_attempts=st.integers(min_value=0, max_value=6),
    max_iterations=st.integers(min_value=0, max_value=12),
)


def worked(limits: TaskLimits, failed: list[bool]) -> tuple[Task, int]:
    """Return the task after these iterations, and how many ran before it was blocked."""
    task = Task(id="a", blockers=("the key is missing",))
    for number, it_failed in enumerate(failed, 1):
        changes = after_iteration(task, "tests failed", limits, failed=it_failed)
        task = task.model_copy(update=changes)
        if task.status is TaskStatus.BLOCKED:
            return task, number
    return task, len(failed)


@given(LIMITS, st.lists(st.booleans(), max_size=20))
def test_the_first_limit_that_is_reached_blocks_the_task(
    limits: TaskLimits, failed: list[bool]
) -> None:
    task, ran = worked(limits, failed)
    attempts = sum(failed[:ran])
    assert (task.retry_count, task.iterations) == (attempts, ran)
    by_attempts = 0 < limits.max_attempts <= attempts
    by_iterations = 0 < limits.max_iterations <= ran
    assert (task.status is TaskStatus.BLOCKED) == (by_attempts or by_iterations)
    assert attempts <= (limits.max_attempts or attempts)
    assert ran <= (limits.max_iterations or ran)
    assert task.blockers[0] == "the key is missing"
    assert len(task.blockers) == 1 + (task.status is TaskStatus.BLOCKED)


def test_the_reason_says_which_limit_it_was() -> None:
    task, _ = worked(TaskLimits(), [True] * 3)
    assert task.blockers[-1] == "3 attempts failed; the last: tests failed"
    task, _ = worked(TaskLimits(), [False] * 10)
    assert task.blockers[-1] == "10 iterations did not finish it; the last: tests failed"


def test_an_attempt_that_the_agent_counted_is_not_counted_twice() -> None:
    task = Task(id="a", retry_count=3)
    changes = after_iteration(task, "no", TaskLimits(max_attempts=4), failed=True, counted=True)
    assert (changes["retry_count"], changes["status"]) == (3, TaskStatus.PENDING)
