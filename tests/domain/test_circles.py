"""Line 62: iterations that go round in circles are no progress, with what was seen."""

import pytest

from ralph_tui.domain.run.breaker import (
    MAX_STATES,
    BreakerState,
    CircuitBreaker,
    Files,
    IterationVerdict,
)


def after(breaker: CircuitBreaker, files: str, *, complete: bool = False) -> CircuitBreaker:
    """The breaker after iterations that left these files, a letter each; the first stands at the start."""
    done = {seen.iteration: seen.files for seen in breaker.left}
    number = max(done, default=0)
    before = done.get(number, files[0])
    for now in files if done else files[1:]:
        number += 1
        verdict = IterationVerdict(
            is_failure=not complete,
            tasks_completed=int(complete),
            evidence=f"t{number}: why",
            files=Files(iteration=number, before=before, after=now),
        )
        breaker, before = breaker.record_iteration(verdict), now
    return breaker


@pytest.mark.parametrize(
    ("files", "last"),
    [
        ("AA", "t1: why (no file changed)"),
        ("AB", "t1: why"),
        ("ABA", "t2: why (the files are as they were at the start)"),
        ("ABAB", "t3: why (the files are as they were after iteration 1)"),
        ("ABCB", "t3: why (the files are as they were after iteration 1)"),
        ("ABCDBC", "t5: why (the files are as they were after iteration 2)"),
        ("ABB", "t2: why (no file changed)"),
    ],
)
def test_what_an_iteration_without_progress_left_is_its_evidence(files: str, last: str) -> None:
    breaker = after(CircuitBreaker(), files)
    assert breaker.stagnation_count == len(files) - 1
    assert breaker.evidence["stagnation"][-1] == last


def test_tasks_that_undo_each_other_are_no_progress_however_green_their_checks() -> None:
    breaker = CircuitBreaker(max_stagnation_iterations=3)
    breaker = after(breaker, "AB", complete=True)
    assert breaker.stagnation_count == 0
    breaker = after(breaker, "A", complete=True)
    assert (breaker.stagnation_count, breaker.state) == (1, BreakerState.CLOSED)
    assert breaker.evidence["stagnation"] == ("t2: why (the files are as they were at the start)",)
    breaker = after(breaker, "BA", complete=True)
    assert breaker.state is BreakerState.OPEN
    assert breaker.failure_count == 0


def test_a_task_that_needed_no_change_is_progress() -> None:
    assert after(CircuitBreaker(), "ABBB", complete=True).stagnation_count == 0


def test_files_nobody_looked_at_say_nothing_and_little_is_remembered() -> None:
    blind = IterationVerdict(is_failure=True, evidence="a: why")
    breaker = CircuitBreaker().record_iteration(blind).record_iteration(blind)
    assert breaker.evidence["stagnation"] == ("a: why", "a: why")
    assert breaker.left == ()
    many = after(CircuitBreaker(), "".join(chr(65 + n) for n in range(40)))
    assert len(many.left) == MAX_STATES
    assert many.reset("again").left == ()
    assert many.half_open().left == many.left
