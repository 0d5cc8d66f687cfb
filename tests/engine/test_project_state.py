"""The documents as last seen are those on disk, whoever is cancelled in the middle of a change."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import Event
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.engine.control.run_settings import reset_breaker
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.store.project import Documents, Project
from tests.harness.projects import make_project, task
from tests.harness.waiting import until


class Slow(Project):
    """Writes when it is let."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.begun, self.may = threading.Event(), threading.Event()
        self.error: StoreError | None = None

    def transact(self, change: Callable[[Documents], Documents]) -> Documents:
        self.begun.set()
        assert self.may.wait(20)
        if self.error is not None:
            raise self.error
        return super().transact(change)


def named(name: str) -> Callable[[Documents], Documents]:
    return lambda docs: docs.replacing(plan=docs.plan.with_task("a", description=name)).with_state(
        iteration_count=docs.state.iteration_count + 1
    )


async def cancelled(project_state: ProjectState, project: Slow) -> None:
    """A change whose caller is cancelled while it is written."""
    caller = asyncio.create_task(project_state.transact(named("first"), "because"))
    await until(project.begun.is_set)
    caller.cancel()
    with pytest.raises(asyncio.CancelledError):
        await caller


async def test_a_change_whose_caller_is_cancelled_is_made_and_told_before_the_next(
    tmp_path: Path,
) -> None:
    told: list[Event] = []
    project = Slow(make_project(tmp_path, [task("a"), task("other")]))
    project_state = ProjectState(project, told.append)
    await project_state.open()
    await cancelled(project_state, project)
    other = Project(project.layout.root)
    other.transact(lambda docs: docs.replacing(plan=docs.plan.with_task("other", held=True)))
    after = asyncio.create_task(project_state.transact(named("second"), "later"))
    project.may.set()
    await after
    changes = [(e.task.title, e.reason) for e in told if isinstance(e, ev.TaskChanged)]
    by_hand = ("Do other", "put on hold by hand")
    assert changes == [by_hand, ("first", "because"), ("second", "later")]
    assert project_state.docs == project.load()
    assert project_state.docs.state.iteration_count == 2


async def test_what_could_not_be_written_is_said_though_nobody_waits_for_it(tmp_path: Path) -> None:
    told: list[Event] = []
    project = Slow(make_project(tmp_path, [task("a")]))
    project_state = ProjectState(project, told.append)
    await project_state.open()
    await cancelled(project_state, project)
    project.error = StoreError("The disk is full.", "Make room.")
    project.may.set()
    await until(lambda: any(isinstance(e, ev.Notice) for e in told))
    assert told[-1] == ev.Notice(level="error", text="The disk is full. Make room.")


async def test_a_reset_from_outside_is_told_with_its_reason_and_a_limit_is_told_as_nothing(
    tmp_path: Path,
) -> None:
    told: list[Event] = []
    root = make_project(tmp_path, [task("a")])
    project = Project(root)
    project.transact(_tripped)
    project_state = ProjectState(Project(root), told.append)
    await project_state.open()
    for change in (
        lambda: reset_breaker(root, "the network is back"),
        lambda: project.transact(_raised),
        lambda: project.transact(_tripped),
    ):
        change()
        await project_state.refresh()
    whys = [e.reason for e in told if isinstance(e, ev.BreakerChanged)]
    assert whys == ["reset by hand: the network is back", "", "changed by hand"]


def _tripped(docs: Documents) -> Documents:
    failing = {"state": BreakerState.OPEN, "failure_count": 3}
    return docs.model_copy(update={"breaker": docs.breaker.model_copy(update=failing)})


def _raised(docs: Documents) -> Documents:
    breaker = docs.breaker.model_copy(update={"max_cost_usd": 500.0})
    return docs.model_copy(update={"breaker": breaker})
