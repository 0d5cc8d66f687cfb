"""Every signal of the breaker obeys its setting, says n/threshold and shows what counted."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker, IterationVerdict
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.run.runner import fresh_breaker

USUAL = IterationVerdict(is_failure=False, tasks_completed=1, output_tokens=1_000, evidence="z: ok")

SIGNALS: Mapping[str, tuple[str, IterationVerdict, str]] = {
    "circuit_breaker.max_consecutive_failures": (
        "failures", IterationVerdict(is_failure=True, evidence="a: no"), "a: no",
    ),
    "circuit_breaker.max_stagnation_iterations": (
        "stagnation", IterationVerdict(is_failure=False, evidence="a: no"), "a: no",
    ),
    "circuit_breaker.max_same_error": (
        "same error", IterationVerdict(is_failure=True, error="no", evidence="a: no"), "a: no",
    ),
    "circuit_breaker.max_denied": (
        "denials", IterationVerdict(is_failure=True, denied="git push", evidence="a: no"),
        "a: no (denied: git push)",
    ),
    "circuit_breaker.max_tests_only": (
        "tests only", IterationVerdict(is_failure=True, tests_only=True, evidence="a: no"), "a: no",
    ),
    "safety.cost_limits.total": (
        "cost", IterationVerdict(is_failure=False, cost_usd=1.0), "",
    ),
}  # fmt: skip
"""Each setting, its signal, what counts for it, and the evidence that is kept."""


def configured(home: Path, values: Mapping[str, object]) -> CircuitBreaker:
    off = dict.fromkeys(SIGNALS, 0)
    settings = load_settings(home, overrides={**off, **values}, environ={}, home=home)
    return fresh_breaker(CircuitBreaker(), settings, RunRequest()).record_iteration(USUAL)


@pytest.mark.parametrize("key", SIGNALS)
def test_each_signal_opens_at_its_setting_and_is_off_at_zero(key: str, tmp_path: Path) -> None:
    name, counts, evidence = SIGNALS[key]
    breaker, off = configured(tmp_path, {key: 2}), configured(tmp_path, {})
    for state in (BreakerState.CLOSED, BreakerState.OPEN):
        breaker = breaker.record_iteration(counts)
        off = off.record_iteration(counts)
        assert breaker.state is state
    tripped = breaker.tripped()
    assert tripped is not None
    assert (tripped.name, tripped.count, tripped.threshold) == (name, 2, 2)
    assert tripped.evidence == ((evidence, evidence) if evidence else ())
    assert off.state is BreakerState.CLOSED


def test_another_denied_command_begins_anew(tmp_path: Path) -> None:
    breaker = configured(tmp_path, {"circuit_breaker.max_denied": 2})
    for command in ("git push", "git commit", "git push"):
        verdict = IterationVerdict(is_failure=True, denied=command, evidence="a: no")
        breaker = breaker.record_iteration(verdict)
    assert (breaker.denied_count, breaker.state) == (1, BreakerState.CLOSED)
    assert breaker.evidence["denials"] == ("a: no (denied: git push)",)


def test_a_habit_that_is_denied_in_each_completed_task_costs_nothing(tmp_path: Path) -> None:
    breaker = configured(tmp_path, {"circuit_breaker.max_denied": 2})
    for _ in range(8):
        for done in (0, 1):
            verdict = IterationVerdict(
                is_failure=not done, denied="git commit", tasks_completed=done
            )
            breaker = breaker.record_iteration(verdict)
    assert breaker.state is BreakerState.CLOSED


@pytest.mark.parametrize(
    ("before", "why"),
    [
        (CircuitBreaker(failure_count=1), ""),
        (CircuitBreaker(reset_reason="the network is back"), "the network is back"),
        (CircuitBreaker(state=BreakerState.OPEN), "a new run started"),
        (CircuitBreaker(state=BreakerState.HALF_OPEN), "a new run started"),
    ],
)
def test_a_new_run_names_itself_only_where_it_resets_what_had_tripped(
    before: CircuitBreaker, why: str
) -> None:
    begun = fresh_breaker(before, Settings(), RunRequest())
    assert begun.reset_reason == why
    assert (begun.state, begun.failure_count) == (BreakerState.CLOSED, 0)
