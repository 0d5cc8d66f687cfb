"""A loop of another process, met when it has run for long."""

import asyncio
import contextlib
import shutil
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.run import observer
from ralph_tui.store.journal.journal import JournalWriter, read_events
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.harness.projects import make_project, task
from tests.harness.waiting import until
from tests.store.helpers import count_up

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
            ev.ToolFinished(tool_id=f"t{number}", name="Bash", outcome=ToolOutcome.OK, seconds=0),
        ]
    writer = JournalWriter(project.layout.events)
    writer.write([e.model_copy(update={"seq": n}) for n, e in enumerate(told, 1)])
    writer.close()


async def told_of(project: Project) -> list[Event]:
    told: list[Event] = []
    lock = LoopLock(project.layout)
    lock.acquire(RUN)
    following_it = asyncio.create_task(observer.follow_project(project.root, told.append))
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
    monkeypatch.setattr(observer, "RECENT", 10_000)
    short = await told_of(project)
    assert len(whole) > 1_000
    assert len(short) < 200
    kept = [e for e in short if isinstance(e, ev.ToolFinished)]
    assert kept[-1].tool_id == "t499", "the last part is told in full"
    assert any(isinstance(e, ev.Notice) and e.text == observer.SHORTENED for e in short)
    full, brief = view_of(whole), view_of(short)
    assert brief.tasks == full.tasks
    assert brief.tasks["a"].status is TaskStatus.COMPLETE
    assert (brief.denials, brief.phase) == (1, full.phase)
    assert len(list(read_events(project.layout.events))) == 1_005


@contextlib.asynccontextmanager
async def followed(project: Project, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[list[Event]]:
    """What a screen is told from now on, by one who looks often."""
    monkeypatch.setattr(observer, "AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(observer, "OWNER_SECONDS", 0.01)
    told: list[Event] = []
    following_it = asyncio.create_task(observer.follow_project(project.root, told.append))
    try:
        yield told
    finally:
        following_it.cancel()
        await asyncio.wait([following_it])


def of(told: list[Event], kind: type[Event]) -> list[Event]:
    return [event for event in told if isinstance(event, kind)]


async def test_a_project_that_goes_away_is_told_once_and_comes_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a")]))
    dot, away = project.layout.dot, tmp_path / "away"
    async with followed(project, monkeypatch) as told:
        await until(lambda: bool(of(told, ev.PlanLoaded)), what="the plan")
        for _ in range(2):
            dot.rename(away)
            await until(lambda: isinstance(told[-1], ev.ProjectUnreadable), what="trouble")
            away.rename(dot)
            await until(lambda: isinstance(told[-1], ev.ProjectRead), what="that it is back")
    assert len(of(told, ev.ProjectUnreadable)) == 2, "each time once"
    assert len(of(told, ev.PlanLoaded)) == 1, "what is known is not told again"
    view = view_of(told)
    assert (view.trouble, list(view.tasks)) == ("", ["a"])


async def test_a_project_that_cannot_be_read_at_first_is_read_when_it_can(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a")]))
    plan = project.layout.plan
    good = plan.read_bytes()
    plan.write_text('{"tasks": [{"id": "a", "passes": false}]}')
    async with followed(project, monkeypatch) as told:
        await until(lambda: bool(told), what="trouble")
        view = view_of(told)
        assert "implementation_plan.json" in view.trouble
        assert not view.is_known
        plan.write_bytes(good)
        await until(lambda: bool(view_of(told).tasks), what="the plan")
    assert view_of(told).trouble == ""


async def test_a_journal_that_cannot_be_read_loses_no_loop_and_repeats_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a")]))
    long_run(project, calls=3)
    journal, away = project.layout.events, tmp_path / "away"
    lock = LoopLock(project.layout)
    lock.acquire(RUN)
    try:
        async with followed(project, monkeypatch) as told:
            await until(lambda: bool(of(told, ev.LoopFound)), what="the loop")
            journal.rename(away)
            journal.mkdir()
            (journal / "something").write_text("larger than before\n" * 999, encoding="utf-8")
            await until(lambda: bool(view_of(told).trouble), what="trouble")
            assert view_of(told).elsewhere is not None, "the loop goes on"
            shutil.rmtree(journal)
            away.rename(journal)
            await until(lambda: not view_of(told).trouble, what="the journal")
    finally:
        lock.release()
    assert len(of(told, ev.LoopStarted)) == 1
    assert len(of(told, ev.ToolFinished)) == 3
    assert not of(told, ev.LoopLost)


async def test_a_loop_that_ends_while_its_journal_cannot_be_read_is_not_taken_for_a_running_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a")]))
    long_run(project, calls=3)
    journal, away = project.layout.events, tmp_path / "away"
    lock = LoopLock(project.layout)
    lock.acquire(RUN)
    async with followed(project, monkeypatch) as told:
        await until(lambda: bool(of(told, ev.LoopFound)), what="the loop")
        journal.rename(away)
        journal.mkdir()
        (journal / "something").write_text("larger than before\n" * 999, encoding="utf-8")
        await until(lambda: bool(view_of(told).trouble), what="trouble")
        lock.release()
        shutil.rmtree(journal)
        away.rename(journal)
        await until(lambda: view_of(told).elsewhere is None, what="that the loop is gone")
        await until(lambda: not view_of(told).trouble, what="the project")
    assert view_of(told).run_state.value == "disconnected"
    assert len(of(told, ev.LoopLost)) == 1
    assert len(of(told, ev.ToolFinished)) == 3


async def test_a_long_past_says_how_far_it_was_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a")]))
    long_run(project, calls=500)
    monkeypatch.setattr(observer, "LONG", 10_000)
    monkeypatch.setattr(observer, "CATCH_UP", 100)
    told = await told_of(project)
    percents = [e.percent for e in told if isinstance(e, ev.CatchingUp)]
    assert percents == sorted(set(percents)), "on and on"
    assert percents[0] == 0
    assert len(percents) > 5
    assert not view_of(told[: told.index(of(told, ev.LoopFound)[0])]).is_known
    assert view_of(told).is_known


async def test_a_plan_that_is_half_written_is_told_until_it_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a"), task("b")]))
    plan, name = project.layout.plan, project.layout.plan.name
    whole = plan.read_text()
    async with followed(project, monkeypatch) as told:
        await until(lambda: view_of(told).tasks)
        plan.write_text(whole[: len(whole) // 2])
        await until(lambda: view_of(told).unfinished == (name,))
        assert list(view_of(told).tasks) == ["a", "b"], "the last good one holds"
        plan.write_text(whole.replace("Do a", "Do it"))
        await until(lambda: not view_of(told).unfinished)
        await until(lambda: view_of(told).tasks["a"].title == "Do it")
        project.load()
        plan.write_text("{")
        await until(lambda: view_of(told).unfinished == (name,))
        project.transact(count_up)
        await until(lambda: not view_of(told).unfinished)
    assert any("set aside" in text for text in project.damage())
    assert view_of(told).tasks["a"].title == "Do it"
    assert len(of(told, ev.FilesUnfinished)) == 4, "each is told once"


async def test_a_plan_that_was_never_whole_is_left_to_who_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a")]))
    plan = project.layout.plan
    whole = plan.read_text()
    plan.write_text(whole[:20])
    async with followed(project, monkeypatch) as told:
        await until(lambda: "cannot be read" in view_of(told).trouble)
        plan.write_text(whole)
        await until(lambda: view_of(told).tasks)
    assert view_of(told).trouble == ""
    assert not list(project.layout.dot.glob("*.corrupt-*"))


async def test_a_plan_that_a_run_would_refuse_is_told_before_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a", dependencies=["b"])]))
    async with followed(project, monkeypatch) as told:
        await until(lambda: "'b', which is not in the plan" in view_of(told).unworkable)
        project.transact(lambda docs: docs.model_copy(update={"plan": ImplementationPlan()}))
        await until(lambda: not view_of(told).tasks)
    assert view_of(told).unworkable == ""


async def test_a_loaded_plan_tells_its_title_and_retired_tasks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(make_project(tmp_path, [task("a", status="complete"), task("b")]))
    project.transact(
        lambda docs: docs.replacing(
            plan=docs.plan.retiring({"a"}).model_copy(update={"title": "Habits"})
        )
    )
    async with followed(project, monkeypatch) as told:
        await until(lambda: bool(of(told, ev.PlanLoaded)), what="the plan")
    loaded = next(event for event in told if isinstance(event, ev.PlanLoaded))
    assert loaded.title == "Habits"
    assert [one.id for one in loaded.retired] == ["a"]
