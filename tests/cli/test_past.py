"""What stands in a journal is told as if it had been told while it happened."""

import io
from pathlib import Path

import pytest

from ralph_tui.cli.printer import line_printer, show_past
from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.project_state import Phase
from ralph_tui.store.journal.journal import JournalWriter, read_events


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    """Two iterations whose costs are known from the reports between their calls alone."""
    told: list[ev.Event] = [ev.LoopStarted(run_id="r", project="p", phase=Phase.BUILDING)]
    for number in (1, 2):
        told.append(ev.IterationStarted(iteration=number, task_id="a"))
        for call in range(3):
            spent = CostMeter(total=number + call / 10)
            told += [
                ev.AssistantText(text='so I say "type":"usage_reported"'),
                ev.UsageReported(context_tokens=9, context_capacity=100, costs=spent),
                ev.ToolStarted(tool_id=f"{number}.{call}", name="Bash", input={"command": "ls"}),
                ev.UsageReported(context_tokens=9, context_capacity=100, costs=spent),
                ev.ToolFinished(tool_id=f"{number}.{call}", outcome=ev.ToolOutcome.OK),
            ]
        told.append(
            ev.IterationFinished(
                iteration=number, task_id="a", outcome=ev.IterationOutcome.COMPLETE
            )
        )
    told.append(ev.UsageReported(context_tokens=9, context_capacity=100, costs=CostMeter(total=7)))
    writer = JournalWriter(tmp_path / "events.jsonl")
    writer.write([writer.stamp(event) for event in told])
    writer.close()
    return tmp_path / "events.jsonl"


def test_the_past_reads_as_if_it_were_told_one_by_one(journal: Path) -> None:
    whole, short = io.StringIO(), io.StringIO()
    show = line_printer(whole)
    for _, event in read_events(journal):
        show(event)
    places = list(show_past(journal, 0, line_printer(short, flushed=False)))
    assert short.getvalue() == whole.getvalue()
    assert "$1.20 in total" in short.getvalue()
    assert "$2.20 in total" in short.getvalue()
    assert [end for end, _ in places] == [end for end, _ in read_events(journal)]
    assert [kind for _, kind in places] == [event.type for _, event in read_events(journal)]
