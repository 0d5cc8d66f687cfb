"""What line mode says, as a person reads it."""

import re
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import EVENT
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.view.run_history import RunHistoryBuilder
from ralph_tui.present.events.event_sentences import SENTENCES
from ralph_tui.present.text.glyphs import ASCII
from ralph_tui.present.timeline.event_lines import LIMIT, EventPrinter
from ralph_tui.present.timeline.timeline import Timeline
from tests.cli.recorded import COMPLETE, whole_run

WHOLE_RUN = Path(__file__).parents[1] / "cli/whole_run.txt"
LINES = Path(__file__).with_name("lines.txt")


def told(*events: ev.Event) -> list[str]:
    printer = EventPrinter(ASCII)
    return [str(line) for event in events for line in printer.lines(event)]


def test_a_whole_run_reads_as_written_beside_it() -> None:
    assert "\n".join(told(*whole_run(), COMPLETE)) + "\n" == WHOLE_RUN.read_text(encoding="utf-8")


def test_each_event_is_said_as_written_below_it(pytestconfig: pytest.Config) -> None:
    before = LINES.read_text(encoding="utf-8")
    printer, now = EventPrinter(ASCII), ""
    for line in before.splitlines():
        if line.startswith(" "):
            continue
        now += f"{line}\n"
        if line.startswith("#"):
            printer = EventPrinter(ASCII)
        elif line:
            said = map(str, printer.lines(EVENT.validate_json(line)))
            now += "".join(f"    {text}\n" for text in said)
    if pytestconfig.option.update_snapshots:
        LINES.write_text(now, encoding="utf-8")
    assert now == LINES.read_text(encoding="utf-8")
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\u2028]", now)


def test_verbose_lines_have_what_was_printed_and_no_more_than_its_end() -> None:
    call = ev.ToolStarted(tool_id="t", name="Bash", input={"command": "make"})
    printed = "\n".join(f"line {number} \x1b[31m" for number in range(1, 51))
    ended = ev.ToolFinished(tool_id="t", outcome="ok", output=printed, seconds=1.0)
    assert len(told(call, ended)) == 1
    printer = EventPrinter(ASCII, verbose=True)
    lines = [str(line) for event in (call, ended) for line in printer.lines(event)]
    assert lines[0] == told(call, ended)[0]
    assert lines[1] == "    10 earlier lines not shown:"
    assert [line.strip() for line in lines[2:]] == [f"line {n}" for n in range(11, 51)]


@pytest.mark.parametrize("status", LoopStatus)
def test_every_ending_has_a_word(status: LoopStatus) -> None:
    assert told(COMPLETE.model_copy(update={"status": status}))[-1].startswith("ralph: ")


def test_every_event_is_told_or_left_out_on_purpose() -> None:
    untold = {kind for kind in ev.KINDS if not kind.transient} - SENTENCES.keys()
    own = {name.removeprefix("on_") for name in vars(EventPrinter) if name.startswith("on_")}
    names = {kind.model_fields["type"].default: kind for kind in ev.KINDS}
    assert untold - {names[name] for name in own} == {ev.UsageReported}
    for folds in (Timeline, RunHistoryBuilder):  # a handler is named after its event
        assert {name[3:] for name in vars(folds) if name.startswith("on_")} <= names.keys()


def test_a_long_line_is_cut() -> None:
    (line,) = told(ev.Notice(text="word " * 100_000))
    assert len(line) == LIMIT
