"""Runs a short history of store operations and dies at the Nth system call that touches the disk.

Started as a process of its own: `python -m tests.faults.crasher DIRECTORY`. For every N it forks a child
that dies there, looks at what the child left with fresh eyes, and prints one JSON line.
"""

import json
import os
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.state import Injection, SessionRecord
from ralph_tui.store import recovery, swap
from ralph_tui.store.journal import JournalWriter, read_events
from ralph_tui.store.project import Documents, Project

CALLS = ("open", "write", "fsync", "replace", "rename", "link", "unlink", "mkdir", "ftruncate")
NOW = datetime(2026, 1, 26, 14, 30, tzinfo=UTC)
KILLED = 86
Step = Callable[[Project], object]


def plan(documents: Documents) -> Documents:
    made = ImplementationPlan(tasks=(Task(id="a"), Task(id="b", dependencies=("a",))))
    return documents.model_copy(update={"plan": made})


def guide(documents: Documents) -> Documents:
    given = Injection(timestamp=NOW, guidance="be careful", id="one")
    return documents.model_copy(update={"pending": (given,)})


def work(documents: Documents) -> Documents:
    """Three files in one step, as the loop does it when it begins an iteration."""
    state = documents.state.model_copy(update={"iteration_count": 1})
    started = documents.plan.with_task("a", status=TaskStatus.IN_PROGRESS)
    return documents.model_copy(update={"state": state, "plan": started, "pending": ()})


def finish(documents: Documents) -> Documents:
    state = documents.state.model_copy(update={"total_cost_usd": 1.25})
    done = documents.plan.with_task("a", status=TaskStatus.COMPLETE)
    return documents.model_copy(update={"state": state, "plan": done})


def tell(*texts: str) -> Step:
    def step(project: Project) -> None:
        writer = JournalWriter(project.layout.events)
        writer.write([writer.stamp(ev.Notice(text=text)) for text in texts])
        writer.close()

    return step


STEPS: tuple[Step, ...] = (
    lambda project: project.create(),
    lambda project: project.transact(plan),
    lambda project: project.transact(guide),
    tell("one", "two"),
    lambda project: project.transact(work),
    lambda project: project.write_active_memory("remember"),
    tell("three"),
    lambda project: project.transact(finish),
    lambda project: project.archive_session(SessionRecord(session_id="s", iteration=1)),
)
TOLD = ["one", "two", "three"]


class Death:
    """Ends the process at the Nth call, or in the middle of it when it writes."""

    def __init__(self, nth: int, *, halfway: bool) -> None:
        self.left, self.halfway = nth, halfway
        for name in CALLS:
            setattr(os, name, self._deadly(name, getattr(os, name)))
        # The exchange is a call of its own, past `os`.
        swap.exchange = self._deadly("replace", swap.exchange)

    def _deadly(self, name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == 0:
                if self.halfway and name == "write":
                    real(args[0], bytes(args[1])[: len(args[1]) // 2])
                os._exit(KILLED + CALLS.index(name))
            return real(*args, **kwargs)

        return call


def seen(root: Path) -> dict[str, Any]:
    """What a fresh process makes of a project, and that work can go on."""
    project = Project(root, clock=lambda: NOW)
    if not project.layout.dot.is_dir():
        return {"documents": None, "told": [], "damage": [], "left": []}
    documents = project.load()
    writer = JournalWriter(project.layout.events)
    writer.close()
    told = [event for _, event in read_events(project.layout.events)]
    project.create()
    project.transact(lambda d: d)
    return {
        "documents": json.loads(documents.model_dump_json()),
        "told": [getattr(event, "text", "") for event in told],
        "seqs": [event.seq for event in told],
        "damage": [*project.damage(), *writer.damage],
        "left": sorted(p.name for p in project.layout.dot.glob(".*.tmp"))
        + sorted(p.name for p in project.layout.dot.glob("commit.json"))
        + sorted(p.name for p in project.layout.dot.glob("*.corrupt-*")),
        "partial": len(list(project.layout.dot.glob("events.jsonl.partial-*"))),
    }


def run(root: Path, reached: Path, nth: int, *, halfway: bool) -> str:
    """The history in a child that dies at the Nth call; which call that was, empty when none."""
    child = os.fork()
    if child == 0:
        descriptor = os.open(reached, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        note = os.write
        Death(nth, halfway=halfway)
        for step in STEPS:
            note(descriptor, b".")
            step(Project(root, clock=lambda: NOW))
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return CALLS[status - KILLED] if status >= KILLED else ""


def main(directory: Path) -> None:
    recovery.SETTLE_SECONDS = 0.0
    reference = directory / "reference"
    reference.mkdir()
    states: list[Any] = [None]
    for step in STEPS:
        step(Project(reference, clock=lambda: NOW))
        states.append(seen(reference)["documents"])
    print(json.dumps({"states": states}))  # noqa: T201 - what the test reads
    nth, died = 0, "a call"
    while died:
        nth += 1
        died = _told(directory, nth, halfway=False)
        if died == "write":
            _told(directory, nth, halfway=True)


def _told(directory: Path, nth: int, *, halfway: bool) -> str:
    """One death and what was seen after it, printed for the test."""
    root, reached = directory / f"{nth}-{halfway}", directory / f"{nth}-{halfway}.reached"
    root.mkdir()
    died = run(root, reached, nth, halfway=halfway)
    line = {"nth": nth, "step": len(reached.read_bytes()), "died": died, **seen(root)}
    print(json.dumps(line))  # noqa: T201 - what the test reads
    return died


if __name__ == "__main__":
    main(Path(sys.argv[1]))
