"""A run puts everything away, whatever breaks while it does."""

import asyncio
import errno
import threading
from collections.abc import Callable
from pathlib import Path
from typing import cast

import psutil
import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import Event
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.ports import Agent
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run import runner
from ralph_tui.engine.run.launch_factory import make_launch
from ralph_tui.engine.run.runner import run_loop
from ralph_tui.store.project import Project
from tests.harness.projects import events_of, make_project, task
from tests.harness.waiting import PATIENCE

FULL = OSError(errno.ENOSPC, "No space left on device", "/tmp/x")


class Breaks:
    """An agent that cannot be put away."""

    async def close(self) -> None:
        raise FULL


class Idle:
    """An agent that holds nothing."""

    async def close(self) -> None:
        """There is nothing to put away."""


def idle() -> Agent:
    return cast("Agent", Idle())


def cannot_be_made() -> Agent:
    raise FULL


@pytest.mark.parametrize("make_agent", [lambda: cast("Agent", Breaks()), cannot_be_made])
async def test_what_cannot_be_put_away_leaves_nothing_else_behind(
    tmp_path: Path, make_agent: object
) -> None:
    root = make_project(tmp_path, [task("a", status="complete")])
    told: list[Event] = []
    before = psutil.Process().children(recursive=True)
    services = RunServices(make_agent=make_agent, settings=load_settings(root, environ={}))  # type: ignore[arg-type]
    end = await run_loop(root, services, RunRequest(only=Phase.BUILDING), told.append)
    assert end.status is LoopStatus.ERROR
    assert end.reason == "The disk is full (/tmp/x)."
    assert [p for p in psutil.Process().children(recursive=True) if p not in before] == []
    assert told[-1].type == "loop_finished"


UNREADABLE = StoreError("questions.json cannot be read.", "Look at it.")


@pytest.mark.parametrize("what", ["withdraw_open_questions", "find_orphans"])
async def test_a_run_that_began_has_a_last_word_whatever_is_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    root = make_project(tmp_path, [task("a", status="complete")])
    told: list[Event] = []

    def breaks(*_: object) -> None:
        raise UNREADABLE

    monkeypatch.setattr(runner, what, breaks)
    services = RunServices(make_agent=idle, settings=load_settings(root, environ={}))
    end = await run_loop(root, services, RunRequest(only=Phase.BUILDING), told.append)
    assert (end.status, end.reason) == (LoopStatus.ERROR, UNREADABLE.message)
    assert told[-1] == end.model_copy(update={"seq": told[-1].seq, "time": told[-1].time})


@pytest.mark.parametrize("what", ["confine", "place_to_work"])
async def test_a_run_that_is_refused_leaves_no_import_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str
) -> None:
    root = make_project(tmp_path, [task("a")])
    loop, refused = asyncio.get_running_loop(), threading.Event()
    imported: list[bool] = []

    def refuse(*_: object, **__: object) -> None:
        loop.call_soon_threadsafe(loop.call_later, 0.1, refused.set)
        raise UNREADABLE

    monkeypatch.setattr(runner, what, refuse)
    services = RunServices(
        make_agent=idle,
        settings=load_settings(root, environ={}),
        warm_up=lambda: imported.append(refused.wait(20)),
    )
    with pytest.raises(StoreError):
        await run_loop(root, services, RunRequest(only=Phase.BUILDING), lambda _: None)
    assert imported == [True]
    assert "ralph-warm-up" not in {task.get_name() for task in asyncio.all_tasks()}


async def test_a_watch_that_breaks_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_project(tmp_path, [task("a", status="complete")])
    told: list[Event] = []

    async def breaks(_: object) -> None:
        raise FULL

    monkeypatch.setattr(ProjectState, "follow", breaks)
    services = RunServices(make_agent=idle, settings=load_settings(root, environ={}))
    end = await run_loop(root, services, RunRequest(only=Phase.BUILDING), told.append)
    assert end.exit_code == 0
    notices = [e.text for e in told if isinstance(e, ev.Notice) and e.level == "error"]
    assert notices == [f"Changes by other programs will now be noticed late: {FULL}"]
    assert Project(root).load().plan.is_finished


async def test_what_the_person_does_to_the_plan_of_a_loop_is_in_its_journal(
    tmp_path: Path,
) -> None:
    root = make_project(tmp_path, [task("a", status="complete"), task("b"), task("c")])
    heard = threading.Semaphore(0)

    def sink(event: Event) -> None:
        if isinstance(event, ev.TaskChanged | ev.PlanLoaded):
            heard.release()

    def make_agent() -> Agent:
        """Called in a thread while the loop follows the files."""
        assert heard.acquire(timeout=PATIENCE), "the plan at the start"
        changes: tuple[Callable[[], object], ...] = (
            lambda: launch.controls.hold("b"),
            lambda: launch.controls.drop_task("c"),
            lambda: Controls(root).release("b"),
            lambda: launch.controls.skip("b"),
        )
        for change in changes:
            change()
            assert heard.acquire(timeout=PATIENCE), "the loop saw it"
        return idle()

    services = RunServices(make_agent=make_agent, settings=load_settings(root, environ={}))
    launch = make_launch(root, services)
    await launch.run(sink)
    told = events_of(root)
    whys = [event.reason for event in told if isinstance(event, ev.TaskChanged)]
    assert [why for why in whys if why != "recorded as your decision"] == [
        "put on hold by hand", "released by hand", "skipped by hand",
    ]  # fmt: skip
    loaded = [event.source for event in told if isinstance(event, ev.PlanLoaded)]
    assert loaded == ["start", "disk"]
