"""A metric is a plain sentence, and only what has a goal and was counted often enough is judged."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.metrics import Metric
from ralph_tui.present.sections.history_totals import ENOUGH, meets_goal, metric_parts, metric_words
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.spans import Tone, plain
from tests.harness.measured import measure


def metric(target: str, share: float = 0, of: float = 100) -> Metric:
    return Metric(
        name="m", title="M", target=target, definition="d", numerator=share, denominator=of
    )


@pytest.mark.parametrize(
    ("target", "share", "met"),
    [
        *(("> 90 %", 91, True), ("> 90 %", 90, False), ("< 5 %", 4, True), ("< 5 %", 50, False)),
        *(("100 %", 100, True), ("100 %", 99, False)),
    ],
)
def test_a_metric_is_judged_by_its_goal(target: str, share: float, met: bool | None) -> None:
    assert meets_goal(metric(target, share)) is met
    assert meets_goal(metric(target, share, of=0)) is None


@given(st.integers(1, 200), st.data())
def test_nothing_misses_a_rate_before_enough_was_counted(of: int, data: st.DataObject) -> None:
    met = meets_goal(metric("< 5 %", data.draw(st.integers(0, of)), of))
    assert met is not False or of >= ENOUGH


def test_a_flawless_run_has_no_warning() -> None:
    begun = ev.IterationStarted(iteration=1, task_id="a", title="A", attempt=1)
    ended = ev.IterationFinished(
        iteration=1,
        task_id="a",
        outcome=IterationOutcome.COMPLETE,
        reason="checked",
        tokens=900,
        context_tokens=9_000,
    )
    done = Task(id="a", status=TaskStatus.COMPLETE, estimated_tokens=50_000)
    events = (
        ev.LoopStarted(
            context_capacity=200_000, run_id="r", model="m", project="p", phase=Phase.BUILDING
        ),
        begun,
        ev.InjectionConsumed(iteration=1, ids=("x",)),
        ev.TaskChanged(task=done),
        ev.GateFinished(task_id="a", passed=True),
        ended,
    )
    found = measure(events)
    lines = [line for part in metric_parts(found, UNICODE) for line in part.lines]
    assert not [span for line in lines for span in line if span.tone is Tone.WARN]
    told = {one.name: metric_words(one) for one in found}
    assert told["user_intervention_rate"].value == "100 %"
    assert told["user_intervention_rate"].verdict == "too few to judge"
    assert told["cost_predictability"].verdict == ""
    assert told["false_exit_rate"].counted == "0 of 1 claim"
    text = "\n".join(plain(line) for line in lines)
    assert text.count("meets the goal") == 3
    assert "Goal: below 5 %" in text
