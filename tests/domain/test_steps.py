"""What ralph knows of steps: breakers open and close, once is once, and what is owed shrinks to nothing."""

from datetime import UTC, datetime, timedelta
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.steps import StepLog, StepOutcome, StepsLeft
from ralph_tui.domain.view.run_history import RunHistoryBuilder

NOW = datetime(2026, 1, 2, tzinfo=UTC)
outcomes = st.sampled_from(StepOutcome)


def after(log: StepLog, outcome: StepOutcome, *, threshold: int, at: datetime = NOW) -> StepLog:
    return log.begun("s").ended(
        "s", outcome, "why", at, threshold=threshold, reset_after=60 if threshold else 0
    )


@given(st.lists(outcomes, max_size=12), st.integers(0, 4))
def test_a_breaker_is_open_after_as_many_failures_in_a_row_as_it_bears(
    ended: list[StepOutcome], threshold: int
) -> None:
    log, in_a_row = StepLog(), 0
    for outcome in ended:
        log = after(log, outcome, threshold=threshold)
        if outcome is StepOutcome.FAILED:
            in_a_row += 1
        elif outcome is StepOutcome.DONE:
            in_a_row = 0
        record = log.of("s")
        assert record.failures == in_a_row
        assert record.is_open(NOW) is (0 < threshold <= in_a_row)
        assert not record.is_open(NOW + timedelta(seconds=60)), "then it is tried once"
        assert (log.running, record.last_outcome) == ("", outcome)


@given(st.lists(outcomes, max_size=6))
def test_every_run_begins_with_closed_breakers_and_what_was_done_once(
    ended: list[StepOutcome],
) -> None:
    log = StepLog().done_once("once", "hash", NOW)
    for outcome in ended:
        log = after(log, outcome, threshold=1)
    begun = log.begun("s").at_start({"s", "once"})
    assert not begun.of("s").is_open(NOW)
    assert begun.running == ""
    assert begun.of("once").done_at == NOW
    again = begun.reset("once", "it is new", NOW).of("once")
    assert (again.done_at, again.reset_reason) == (None, "it is new")


@given(st.lists(st.sampled_from("abc"), unique=True, min_size=1), st.sets(st.sampled_from("abc")))
def test_what_is_owed_shrinks_to_nothing_and_forgets_steps_that_are_gone(
    left: list[str], known: set[str]
) -> None:
    owed = StepLog(under_way=StepsLeft(iteration=3, complete=True, left=tuple(left)))
    begun = owed.at_start(known)
    still = begun.under_way.left if begun.under_way else ()
    assert set(still) == set(left) & known
    due = owed.under_way
    for name in left:
        assert due is not None
        due = due.without(name)
    assert due is None


def test_an_iteration_in_the_history_holds_its_steps() -> None:
    chronicler = RunHistoryBuilder()
    step: dict[str, Any] = {"step": "s", "kind": "noop"}
    done = StepOutcome.DONE
    told: list[ev.Event] = [
        ev.LoopStarted(run_id="r", project="p", phase=Phase.BUILDING),
        ev.StepStarted(**step, iteration=1),
        ev.StepFinished(**step, iteration=1, outcome=done),
        ev.IterationStarted(iteration=1, task_id="a"),
        ev.IterationFinished(iteration=1, task_id="a", outcome=IterationOutcome.COMPLETE),
        ev.StepStarted(**step, iteration=1),
        ev.StepFinished(**step, iteration=1, outcome=done),
        ev.StepStarted(**step, iteration=2),
        ev.StepFinished(**step, iteration=2, outcome=done),
        ev.IterationStarted(iteration=2, task_id="b"),
    ]
    for number, event in enumerate(told):
        chronicler.feed(10 * number, 10 * number + 10, event)
    first, second = chronicler.chronicle.iterations
    assert (first.start, first.end) == (10, 70)
    assert second.start == 70
