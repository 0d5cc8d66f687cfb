"""A project with a journal: what happened before the screen was opened."""

from collections.abc import Iterable
from datetime import datetime, timedelta
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.store.journal.journal import JournalWriter
from ralph_tui.store.last_prompt import write_last_prompt
from ralph_tui.store.project import Project
from tests.tui import feed
from tests.tui.feed import Script

STEP = 0.5
"""Seconds between two events."""


class Ticking:
    """A clock that goes on with every look."""

    def __init__(self, start: datetime = feed.START) -> None:
        self.now = start

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=STEP)
        return self.now


def two_iterations() -> list[Event]:
    """The first failed at the gate; the second completed, and the loop stopped."""
    done = ev.IterationFinished(
        iteration=4,
        task_id="demo-02",
        outcome=IterationOutcome.COMPLETE,
        reason="every check passed",
        cost_usd=0.24,
        tokens=91_000,
        context_tokens=88_200,
        seconds=58.2,
        files_changed=("src/slugs.py", "tests/test_slugs.py"),
    )
    again = [
        e.model_copy(update={"iteration": 4, "attempt": 2})
        if isinstance(e, ev.IterationStarted)
        else e
        for e in feed.work()
    ]
    return [
        *(
            e.model_copy(update={"context_tokens": 104_000})
            if isinstance(e, ev.IterationFinished)
            else e
            for e in feed.stopped()[:-2]
        ),
        *again,
        *feed.gate(feed.RECEIPTS_PASSED, passed=True),
        ev.TaskChanged(task=feed.task(2, TaskStatus.COMPLETE)),
        done,
        feed.stopped()[-1],
    ]


def write_journal(root: Path, events: Iterable[Event]) -> None:
    writer = JournalWriter(Project(root).layout.events, clock=Ticking())
    writer.write([writer.stamp(event) for event in events])
    writer.close()


def past_project(root: Path, events: Iterable[Event] | None = None) -> Script:
    root.mkdir(exist_ok=True)
    project = Project(root)
    project.create()
    write_journal(root, two_iterations() if events is None else events)
    specs = root / "specs"
    specs.mkdir()
    (specs / "slugs.md").write_text(
        "# Slugs\n\nTurn **titles** into `slugs`.\n\n## Acceptance Criteria\n\n"
        "- [ ] An empty title is an error\n- [x] Commas go\n\n```python\nslugify('a, b')\n```\n"
    )
    (root / "AGENTS.md").write_text("# Operations\n\nRun `uv run pytest`.\n")
    project.write_memory("# Session Memory - Iteration 3\n\n## Blockers/Issues\n- (none)\n")
    project.append_learning("pattern", "titles may hold any Unicode; fold before matching")
    write_last_prompt(
        project.layout, "You are Ralph.", "# Ralph Building Mode\n\nTask ID: demo-02\n"
    )
    return Script(root)
