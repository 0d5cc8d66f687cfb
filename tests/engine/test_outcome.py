"""Every last line of a run names its cause and what to do."""

import errno

import pytest

from ralph_tui.agent.failures import ResultFacts, classify
from ralph_tui.domain.costs import CostLevel, CostLimits, CostMeter
from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.outcomes import FailureClass
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import RalphState
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.engine.core.outcome import (
    End,
    failed_end,
    fatal_end,
    interrupted_end,
    nothing_ready,
)
from ralph_tui.engine.core.ports import Failure
from ralph_tui.engine.limits.cost_limits import cost_limit_reached
from ralph_tui.engine.limits.open_breaker import open_breaker_end

BLOCKED = Task(
    id="parser", status=TaskStatus.BLOCKED, blockers=("3 attempts failed; the last: pytest is red",)
)
WAITING = Task(id="printer", dependencies=("parser",))
HELD = Task(id="docs", held=True)


def ended(failure: Failure | None, outage: str = "") -> End:
    end = fatal_end(failure, outage=outage)
    assert end is not None
    return end


def service(text: str, **facts: object) -> Failure | None:
    return classify(
        ResultFacts.model_validate({"is_error": True, "subtype": "success", "text": text, **facts})
    )


def opened(opened_by: str = "", **counts: object) -> End:
    breaker = CircuitBreaker.model_validate({"state": BreakerState.OPEN, **counts})
    signal = breaker.tripped()
    return open_breaker_end(breaker.opened(signal.cause if signal else opened_by))


EVIDENCE = dict.fromkeys(
    ("failures", "stagnation", "same error", "denials", "output collapse", "tests only"),
    ("parser: pytest is red",),
)

ENDS: dict[str, tuple[End, tuple[str, ...], str]] = {
    "blocked": (
        nothing_ready(ImplementationPlan(tasks=(BLOCKED, WAITING))),
        ("parser", "pytest is red", "printer"),
        "ralph retry parser",
    ),
    "on hold": (nothing_ready(ImplementationPlan(tasks=(HELD,))), ("docs",), "ralph release docs"),
    "failures": (
        opened(failure_count=3, evidence=EVIDENCE),
        ("3 failures in a row", "pytest is red"),
        "run again",
    ),
    "stagnation": (
        opened(stagnation_count=5, evidence=EVIDENCE),
        ("5 iterations", "no task", "pytest is red"),
        "ralph edit",
    ),
    "same error": (opened(same_error_count=5, evidence=EVIDENCE), ("same way",), "run again"),
    "denials": (opened(denied_count=5, evidence=EVIDENCE), ("denied",), "ralph edit"),
    "collapse": (opened(collapse_count=3, evidence=EVIDENCE), ("output",), "models.primary"),
    "tests only": (opened(tests_only_count=3, evidence=EVIDENCE), ("tests",), "ralph edit"),
    "refused claims": (opened(refused_claims_count=3), ("rejected 3 claims",), "run again"),
    "cost in the breaker": (opened(total_cost=200), ("$200.00",), "safety.cost_limits.total"),
    "a failed trial": (
        opened(opened_by="the trial iteration failed as well: parser: pytest is red"),
        ("trial", "pytest is red"),
        "run again",
    ),
    "an outage": (
        ended(service("API Error: 529 Overloaded", api_status=529), "2h 00m"),
        ("2h 00m", "529"),
        "run again",
    ),
    "a portal": (
        ended(service("API Error: malformed response (HTTP 200), is an HTML page")),
        ("sign-in page", "HTML"),
        "Sign in",
    ),
    "no login": (
        ended(service("Not logged in", assistant_error="authentication_failed")),
        ("Not logged in",),
        "ANTHROPIC_API_KEY",
    ),
    "no credit": (
        ended(service("Credit balance is too low", assistant_error="billing_error")),
        ("Credit",),
        "credit",
    ),
    "usage limit": (
        ended(service("You've hit your 5-hour limit", rejected_until=2_000_000_000)),
        ("5-hour",),
        "Run again",
    ),
    "a wrong model": (
        ended(service("There's an issue with the model", assistant_error="model_not_found")),
        ("model",),
        "models.primary",
    ),
    "a stop": (interrupted_end(RalphState()), ("stopped on request",), "Run again"),
    "a full disk": (
        failed_end(OSError(errno.ENOSPC, "full", "/x")),
        ("disk is full",),
        "Free",
    ),
}


@pytest.mark.parametrize("name", ENDS)
def test_each_end_names_its_cause_and_what_to_do(name: str) -> None:
    end, causes, way = ENDS[name]
    for cause in causes:
        assert cause in end.reason
    assert way in end.hint
    assert len(end.reason) < 400
    assert end.hint.endswith(".")


@pytest.mark.parametrize("kind", FailureClass)
def test_each_failure_says_what_to_do(kind: FailureClass) -> None:
    facts = {
        FailureClass.BUDGET: {"subtype": "error_max_budget_usd"},
        FailureClass.MAX_TURNS: {"subtype": "error_max_turns"},
        FailureClass.CONTEXT_FULL: {"is_error": True, "terminal_reason": "prompt_too_long"},
        FailureClass.REFUSAL: {"is_error": True, "stop_reason": "refusal"},
        FailureClass.UNKNOWN: {"is_error": True, "text": "nobody knows"},
    }.get(kind)
    failure = classify(ResultFacts.model_validate(facts)) if facts else None
    if failure is None:
        return  # is in the table above, or has words of its own
    assert failure.kind is kind
    assert failure.message
    assert failure.hint


@pytest.mark.parametrize(
    ("limits", "level"),
    [
        (CostLimits(per_iteration=2, per_session=0, total=0), CostLevel.ITERATION),
        (CostLimits(per_iteration=2, per_session=50, total=0), CostLevel.SESSION),
        (CostLimits(per_iteration=2, per_session=50, total=200), CostLevel.TOTAL),
    ],
)
def test_the_widest_cost_limit_names_what_was_spent_of_what(
    limits: CostLimits, level: CostLevel
) -> None:
    reached = cost_limit_reached(CostMeter(iteration=2.5, session=50.5, total=200.5), limits)
    assert reached is not None
    assert reached.level is level
    assert reached.reason.endswith(f"${reached.limit:.0f}.50 of ${reached.limit:.2f}")
    assert reached.ends_run is (level is not CostLevel.ITERATION)
    assert reached.end.exit_code is ExitCode.STOPPED


def test_no_cost_limit_is_reached_below_it_or_without_one() -> None:
    spent = CostMeter(iteration=1.99, session=1.99, total=1.99)
    assert cost_limit_reached(spent, CostLimits(per_iteration=2)) is None
    off = CostLimits(per_iteration=0, per_session=0, total=0)
    assert cost_limit_reached(CostMeter(total=1e6), off) is None


def test_an_end_names_only_the_first_tasks_of_many() -> None:
    tasks = tuple(BLOCKED.model_copy(update={"id": f"t{n}"}) for n in range(40))
    end = nothing_ready(ImplementationPlan(tasks=tasks))
    assert "40 tasks blocked" in end.reason
    assert "and 37 more" in end.reason
    assert len(end.reason) < 600
