"""No face says a stored value as it is stored: the stream and the lines of a run without a screen."""

import re
from collections.abc import Iterator

import pytest

from ralph_tui.agent.failures import ResultFacts, classify
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import FailureClass, IterationOutcome, LoopStatus
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.spans import plain
from ralph_tui.present.timeline import entry_lines
from ralph_tui.present.timeline.entry_detail import detail_of
from ralph_tui.present.timeline.event_lines import EventPrinter
from ralph_tui.present.timeline.timeline import Timeline


def _told() -> Iterator[ev.Event]:
    for status in LoopStatus:
        yield ev.LoopFinished(status=status, reason="why", exit_code=1)
    for number, outcome in enumerate(IterationOutcome, 1):
        yield ev.IterationFinished(iteration=number, task_id="a", outcome=outcome)
    for failure in FailureClass:
        yield ev.AgentFailed(failure=failure, message="It did not go.")
    for kind in ApprovalKind:
        yield ev.ApprovalRequested(kind=kind, summary="3 of 3")
        yield ev.ApprovalGiven(kind=kind, approved=True, by="screen")
    for state in BreakerState:
        yield ev.BreakerChanged(breaker=CircuitBreaker(state=state, failure_count=1), reason="why")
    for done in TaskStatus:
        yield ev.TaskChanged(task=Task(id="a", status=done), reason="why")
    for phase in Phase:
        yield ev.PhaseChanged(phase=phase, reason="why")
    for ruled in ReceiptStatus:
        receipt = Receipt(command="make", source="criterion", status=ruled)
        yield ev.GateChecked(task_id="a", receipt=receipt)
    yield ev.GateStarted(task_id="validation", commands=("make",))
    yield ev.GateFinished(task_id="validation", passed=True)
    yield ev.StepStarted(step="docs", kind="command", what="make docs", attempt=2)
    for ended in StepOutcome:
        yield ev.StepFinished(step="docs", kind="command", outcome=ended, reason="why")
    yield ev.LearningRecorded(category="PATTERN", text="fold first")
    yield ev.HandoffFinished(path="MEMORY.md", summarised=False)


EVENTS = tuple(_told())
INTERNAL = re.compile(
    r"\w_\w|\b(?:recovery|cli|setup|unknown|Python|PATTERN|validation is claimed)\b"
)


@pytest.mark.parametrize("event", EVENTS, ids=lambda event: event.type)
def test_what_is_told_is_in_words(event: ev.Event) -> None:
    timeline = Timeline()
    timeline.feed(event)
    told = [line.text for line in EventPrinter().lines(event)]
    for entry in timeline.entries:
        rows = range(entry_lines.height(entry, 120))
        told += [plain(entry_lines.line(entry, row, 120, UNICODE)) for row in rows]
        told.append(detail_of(entry, UNICODE).title)
    assert not [text for text in told if INTERNAL.search(text)]


@pytest.mark.parametrize(
    "facts",
    [
        {"subtype": "error_max_turns"},
        {"subtype": "error_max_budget_usd"},
        {"subtype": "success", "is_error": True, "assistant_error": "rate_limit"},
        {"subtype": "success", "is_error": True, "terminal_reason": "prompt_too_long"},
    ],
)
def test_a_failure_without_words_gets_some(facts: dict[str, object]) -> None:
    failure = classify(ResultFacts.model_validate(facts))
    assert failure is not None
    assert not INTERNAL.search(failure.message)
    assert failure.message.endswith(".")
