"""Budget, breaker and costs: the figures that stop the loop."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from ralph_tui.domain.costs import (
    MAX_DOLLARS,
    CostLevel,
    CostLimits,
    CostMeter,
    dollars,
    micros,
    minus,
    plus,
)
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker, IterationVerdict
from ralph_tui.domain.run.context_budget import BudgetDecision, ContextBudget, TokenUsage, Zone

verdicts = st.builds(
    IterationVerdict,
    is_failure=st.booleans(),
    tasks_completed=st.integers(0, 1),
    cost_usd=st.integers(0, 30_000_000).map(dollars),
)


@given(st.lists(verdicts, max_size=12))
def test_the_breaker_opens_exactly_at_a_threshold(history: list[IterationVerdict]) -> None:
    breaker = CircuitBreaker(max_cost_usd=100.0)
    failures = stagnation = cost = 0
    for verdict in history:
        breaker = breaker.record_iteration(verdict)
        failures = failures + 1 if verdict.is_failure else 0
        stagnation = 0 if verdict.tasks_completed else stagnation + 1
        cost += micros(verdict.cost_usd)
        reached = failures >= 3 or stagnation >= 5 or cost >= micros(100)
        assert (breaker.state is BreakerState.OPEN) == reached
        assert (breaker.failure_count, breaker.stagnation_count) == (failures, stagnation)


@given(verdicts)
def test_half_open_lets_one_iteration_decide(verdict: IterationVerdict) -> None:
    tried = CircuitBreaker().half_open().record_iteration(verdict)
    worked = not verdict.is_failure and verdict.tasks_completed > 0
    assert tried.state is (BreakerState.CLOSED if worked else BreakerState.OPEN)


@given(st.lists(verdicts, min_size=20, max_size=30))
def test_a_threshold_of_zero_is_off(history: list[IterationVerdict]) -> None:
    breaker = CircuitBreaker(
        **{name: 0 for name in CircuitBreaker.model_fields if name.startswith("max_")}
    )
    for verdict in history:
        breaker = breaker.record_iteration(verdict)
    assert breaker.state is BreakerState.CLOSED


def _tripped_by(breaker: CircuitBreaker) -> tuple[str, float] | None:
    signal = breaker.tripped()
    return None if signal is None else (signal.name, signal.count)


def test_each_signal_trips_at_its_threshold() -> None:
    failed = CircuitBreaker()
    for number in range(3):
        verdict = IterationVerdict(is_failure=True, evidence=f"try {number}")
        failed = failed.record_iteration(verdict)
    assert _tripped_by(failed) == ("failures", 3)
    assert failed.signals()[0].evidence == ("try 0", "try 1", "try 2")
    assert failed.half_open().evidence == failed.evidence, "what counted stays to be read"
    stuck = CircuitBreaker(stagnation_count=5)
    assert _tripped_by(stuck) == ("stagnation", 5)
    dear = CircuitBreaker(total_cost=200.0)
    assert _tripped_by(dear) == ("cost", 200)
    assert failed.reset("I fixed the tests").reset_reason == "I fixed the tests"
    assert failed.reset("x").tripped() is None


@given(st.integers(0, 400_000), st.integers(1_000, 300_000))
def test_zones_and_decisions_agree(used: int, capacity: int) -> None:
    budget = ContextBudget(total_capacity=capacity).using(used)
    percent = 100 * used / capacity
    expected = (
        Zone.OVER if percent >= 80 else Zone.DANGER if percent >= 60
        else Zone.SMART if percent >= 40 else Zone.UNDER
    )  # fmt: skip
    assert budget.zone is expected
    assert (budget.at_turn_end() is BudgetDecision.HAND_OFF) == (percent >= 60)
    assert (budget.mid_turn() is BudgetDecision.INTERRUPT) == (percent >= 80)
    assert (budget.mid_turn() is BudgetDecision.WRAP_UP) == (75 <= percent < 80)


def test_the_context_is_what_was_sent_and_what_came_back() -> None:
    usage = TokenUsage(
        input_tokens=1, output_tokens=2, cache_read_tokens=3, cache_creation_tokens=4
    )
    assert usage.context == 10


@given(st.lists(st.integers(0, 10_000_000), max_size=20))
def test_the_meter_adds_exactly_at_every_level(spent: list[int]) -> None:
    meter = CostMeter(total=5.0)
    for amount in spent:
        meter = meter.add(dollars(amount))
    assert meter.iteration == dollars(sum(spent))
    assert meter.total == dollars(5_000_000 + sum(spent))
    assert CostMeter.model_validate_json(meter.model_dump_json()) == meter
    assert meter.next_iteration().iteration == 0.0
    over = meter.exceeded(CostLimits(per_iteration=10, per_session=20, total=30))
    if meter.total >= 30:
        assert over is CostLevel.TOTAL
    elif meter.session >= 20:
        assert over is CostLevel.SESSION
    else:
        assert (over is CostLevel.ITERATION) == (meter.iteration >= 10)


def test_a_cost_limit_of_zero_is_none() -> None:
    spent = CostMeter(iteration=5, session=500, total=5_000)
    none = CostLimits(per_iteration=0, per_session=0, total=0)
    assert (spent.exceeded(none), spent.remaining(none)) == (None, math.inf)
    one = none.model_copy(update={"per_session": 501.0})
    assert (spent.exceeded(one), spent.remaining(one)) == (None, 1.0)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -0.01, -math.inf])
def test_no_strange_number_switches_a_limit_off(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        CostMeter().add(bad)
    with pytest.raises(ValidationError):
        CostLimits(total=bad)
    with pytest.raises(ValidationError):
        CostMeter(total=bad)


def test_amounts_are_whole_micro_dollars_whatever_a_file_says() -> None:
    assert plus(0.1, 0.2) == 0.3
    assert minus(0.3, 0.1) == 0.2
    assert minus(0.1, 0.3) == 0.0
    assert CostMeter(total=0.025980999999999997).total == 0.025981
    assert CostMeter(total=1e308).total == MAX_DOLLARS, "more than anybody has, but no crash"


def bad(**fields: object) -> IterationVerdict:
    return IterationVerdict.model_validate({"is_failure": False, "tasks_completed": 1, **fields})


@pytest.mark.parametrize(
    ("fields", "name", "threshold"),
    [
        ({"error": "same"}, "same error", 5),
        ({"denied": "git push", "tasks_completed": 0}, "denials", 5),
        ({"tests_only": True, "tasks_completed": 0}, "tests only", 3),
        ({"refused_claim": True}, "refused claims", 3),
    ],
)
def test_each_signal_opens_at_its_threshold_and_says_why(
    fields: dict[str, object], name: str, threshold: int
) -> None:
    breaker = CircuitBreaker(max_stagnation_iterations=0)
    for number in range(threshold):
        assert breaker.state is BreakerState.CLOSED
        breaker = breaker.record_iteration(bad(evidence=f"n{number}", **fields))
    signal = breaker.tripped()
    assert breaker.state is BreakerState.OPEN
    assert signal is not None
    assert (signal.name, signal.count, signal.threshold) == (name, threshold, threshold)
    assert signal.evidence[-1].startswith(f"n{threshold - 1}")


def test_another_error_starts_the_count_again() -> None:
    breaker = CircuitBreaker()
    for error in ("a", "a", "b", "", "a"):
        breaker = breaker.record_iteration(bad(error=error))
    assert breaker.same_error_count == 1


def test_output_that_collapses_counts_and_does_not_become_usual() -> None:
    breaker = CircuitBreaker()
    for tokens in (1000, 1000, 200, 200):
        breaker = breaker.record_iteration(bad(output_tokens=tokens, tasks_completed=0))
    assert breaker.collapse_count == 2
    assert breaker.usual_output == pytest.approx(1000)
    assert breaker.record_iteration(bad(output_tokens=900)).collapse_count == 0


def test_little_output_that_completes_a_task_is_no_collapse() -> None:
    breaker = CircuitBreaker().record_iteration(bad(output_tokens=1000))
    small_task = IterationVerdict(is_failure=False, tasks_completed=1, output_tokens=50)
    assert breaker.record_iteration(small_task).collapse_count == 0


def test_a_phase_that_ends_soon_is_no_collapse_of_building() -> None:
    breaker = CircuitBreaker().record_iteration(bad(output_tokens=1000)).record_iteration(bad())
    assert breaker.collapse_count == 0
    assert breaker.usual_output == pytest.approx(1000)


def failed(task: str, **fields: object) -> IterationVerdict:
    given = {"is_failure": True, "task": task, "evidence": f"{task}: no", "error": "no"}
    return IterationVerdict.model_validate({**given, **fields})


def after(*verdicts: IterationVerdict, **thresholds: int) -> CircuitBreaker:
    breaker = CircuitBreaker(**thresholds)
    for verdict in verdicts:
        breaker = breaker.record_iteration(verdict)
    return breaker


def test_a_task_that_fails_again_and_again_is_one_failure() -> None:
    again = failed("b", evidence="b: again")
    only = {"max_same_error": 0, "max_stagnation_iterations": 0}
    breaker = after(*[failed("a")] * 4, failed("b"), again, **only)
    assert (breaker.state, breaker.failure_count) == (BreakerState.CLOSED, 2)
    assert breaker.evidence["failures"] == ("a: no", "b: again")
    assert after(failed("a"), failed("b"), failed("c")).state is BreakerState.OPEN
    assert after(*[failed("")] * 3).state is BreakerState.OPEN, "a failure of no task counts each"


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        ("max_stagnation_iterations", {"is_failure": False, "error": ""}),
        ("max_same_error", {}),
        ("max_denied", {"denied": "git push"}),
        ("max_tests_only", {"tests_only": True}),
        ("max_collapses", {"output_tokens": 1}),
    ],
)
def test_one_task_alone_gives_itself_up_and_two_open_the_breaker(
    name: str, fields: dict[str, object]
) -> None:
    off = {n: 0 for n in CircuitBreaker.model_fields if n.startswith("max_")}
    usual = IterationVerdict(is_failure=False, tasks_completed=1, output_tokens=1_000)
    mine = [failed("a", **fields)] * 3
    alone = after(usual, *mine, **{**off, name: 3})
    task_signal = alone.task_signal()
    assert alone.state is BreakerState.CLOSED
    assert task_signal is not None
    assert "3" in task_signal.cause_of_one or "far below" in task_signal.cause_of_one
    two = after(usual, *mine[:2], failed("b", **fields), **{**off, name: 3})
    assert (two.state, two.task_signal()) == (BreakerState.OPEN, None)
    assert two.opened_by
    assert two.half_open().opened_by == ""


def test_a_blocked_task_is_held_against_the_plan_once() -> None:
    breaker = after(*[failed("a", is_failure=False, error="")] * 4).without_blocked()
    assert breaker.stagnation_count == 1
    breaker = after(*[failed("a")] * 3, failed("b")).without_blocked()
    assert breaker.stagnation_count == 2


def test_a_trial_that_fails_says_with_what() -> None:
    tried = after(*[failed("")] * 3).half_open().record_iteration(failed("d"))
    assert tried.state is BreakerState.OPEN
    assert tried.opened_by == "the trial iteration failed as well: d: no"
