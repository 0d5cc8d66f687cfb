"""The folds take any sequence of events, keep their bounds, and say what happened."""

import pickle
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.validation_report import ValidationReport
from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus, ToolOutcome
from ralph_tui.domain.permissions import NETWORK
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.domain.run.context_budget import Zone
from ralph_tui.domain.verification.review import CriterionReview, Review
from ralph_tui.domain.verification.verification import (
    Inputs,
    Place,
    Receipt,
    ReceiptStatus,
    receipt_facts,
)
from ralph_tui.domain.view.loop_view import LoopView, RunState
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.domain.view.run_history import CallDecision
from ralph_tui.present.board.board_groups import Grouping
from ralph_tui.present.board.board_rows import board_line
from ralph_tui.present.sections.approval_parts import report_parts
from ralph_tui.present.sections.banner import banner_of
from ralph_tui.present.sections.guard_log import guard_parts
from ralph_tui.present.sections.header_lines import Facts, header_lines
from ralph_tui.present.sections.task_parts import task_parts
from ralph_tui.present.text import status_labels
from ralph_tui.present.text.glyphs import ASCII, UNICODE, choose
from ralph_tui.present.text.parts import parts_text
from ralph_tui.present.text.spans import Span, crop, plain, row, width_of, wrap
from ralph_tui.present.timeline import entry_lines
from ralph_tui.present.timeline.entries import CallEntry, TextEntry
from ralph_tui.present.timeline.entry_detail import detail_of
from ralph_tui.present.timeline.timeline import Timeline
from ralph_tui.tui.commands.registry import DEFAULT_KEYS
from ralph_tui.tui.host.bridge import Stopwatch
from tests.domain.strategies import events
from tests.tui import feed, waiting

TEXT = st.text(max_size=30)
IDS = st.sampled_from(["a", "b", "c", "[/]"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
TOOLS = st.sampled_from(
    ["Bash", "Read", "Write", "Edit", "MultiEdit", "Grep", "Glob", "Agent", "WebFetch", "Odd",
     "mcp__ralph__ralph_add_task", "mcp__other__thing", ""]
)  # fmt: skip
INPUTS = st.dictionaries(
    st.sampled_from(["command", "file_path", "content", "edits", "pattern", "old_string", "path",
                     "new_string", "prompt", "url", "task_id", "offset"]),
    JSON, max_size=4,
)  # fmt: skip
RELATED = {
    "task_id": IDS,
    "tool_id": IDS,
    "parent_id": IDS | st.none(),
    "name": TOOLS,
    "input": INPUTS,
}


@st.composite
def related(draw: st.DrawFn) -> ev.Event:
    """Any event, of one of a few tasks and calls."""
    event = draw(events)
    fields = RELATED.keys() & type(event).model_fields.keys()
    return event.model_copy(update={name: draw(RELATED[name]) for name in sorted(fields)})


DAMAGED = Review(criteria=(), verdicts=(CriterionReview(number=1, met=False, reason="no"),))
"""A review whose criteria a damaged journal lacks."""


@example([ev.ReviewFinished(task_id="a", review=DAMAGED)], 80, UNICODE)
@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(related(), max_size=25),
    st.integers(1, 200),
    st.sampled_from([UNICODE, ASCII]),
)
def test_any_events_can_be_folded_and_drawn_at_any_width(
    told: list[ev.Event], width: int, glyphs: Any
) -> None:
    timeline, view, watch = Timeline(max_entries=8, max_chars=50), LoopView(), Stopwatch()
    finished = None
    for event in told:
        timeline.feed(event)
        view = reduce(view, event)
        watch = watch.after(event, feed.NOW)
        finished = event if isinstance(event, ev.LoopFinished) else finished
    for number in range(timeline.first, timeline.end):
        entry = timeline.entry(number)
        assert entry is not None
        for index in range(entry_lines.height(entry, width)):
            line = entry_lines.line(entry, index, width, glyphs)
            if width >= 40 and not isinstance(entry, TextEntry):
                assert width_of(line) <= width
        assert detail_of(entry, glyphs).title is not None
    for item in Grouping(view.tasks):
        board_line(item, width, glyphs)
    for task in view.tasks.values():
        task_parts(task, view, None, glyphs)
    facts = Facts(view, "demo", "/home/dev/slug-demo", watch.elapsed(feed.NOW), DEFAULT_KEYS, None)
    for line in header_lines(facts, max(20, width), glyphs):
        assert width_of(line) <= max(20, width)
    if banner := banner_of(view, finished, "", glyphs=glyphs, keys=DEFAULT_KEYS):
        banner.lines(width)


@example("\t00", 2)
@example(" \u6f22", 2)
@given(st.text(max_size=200), st.integers(1, 60))
def test_wrap_fits_and_loses_no_words(text: str, width: int) -> None:
    folded = wrap(text, width)
    assert all(width_of([Span(line)]) <= max(2, width) for line in folded)
    from ralph_tui.domain.sanitize import inert

    assert "".join("".join(folded).split()) == "".join(inert(text).split())


@given(st.text(max_size=60), st.text(max_size=60), st.integers(4, 80))
def test_row_has_exactly_its_width(left: str, right: str, width: int) -> None:
    assert width_of(row([Span(left)], [Span(right)], width)) == width
    assert width_of(crop([Span(left), Span(right)], width)) <= width


@pytest.mark.long
@given(
    st.text("ab1 -*_`#>|~[](). \t\né世", min_size=1, max_size=30).filter(str.strip),
    st.integers(1, 40),
    st.integers(0, 3),
)
def test_the_height_of_a_text_is_that_of_its_lines(text: str, width: int, depth: int) -> None:
    entry = TextEntry(0, depth, text.strip())
    assert entry_lines.height(entry, width) == len(entry_lines.text_lines(entry, width, UNICODE))


def test_many_events_keep_their_bounds() -> None:
    timeline = Timeline()
    call: list[ev.Event] = [
        ev.ToolStarted(tool_id="t", name="Bash", input={"command": "x" * 50}),
        ev.ToolFinished(tool_id="t", outcome=ToolOutcome.OK, output="y" * 4_000),
        ev.TextDelta(text="some words that stream in "),
        ev.AssistantText(text="and become a block"),
    ]
    for _ in range(6_000):
        for event in call:
            timeline.feed(event)
    for _ in range(1_000):
        timeline.feed(call[2])
    assert timeline.end == 12_000
    assert len(timeline.entries) <= 11_000
    assert len(timeline.live_text) <= 4_000
    kept = sum(len(e.call.output) for e in timeline.entries if isinstance(e, CallEntry))
    assert 14_000_000 <= kept <= 16_000_000
    assert kept_bytes(timeline) <= 1_000_000
    last = timeline.entries[-2]
    assert isinstance(last, CallEntry)
    assert last.call.output


def test_sub_agents_are_nested_and_unknown_calls_still_appear() -> None:
    timeline = Timeline()
    for event in feed.running():
        timeline.feed(event)
    depths = {e.call.tool_id: e.depth for e in timeline.entries if isinstance(e, CallEntry)}
    assert depths["t3"] == 0
    assert depths["t4"] == depths["t5"] == 1
    timeline.feed(ev.ToolFinished(tool_id="lost", name="Read", outcome=ToolOutcome.OK))
    last = timeline.entries[-1]
    assert isinstance(last, CallEntry)
    assert last.call.name == "Read"


def test_questions_are_shown_as_questions_not_as_a_tool() -> None:
    asked = {"questions": [{"question": "Which colour?"}, {"question": "How many?"}, 7]}
    timeline = Timeline()
    timeline.feed(ev.ToolStarted(tool_id="q", name="AskUserQuestion", input=asked))
    timeline.feed(ev.ToolStarted(tool_id="p", name="ExitPlanMode", input={"plan": "# Plan\nAll"}))
    drawn = [plain(entry_lines.line(entry, 0, 100, UNICODE)) for entry in timeline.entries]
    assert "ask     Which colour? (and 1 more)" in drawn[0]
    assert "plan    # Plan" in drawn[1]


def test_finished_text_replaces_what_was_being_written() -> None:
    timeline = Timeline()
    timeline.feed(ev.TextDelta(text="half a sen"))
    assert timeline.live_text == "half a sen"
    timeline.feed(ev.AssistantText(text="half a sentence"))
    assert timeline.live_text == ""
    assert timeline.end == 1


def test_a_long_answer_is_cut_in_the_stream_and_whole_in_its_detail() -> None:
    timeline = Timeline()
    timeline.feed(ev.AssistantText(text="\n".join(f"line {n}" for n in range(500))))
    entry = timeline.entries[0]
    assert entry_lines.height(entry, 80) == entry_lines.MAX_TEXT_LINES
    assert "441 more lines" in plain(
        entry_lines.line(entry, entry_lines.MAX_TEXT_LINES - 1, 80, UNICODE)
    )
    assert "line 499" in detail_of(entry, UNICODE).text


def test_the_stopwatch_survives_a_clock_that_jumps_back() -> None:
    watch = Stopwatch().after(feed.started(), feed.NOW)
    assert watch.elapsed(feed.START - timedelta(hours=1)) == 0
    assert watch.elapsed(feed.NOW) == 84


@pytest.mark.parametrize(
    ("environ", "encoding", "unicode"),
    [
        ({}, "UTF-8", True),
        ({}, "utf8", True),
        ({}, "ANSI_X3.4-1968", False),
        ({}, "iso-8859-1", False),
        ({"RALPH_ASCII": "1"}, "utf-8", False),
        ({"RALPH_ASCII": "0"}, "utf-8", True),
    ],
)
def test_which_signs_are_used(environ: dict[str, str], encoding: str, unicode: bool) -> None:
    assert choose(environ, encoding).unicode is unicode


def test_the_ascii_set_is_ascii_and_every_sign_is_one_cell() -> None:
    for name, sign in vars(ASCII).items():
        assert sign.isascii(), name
        assert len(sign) == width_of([Span(vars(UNICODE)[name])]), name


def test_every_event_type_can_be_shown_or_is_known_to_be_silent() -> None:
    silent = {"usage_reported", "text_delta", "catching_up"}
    schema = ev.EVENT.json_schema()
    names = set(schema["discriminator"]["mapping"])
    shown = set()
    for told in (feed.running(), feed.paused(), feed.stopped(), feed.complete()):
        timeline = Timeline()
        for event in told:
            before = (timeline.end, len(timeline.changed))
            timeline.feed(event)
            if (timeline.end, len(timeline.changed)) != before:
                shown.add(event.type)
    table = {kind.model_fields["type"].default for kind in _noted()}
    assert names <= shown | silent | table


def test_every_state_and_every_end_has_a_look() -> None:
    assert set(status_labels.RUN) == set(RunState)
    assert set(status_labels.ZONE) == set(Zone)
    assert set(status_labels.BREAKER) == set(BreakerState)
    for status in LoopStatus:
        finished = ev.LoopFinished(status=status, reason="why", exit_code=1)
        timeline = Timeline()
        timeline.feed(finished)
        assert "why" in plain(entry_lines.line(timeline.entries[0], 0, 80, UNICODE))
        assert banner_of(LoopView(), finished, "", glyphs=UNICODE, keys=DEFAULT_KEYS)


def _noted() -> set[type[ev.Event]]:
    from ralph_tui.present.events import event_sentences

    return set(event_sentences.SENTENCES)


def test_a_report_shows_what_its_receipts_rest_on() -> None:
    receipt = Receipt(
        command="uv run pytest",
        source="backpressure",
        status=ReceiptStatus.PASSED,
        inputs=Inputs.ALLOWED,
        place=Place.HERE,
        changed=("tests/test_a.py (changed)",),
    )
    text = parts_text(report_parts(ValidationReport(checks=(receipt,)), UNICODE))
    for fact in receipt_facts(receipt):
        assert fact in text
    assert "tests/test_a.py (changed)" in text


def kept_bytes(timeline: Timeline) -> int:
    """Return what all that a timeline holds takes, once its reader has seen the changes."""
    timeline.changed.clear()
    return len(pickle.dumps(timeline))


def test_what_is_kept_of_calls_goes_with_them() -> None:
    timeline = Timeline(max_entries=100)
    sizes = []
    for number in range(4_000):
        name = f"t{number:04}"
        timeline.feed(ev.ToolStarted(tool_id=name, name="Bash", input={"command": "ls"}))
        timeline.feed(ev.ToolFinished(tool_id=name, outcome=ToolOutcome.OK, output="fine"))
        if number % 1_000 == 999:
            sizes.append(kept_bytes(timeline))
    assert len(timeline.entries) <= 110
    assert max(sizes) - min(sizes) < 1_000, sizes


def test_who_decided_about_a_call_is_told_and_a_host_is_no_call() -> None:
    timeline = Timeline()
    asked: list[ev.Event] = [
        ev.ToolStarted(tool_id="b", name="Bash", input={"command": "npm publish"}),
        ev.ToolAllowed(tool_id="b", name="Bash", rule="ask-first", part="npm publish", by="screen"),
        ev.ToolDenied(tool_id="u", name=NETWORK, rule="cli-permission", part="x.org", reason="no"),
    ]
    for event in asked:
        timeline.feed(event)
    shown = [plain(entry_lines.line(entry, 0, 100, UNICODE)) for entry in timeline.entries]
    assert "npm publish" in shown[0]
    assert "allowed on the screen" in shown[0]
    assert shown[1].split()[1:3] == ["reach", "x.org"]
    assert "Allowed once on the screen" in detail_of(timeline.entries[0], UNICODE).text
    call = {"tool_id": "c", "name": "Bash", "rule": "ask-first"}
    log = (
        CallDecision(0, ev.ToolAllowed(**call, part="ls", scope="again", reason="it is listed")),
        CallDecision(0, ev.ToolDenied(**call, reason="not today", by="terminal")),
    )
    told = parts_text(guard_parts(log, UNICODE))
    assert "Guard log: 1 denial, 1 allowed on request" in told
    assert "denied at the terminal: not today" in told
    assert "allowed earlier for the session" in told


@pytest.mark.parametrize(
    "end",
    [
        ev.IterationFinished(iteration=3, task_id="demo-02", outcome=IterationOutcome.INTERRUPTED),
        ev.LoopFinished(status=LoopStatus.INTERRUPTED, reason="Stopped.", exit_code=130),
        ev.LoopLost(pid=7),
    ],
)
def test_a_call_that_nobody_saw_end_was_interrupted(end: ev.Event) -> None:
    timeline = Timeline()
    for event in [*feed.running(), end]:
        timeline.feed(event)
    call = next(e for e in reversed(timeline.entries) if isinstance(e, CallEntry))
    shown = plain(entry_lines.line(call, 0, 80, UNICODE))
    assert shown.startswith("■ bash")
    assert shown.rstrip().endswith("interrupted")


@pytest.mark.parametrize("asks", ["permission", "question"])
def test_a_call_that_waits_for_the_person_says_so_and_that_time_is_not_its_own(asks: str) -> None:
    def at(seconds: int) -> datetime:
        return feed.NOW + timedelta(seconds=seconds)

    def shown() -> str:
        return plain(entry_lines.line(timeline.entries[0], 0, 80, UNICODE))

    may = waiting.wanting(waiting.PUBLISH.model_copy(update={"tool_id": "t1"}))
    asked = may if asks == "permission" else waiting.asked(waiting.LANGUAGE)
    name = "Bash" if asks == "permission" else "AskUserQuestion"
    timeline = Timeline()
    started = ev.ToolStarted(tool_id="t1", name=name, input={"command": "x"}, time=at(0))
    question = ev.QuestionAsked(question=asked, time=at(2))
    early = Timeline()
    for event in (question, started):  # whichever came first
        early.feed(event)
    assert "waits for you" in plain(entry_lines.line(early.entries[-1], 0, 80, UNICODE))
    timeline.feed(started)
    timeline.feed(question)
    timeline.tick(at(33))
    assert shown().startswith(UNICODE.asking)
    assert shown().rstrip().endswith("waits for you")
    assert "Waiting for your answer" in detail_of(timeline.entries[0], UNICODE).text
    timeline.feed(waiting.answered(asked).model_copy(update={"time": at(42)}))
    timeline.tick(at(45))
    assert shown().split()[-2:] == ["running", "5.0s"]
    timeline.feed(ev.ToolFinished(tool_id="t1", outcome=ToolOutcome.OK, seconds=47.5))
    assert shown().split()[-2:] == ["ok", "7.5s"]
