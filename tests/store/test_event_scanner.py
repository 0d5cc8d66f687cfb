"""Finding the few events that matter among many."""

from pathlib import Path

import pytest

from ralph_tui.domain.events import (
    AssistantText,
    Event,
    IterationFinished,
    IterationStarted,
    LoopStarted,
    ToolFinished,
    ToolStarted,
    UsageReported,
)
from ralph_tui.domain.outcomes import IterationOutcome, ToolOutcome
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.metrics import metrics_of
from ralph_tui.domain.view.run_history import HISTORY_EVENTS, RunHistoryBuilder
from ralph_tui.present.sections.iteration_lines import RUNNING, iteration_blocks, look_of
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.store.journal import event_scanner, journal_library
from ralph_tui.store.journal.event_scanner import Scan
from ralph_tui.store.journal.journal import JournalWriter, read_events
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project
from tests.harness.measured import measure

TRAP = '{"type":"iteration_started"}'


def journal(root: Path, events: list[Event]) -> Path:
    root.mkdir(exist_ok=True)
    Project(root).create()
    path = Layout(root).events
    writer = JournalWriter(path)
    writer.write([writer.stamp(event) for event in events])
    writer.close()
    return path


def story(count: int) -> list[Event]:
    events: list[Event] = [LoopStarted(run_id="r", project="p", phase=Phase.BUILDING)]
    builds = ("uv sync", "npm ci")
    for number in range(1, count + 1):
        events += [
            IterationStarted(iteration=number, task_id=f"t{number}"),
            AssistantText(text=f"{TRAP} " * number),
            ToolStarted(tool_id=f"a{number}", name="X", input={"type": "iteration_started"}),
            ToolStarted(tool_id=f"b{number}", name="Bash", input={"command": builds[number % 2]}),
            ToolFinished(tool_id=f"b{number}", outcome=ToolOutcome.OK, output="uv build"),
            ToolFinished(tool_id=f"a{number}", outcome=ToolOutcome.OK, output="uv build " * 50),
            *(
                UsageReported(context_tokens=1, context_capacity=c)
                for c in (100_000, 100_000, 100_000 * number)
            ),
            IterationFinished(
                iteration=number,
                task_id=f"t{number}",
                outcome=IterationOutcome.COMPLETE,
                context_tokens=50_000,
            ),
        ]
    return events


@pytest.mark.parametrize("chunk", [7, 300, 1024 * 1024])
def test_a_scan_finds_what_a_whole_reading_finds(
    tmp_path: Path, chunk: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_scanner, "CHUNK", chunk)
    path = journal(tmp_path, story(5))
    found = list(Scan(path, HISTORY_EVENTS))
    whole = [(end, event) for end, event in read_events(path) if event.type in HISTORY_EVENTS]
    assert [(f.end, f.event) for f in found] == whole
    data = path.read_bytes()
    assert all(data[f.start : f.end].count(b"\n") == 1 for f in found)


def test_a_scan_goes_on_where_it_ended_and_leaves_an_unfinished_line(tmp_path: Path) -> None:
    path = journal(tmp_path, story(1))
    first = Scan(path, HISTORY_EVENTS)
    assert len(list(first)) == 10
    with path.open("ab") as file:
        file.write(b'{"seq":99,"type":"iteration_started","iteration":2,')
    again = Scan(path, HISTORY_EVENTS, start=first.end)
    assert list(again) == []
    with path.open("ab") as file:
        file.write(b'"task_id":"t2"}\n{"type":"iteration_started"}\n')
    later = Scan(path, HISTORY_EVENTS, start=again.end)
    assert [f.event.seq for f in later] == [99]
    assert later.skipped == 1


def test_nobody_waits_for_a_scan_that_is_given_up(tmp_path: Path) -> None:
    path = journal(tmp_path, story(3))

    def leave(_: int, __: int) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        list(Scan(path, ["no_such_type"], progress=leave))


def test_iterations_know_their_places_and_are_found(tmp_path: Path) -> None:
    path = journal(tmp_path, story(3))
    chronicler = RunHistoryBuilder()
    for found in Scan(path, HISTORY_EVENTS):
        chronicler.feed(*found)
    chronicle = chronicler.chronicle
    second = chronicle.find("2")
    assert second is not None
    events = JournalLibrary(tmp_path).events(second.start, second.end)
    assert [e.type for e in events][:: len(events) - 1] == [
        "iteration_started",
        "iteration_finished",
    ]
    assert {e.iteration for e in events if isinstance(e, IterationStarted)} == {2}
    assert chronicle.find(f"@{second.start}") == second
    last = chronicle.find("last")
    assert last is not None
    assert last.number == 3
    assert chronicle.find("r") == chronicle.iterations[0]
    assert chronicle.find("nothing") is None


def test_the_library_reads_only_what_is_new_and_notices_a_new_journal(tmp_path: Path) -> None:
    path = journal(tmp_path, story(2))
    library = JournalLibrary(tmp_path)
    assert len(library.refresh().iterations) == 2
    read: list[int] = []
    journal(tmp_path, [IterationStarted(iteration=3, task_id="t3")])
    known = library.refresh(lambda at, size: read.append(size - at))
    assert [i.number for i in known.iterations] == [1, 2, 3]
    assert known.iterations[-1].end == 0
    path.unlink()
    journal(tmp_path, story(1))
    assert len(library.refresh().iterations) == 1


def test_what_has_no_end_goes_on_only_while_a_loop_runs(tmp_path: Path) -> None:
    begun = (
        LoopStarted(run_id="r2", project="p", phase=Phase.BUILDING),
        IterationStarted(iteration=3, task_id="t3"),
    )
    journal(tmp_path, [*story(2)[:-1], *begun])
    live = JournalLibrary(tmp_path).refresh()
    assert [run.end > 0 for run in live.runs] == [True, False], (
        "another run began: the first is over"
    )
    assert look_of(live.iterations[-1]) is RUNNING
    killed = JournalLibrary(tmp_path, lambda: False).refresh()
    assert look_of(killed.iterations[-1]).word == "cut off"
    listed = iteration_blocks(killed.iterations, killed.runs, 60, UNICODE)
    assert "cut off" in "".join(span.text for span in listed[0].lines[0])


def test_metrics_of_a_scan_are_those_of_the_whole_journal(tmp_path: Path) -> None:
    shelf, events = JournalLibrary(tmp_path), story(4)
    path, found = Layout(tmp_path).events, metrics_of(shelf.refresh())
    for piece in (events[:4], events[4:5], events[5:16], events[16:]):  # a build goes on meanwhile
        journal(tmp_path, piece)
        found = metrics_of(shelf.refresh())
        assert found == measure(event for _, event in read_events(path))
    assert next(m for m in found if m.name == "context_efficiency").denominator == 1_000_000
    assert next(m for m in found if m.name == "build_reproducibility").denominator == 4
    path.unlink()
    journal(tmp_path, story(1))
    assert metrics_of(shelf.refresh()) == measure(story(1)), "the journal is another one"


def test_the_newest_iterations_are_known_before_the_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = journal(tmp_path, story(9))
    monkeypatch.setattr(journal_library, "RECENT", path.stat().st_size // 3)
    shelf = JournalLibrary(tmp_path)
    recent, whole = shelf.recent(), shelf.refresh()
    assert recent is not None
    assert [it.number for it in recent.iterations] == [8, 9]
    assert [it.start for it in recent.iterations] == [it.start for it in whole.iterations[-2:]]
    assert recent.iterations[-1].run_id == "r"
    assert [run.run_id for run in recent.runs] == ["r"]
    assert shelf.recent() is None, "nothing is left to be read"
