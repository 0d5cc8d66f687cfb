"""A journal of many events, and what reading it costs: its newest iterations, and all of them with the metrics."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pydantic_core import from_json

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome, ToolOutcome
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.store.io.strict_json import json_text
from ralph_tui.store.journal.journal_library import JournalLibrary
from tests.harness.projects import make_project

CALLS = 24
"""Of an iteration, each with a text before it and a report on usage."""


def project(tmp: Path, events: int) -> Path:
    root = make_project(tmp)
    with (root / ".ralph" / "events.jsonl").open("w", encoding="utf-8") as journal:
        for number, event in enumerate(_events(events), 1):
            journal.write(json_text(event.model_copy(update={"seq": number})) + "\n")
    return root


def _events(count: int) -> Iterator[ev.Event]:
    yield ev.LoopStarted(run_id="r", project="big", phase=Phase.BUILDING)
    for number in range(1, count // (4 * CALLS + 2) + 1):
        yield ev.IterationStarted(iteration=number, task_id=f"task-{number}", title="A piece")
        for call in range(CALLS):
            name, usage = f"{number}.{call}", TokenUsage(input_tokens=1_000, output_tokens=10)
            command = "uv run pytest -q" if call else "uv sync"
            yield ev.AssistantText(text="I look at the code first, then I change it. " * 4)
            yield ev.UsageReported(context_tokens=call, context_capacity=200_000, usage=usage)
            yield ev.ToolStarted(tool_id=name, name="Bash", input={"command": command})
            yield ev.ToolFinished(tool_id=name, outcome=ToolOutcome.OK, output="fine " * 60)
        yield ev.IterationFinished(
            iteration=number, task_id=f"task-{number}", outcome=IterationOutcome.COMPLETE
        )


def floor(root: Path) -> float:
    """Seconds to read every line as JSON and do nothing with it."""
    path = root / ".ralph" / "events.jsonl"

    def read() -> None:
        with path.open("rb") as file:
            for line in file:
                from_json(line)

    return _cpu(read)


def newest(root: Path) -> float:
    return _cpu(JournalLibrary(root).recent)


def whole(root: Path) -> float:
    return _cpu(JournalLibrary(root).refresh)


def _cpu(work: Callable[[], object]) -> float:
    """Processor seconds: others on the machine count for both sides alike."""
    began = time.process_time()
    work()
    return time.process_time() - began
