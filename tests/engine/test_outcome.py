"""Every last line of a run names its cause and what to do: `outcome.txt`."""

import errno
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from ralph_tui.agent.failures import ResultFacts, classify
from ralph_tui.domain.costs import CostLimits, CostMeter
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import RalphState
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.engine.context import cost_limit_reached
from ralph_tui.engine.core.outcome import End, failed_end, fatal_end, interrupted_end, nothing_ready
from ralph_tui.engine.limits.run_limits import open_breaker_end
from tests.harness.tables import Case, Line, Verb, each_case

BLOCKED = Task(
    id="parser", status=TaskStatus.BLOCKED, blockers=("3 attempts failed; the last: pytest is red",)
)
EVIDENCE = dict.fromkeys(
    ("failures", "stagnation", "same error", "denials", "output collapse", "tests only"),
    ("parser: pytest is red",),
)


def of_plan(line: Line, _: Path) -> str:
    return said(nothing_ready(ImplementationPlan(tasks=yaml.safe_load(line.rest))))


def of_breaker(line: Line, _: Path) -> str:
    given = {"state": BreakerState.OPEN, "evidence": EVIDENCE, **yaml.safe_load(line.rest)}
    breaker = CircuitBreaker.model_validate(given)
    signal = breaker.tripped()
    cause = signal.cause if signal else given["reason"]
    return said(open_breaker_end(breaker.opened(cause)))


def of_service(line: Line, _: Path) -> Iterator[str]:
    """What a failure of the CLI or the service says, and how it ends a run."""
    given = {"is_error": True, **yaml.safe_load(line.rest)}
    outage = given.pop("outage", "")
    failure = classify(ResultFacts.model_validate(given))
    assert failure is not None
    yield f"{failure.kind}: {failure.message} {failure.hint}"
    if end := fatal_end(failure, outage=outage):
        yield said(end)


def of_costs(line: Line, _: Path) -> str:
    limits = CostLimits.model_validate(yaml.safe_load(line.rest))
    reached = cost_limit_reached(CostMeter(iteration=2.5, session=50.5, total=200.5), limits)
    assert reached is not None
    return f"{'the run' if reached.ends_run else 'the iteration'}: {said(reached.end)}"


def said(end: End) -> str:
    assert len(end.reason) < 400
    assert end.hint.endswith(".")
    return f"[{end.exit_code}] {end.reason} | {end.hint}"


VERBS: dict[str, Verb] = {
    "plan": of_plan,
    "breaker": of_breaker,
    "service": of_service,
    "costs": of_costs,
    "stop": lambda *_: said(interrupted_end(RalphState())),
    "disk": lambda *_: said(failed_end(OSError(errno.ENOSPC, "full", "/x"))),
}


@each_case(__file__)
def test_each_end(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play(VERBS, tmp_path, pytestconfig)


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
