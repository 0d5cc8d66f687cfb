"""A loop of another process, met when it has run for long."""

import asyncio
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event
from ralph_tui.domain.plan import TaskStatus
from ralph_tui.domain.state import Phase
from ralph_tui.domain.view import LoopView, reduce
from ralph_tui.engine import following
from ralph_tui.store.journal import JournalWriter, read_events
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.harness.projects import make_project, task
from tests.harness.waiting import until

RUN = "run-1"


def long_run(project: Project, calls: int) -> None:
    """A journal in which much happened before the last words."""
    docs = project.load()
    told: list[Event] = [
        ev.LoopStarted(run_id="before", project="p", phase=Phase.BUILDING),
        ev.LoopStarted(run_id=RUN, project="p", phase=Phase.BUILDING),
        ev.PlanLoaded(tasks=docs.plan.tasks),
        ev.ToolDenied(tool_id="d", name="Bash", rule="git", reason="no"),
        ev.TaskChanged(task=docs.plan.tasks[0].model_copy(update={"status": TaskStatus.COMPLETE})),
    ]
    for number in range(calls):
        told += [
            ev.ToolStarted(tool_id=f"t{number}", name="Bash"),
            ev.ToolFinished(
                tool_id=f"t{number}", name="Bash", outcome=ev.ToolOutcome.OK, seconds=0
            ),
        ]
    writer = JournalWriter(project.layout.events)
    writer.write([e.model_copy(update={"seq": n}) for n, e in enumerate(told, 1)])
    writer.close()


async def told_of(project: Project) -> list[Event]:
    """What a screen is told that meets the run now."""
    told: list[Event] = []
    lock = LoopLock(project.layout)
    lock.acquire(RUN)
    following_it = asyncio.create_task(following.follow_project(project.root, told.append))
    try:
        await until(lambda: any(isinstance(e, ev.LoopFound) for e in told), what="the loop")
    finally:
        following_it.cancel()
        await asyncio.wait([following_it])
        lock.release()
    return told


def view_of(told: list[Event]) -> LoopView:
    view = LoopView()
    for event in told:
        view = reduce(view, event)
    return view


async def test_of_a_long_run_the_past_is_told_in_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a"), task("b")]))
    long_run(project, calls=500)
    whole = await told_of(project)
    monkeypatch.setattr(following, "RECENT", 10_000)
    short = await told_of(project)
    assert len(whole) > 1_000
    assert len(short) < 200
    kept = [e for e in short if isinstance(e, ev.ToolFinished)]
    assert kept[-1].tool_id == "t499", "the last part is told in full"
    assert any(isinstance(e, ev.Notice) and e.text == following.SHORTENED for e in short)
    full, brief = view_of(whole), view_of(short)
    assert brief.tasks == full.tasks
    assert brief.tasks["a"].status is TaskStatus.COMPLETE
    assert (brief.denials, brief.phase) == (1, full.phase)
    assert len(list(read_events(project.layout.events))) == 1_005
