"""The seven metrics over small journals whose figures can be counted by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Question
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.breaker import CircuitBreaker
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.domain.view.metrics import Metric
from tests.harness.measured import measure

NAMES = [
    "task_completion_rate",
    "context_efficiency",
    "false_exit_rate",
    "stagnation_recovery",
    "cost_predictability",
    "user_intervention_rate",
    "build_reproducibility",
]


def metric(name: str, *events: ev.Event) -> Metric:
    return next(m for m in measure(events) if m.name == name)


def share(name: str, *events: ev.Event) -> tuple[float, float]:
    found = metric(name, *events)
    return found.numerator, found.denominator


def began(number: int, task_id: str) -> ev.IterationStarted:
    return ev.IterationStarted(iteration=number, task_id=task_id)


def ended(number: int, task_id: str, outcome: str, **figures: int) -> ev.IterationFinished:
    return ev.IterationFinished.model_validate(
        {"iteration": number, "task_id": task_id, "outcome": outcome, **figures}
    )


def attempt(number: int, task_id: str, outcome: str, **figures: int) -> tuple[ev.Event, ...]:
    return began(number, task_id), ended(number, task_id, outcome, **figures)


def changed(task_id: str, status: TaskStatus, estimate: int | None = None) -> ev.TaskChanged:
    return ev.TaskChanged(task=Task(id=task_id, status=status, estimated_tokens=estimate))


def receipt(command: str, exit_code: int | None) -> ev.GateChecked:
    status = ReceiptStatus.PASSED if exit_code == 0 else ReceiptStatus.FAILED
    found = Receipt(command=command, source="backpressure", status=status, exit_code=exit_code)
    return ev.GateChecked(task_id="a", receipt=found)


def question(answer: Answer | None = None) -> ev.QuestionAsked:
    asked = AskedQuestion(
        id="q",
        batch="b",
        phase=Phase.DISCOVERY,
        question=Question(question="?"),
        asked_at="2026-01-01T00:00:00Z",
        answer=answer,
    )
    return ev.QuestionAsked(question=asked)


def test_an_empty_journal_knows_nothing_and_says_why() -> None:
    found = measure(())
    assert [m.name for m in found] == NAMES
    assert all(m.value is None and m.denominator == 0 and m.unknown for m in found)
    assert all(m.definition and m.target for m in found)


def test_tasks_that_were_attempted_and_are_complete_now() -> None:
    events = (
        ev.PlanLoaded(tasks=(Task(id="a"), Task(id="b"), Task(id="never", status="complete"))),
        began(1, "planning"),
        began(2, "a"),
        began(3, "a"),
        changed("a", TaskStatus.COMPLETE),
        began(4, "b"),
        changed("b", TaskStatus.BLOCKED),
    )
    assert share("task_completion_rate", *events) == (1, 2)
    assert share("task_completion_rate", *events, changed("a", TaskStatus.PENDING)) == (0, 2)


def test_the_window_is_measured_by_the_capacity_of_its_time() -> None:
    events = (
        *attempt(0, "a", "complete", context_tokens=7),  # no capacity is known yet
        ev.LoopStarted(run_id="r", project="p", phase="building", context_capacity=200_000),
        *attempt(1, "a", "complete", context_tokens=80_000),
        ev.UsageReported(context_tokens=1, context_capacity=1_000_000),
        *attempt(2, "b", "complete", context_tokens=400_000),
        *attempt(3, "b", "failed", context_tokens=0),
    )
    assert share("context_efficiency", *events) == (480_000, 1_200_000)
    assert metric("context_efficiency", *events).value == pytest.approx(0.4)


def test_refused_claims_and_silent_stops_are_false_exits() -> None:
    events = (
        began(1, "a"),
        ev.GateFinished(task_id="a", passed=False),
        ev.GateFinished(task_id="a", passed=True),
        began(1, "validation"),
        ev.GateFinished(task_id="validation", passed=False),
        *attempt(2, "b", "incomplete"),
        *attempt(3, "b", "handed_off"),
    )
    assert share("false_exit_rate", *events) == (2, 3)
    phases = (*attempt(4, "planning", "incomplete"), *attempt(5, "planning", "complete"))
    assert share("false_exit_rate", *events, *phases) == (3, 5), "a phase is left without a claim"


def stagnation(count: int, threshold: int = 5) -> ev.BreakerChanged:
    breaker = CircuitBreaker(stagnation_count=count, max_stagnation_iterations=threshold)
    return ev.BreakerChanged(breaker=breaker)


def test_a_stagnation_counts_once_and_recovers_with_the_next_success() -> None:
    stuck = (stagnation(4), stagnation(5), stagnation(6), stagnation(0))
    done = ended(9, "a", "complete")
    assert share("stagnation_recovery", done, *stuck) == (0, 1)
    assert share("stagnation_recovery", *stuck, done, done) == (1, 1)
    assert share("stagnation_recovery", *stuck, done, *stuck) == (1, 2)
    anew = ended(10, "planning", "complete")
    assert share("stagnation_recovery", *stuck, anew) == (0, 1), "a new plan is no progress"
    assert share("stagnation_recovery", *stuck, anew, done) == (1, 1)
    assert share("stagnation_recovery", stagnation(9, threshold=0)) == (0, 0)


def test_only_complete_tasks_with_an_estimate_tell_of_cost() -> None:
    events = (
        changed("a", TaskStatus.COMPLETE, estimate=20_000),
        changed("b", TaskStatus.COMPLETE),
        changed("c", TaskStatus.BLOCKED, estimate=10_000),
        changed("d", TaskStatus.COMPLETE, estimate=10_000),  # by hand: nothing was spent
        *attempt(1, "a", "failed", cost_usd=1),
        *attempt(2, "a", "complete", cost_usd=2),
        *attempt(3, "b", "complete", cost_usd=9),
        *attempt(4, "c", "blocked", cost_usd=9),
    )
    assert metric("cost_predictability", *events).value is None, "one cost shows no spread"
    dear = (changed("e", TaskStatus.COMPLETE, estimate=20_000), began(5, "e"))
    paid = share("cost_predictability", *events, *dear, ended(5, "e", "complete", cost_usd=5))
    assert paid == (200, 800), "$3 and $5, where $4 are due"


def test_an_iteration_in_which_a_person_had_to_help_counts_once() -> None:
    events = (
        began(1, "discovery"),
        question(),
        question(),
        began(2, "a"),
        question(Answer(other="x", by="file")),
        began(3, "b"),
        ev.InjectionConsumed(ids=("i",), iteration=3),
        began(4, "c"),
    )
    assert share("user_intervention_rate", *events) == (1, 3), "discovery is there to ask"


def test_builds_are_syncs_and_builds_that_ran() -> None:
    other = ("npm ci", "npm run build", "yarn --frozen-lockfile", "cargo build", "mvn -q package")
    assert share("build_reproducibility", *(receipt(one, 0) for one in other)) == (5, 5)
    assert share("build_reproducibility", receipt("npm test", 0), receipt("go test", 0)) == (0, 0)
    bash = ev.ToolStarted(tool_id="1", name="Bash", input={"command": "uv sync --locked"})
    events = (
        receipt("uv sync --locked", 0),
        receipt("uv sync --locked", 2),
        receipt("uv sync", None),
        receipt("uv run pytest", 1),
        bash,
        ev.ToolFinished(tool_id="1", outcome="ok"),
        bash,
        ev.ToolFinished(tool_id="1", outcome="denied"),
        ev.ToolFinished(tool_id="2", outcome="error"),
    )
    assert share("build_reproducibility", *events) == (2, 3)


EVENTS = st.sampled_from(
    (
        began(1, "a"),
        began(2, "planning"),
        ended(1, "a", "complete", tokens=5, context_tokens=9),
        ended(2, "b", "incomplete"),
        changed("a", TaskStatus.COMPLETE, estimate=7),
        changed("a", TaskStatus.PENDING),
        ev.GateFinished(task_id="a", passed=False),
        ev.UsageReported(context_tokens=1, context_capacity=10),
        stagnation(5),
        stagnation(0),
        question(),
        receipt("uv sync", 0),
    )
)


@given(st.lists(EVENTS, max_size=30))
def test_shares_are_shares_whatever_happened(events: list[ev.Event]) -> None:
    for found in measure(events):
        assert found.numerator >= 0
        assert found.value is None if found.denominator == 0 else found.value is not None
        if found.name not in ("cost_predictability", "context_efficiency"):
            assert found.numerator <= found.denominator
