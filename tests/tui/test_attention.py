"""What waits for the person is what the header and the title say first."""

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.present.sections.header_lines import Facts, header_lines, title_of
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.spans import plain
from ralph_tui.present.timeline.timeline import Timeline
from ralph_tui.tui.commands.registry import DEFAULT_KEYS
from ralph_tui.tui.data.attention import Attention, pending_decision
from tests.tui import feed, waiting


def view_of(*events: ev.Event) -> LoopView:
    view = LoopView()
    for event in events:
        view = reduce(view, event)
    return view


def header(view: LoopView, width: int = 120) -> list[str]:
    facts = Facts(view, "", "/home/dev/slug-demo", 84, DEFAULT_KEYS, None)
    return [plain(line) for line in header_lines(facts, width, UNICODE)]


@pytest.mark.parametrize(
    ("halt", "word"),
    [(ev.PauseRequested(now=False), "pausing"), (ev.StopRequested(now=False), "stopping")],
)
def test_who_is_waited_for_is_said_also_while_it_is_about_to_halt(
    halt: ev.Event, word: str
) -> None:
    asked = waiting.wanting()
    waits = view_of(*feed.running(), halt, ev.QuestionAsked(question=asked))
    assert title_of(waits, "x", UNICODE) == "? slug-demo waiting for you - ralph"
    assert "waiting for you" in header(waits)[0]
    goes_on = reduce(waits, waiting.answered(asked))
    assert word in title_of(goes_on, "x", UNICODE)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (
            waiting.wanting(waiting.PUBLISH.model_copy(update={"argument": "npm publish"})),
            "task demo-02: allow `npm publish`?",
        ),
        (
            waiting.wanting(
                waiting.PUBLISH.model_copy(update={"argument": "cp a b", "check": True})
            ),
            "task demo-02: allow the check `cp a b`?",
        ),
        (waiting.asked(waiting.LANGUAGE), "discovery asks: Which language"),
    ],
)
def test_a_narrow_header_says_what_is_asked_for(asked: AskedQuestion, said: str) -> None:
    view = view_of(*feed.running(), ev.QuestionAsked(question=asked))
    assert said in header(view, 80)[1]


def test_what_was_said_in_another_iteration_is_not_said_before_a_question() -> None:
    timeline = Timeline()
    first = ev.IterationStarted(iteration=1, task_id="a", title="a")
    for event in (first, ev.AssistantText(text="Then I do not.")):
        timeline.feed(event)
    assert timeline.last_text() == "Then I do not."
    timeline.feed(first.model_copy(update={"iteration": 2}))
    assert timeline.last_text() == ""
    timeline.feed(ev.AssistantText(text="A copy first."))
    assert timeline.last_text() == "A copy first."


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        (ApprovalKind.RECOVERY, "Breaker open: try one more iteration?"),
        (ApprovalKind.LIMIT, "Usage limit: wait for the reset?"),
        (ApprovalKind.PLAN, "Review the plan"),
    ],
)
def test_a_decision_is_called_by_what_is_asked(kind: ApprovalKind, said: str) -> None:
    view = view_of(*feed.running(), ev.ApprovalRequested(kind=kind, summary="the breaker is open"))
    assert said in header(view, 80)[1]


def test_nobody_is_called_again_where_an_answer_could_not_be_written() -> None:
    asked, attention = waiting.wanting(), Attention()
    view = view_of(ev.QuestionAsked(question=asked))
    seen = (pending_decision(view, done) for done in ((), (asked.id,), ()))
    assert [attention.is_new(pending) for pending in seen] == [True, False, False]
