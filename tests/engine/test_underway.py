"""Line 64: an editor changes the task that is being worked; on disk, with the real ledger and gate."""

import asyncio
import json
import shlex
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.tool_calls import ALLOW, ToolAnswer
from ralph_tui.domain.verification.verification import VerificationOutcome
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.context import UsageMeter
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.phases.build_loop import BuildLoop
from ralph_tui.engine.phases.finished_work import FinishedWork
from ralph_tui.engine.session.task_supervisor import TaskSupervisor
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.gate import Gate
from ralph_tui.store.project import Project
from tests.harness.projects import ALLOWING, make_project, plan_of, task, task_of
from tests.harness.run_parts import NO_GATE, nothing, partial_run
from tests.harness.waiting import until

Plan = list[dict[str, Any]]  # as it stands in the file
Edit = Callable[[Plan], object]
RUNNING: dict[str, Any] = {"status": "in_progress", "begun": {"files": "f00d", "tests": 0}}


@dataclass
class Work:
    """A task that is being worked, and what was told about it."""

    root: Path
    told: list[ev.Event] = field(default_factory=list)

    async def begin(self, gate: str = "true") -> "Work":
        """Read the project as the loop does; the gate runs `gate`."""
        self.project_state = ProjectState(Project(self.root), self.told.append)
        docs = await self.project_state.open()
        self.run = partial_run(
            project_state=self.project_state,
            emit=self.told.append,
            commits=SimpleNamespace(pending_commit=lambda: None),
            gate=Gate(
                self.root,
                rules=lambda: GateRules(commands=(gate,)),
                timeout=60,
                environment={"PATH": "/usr/bin:/bin"},
                review=lambda _: allow(),
                emit=self.told.append,
            ),
        )
        self.tools = TaskSupervisor(docs.plan.tasks[0], self.run, meter=cast("UsageMeter", None))
        self.task = self.tools.task
        return self

    def edit(self, change: Edit) -> None:
        path = self.root / ".ralph/implementation_plan.json"
        data = json.loads(path.read_text())
        change(data["tasks"])
        path.write_text(json.dumps(data))

    async def edited(self, change: Edit) -> None:
        self.edit(change)
        await self.project_state.refresh()
        self.task.report_edits()

    async def claim(self) -> ToolAnswer:
        claim = {"task_id": "a", "verification_notes": "Done."}
        return await self.tools.call_tool("ralph_mark_task_complete", claim)

    @property
    def sees(self) -> str:
        started = ev.IterationStarted(iteration=1, task_id="a", title="", why="", attempt=1)
        first, *others = self.told
        view = reduce(reduce(LoopView(), first), started)
        for event in others:
            view = reduce(view, event)
        return view.current_task.id if view.current_task else ""

    @property
    def notices(self) -> list[str]:
        return [event.text for event in self.told if isinstance(event, ev.Notice)]


async def allow() -> Any:  # a verdict
    return ALLOW


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(make_project(tmp_path, [task("a", **RUNNING), task("b")], backpressure=()))


async def test_a_renamed_task_goes_on_under_its_new_name(work: Work) -> None:
    await work.begin()
    await work.edited(lambda tasks: tasks[0].update(id="better"))
    assert (work.task.withdrawn_reason, work.task.working) == ("", True)
    assert work.notices == ["a was renamed to better. Its iteration continues."]
    assert work.sees == "better"
    assert "ACCEPTED" in (await work.claim()).text
    assert task_of(work.root, "better").status is TaskStatus.COMPLETE
    assert work.task.settled is TaskStatus.COMPLETE
    assert work.task.task_id == "better"


EMPTY = SimpleNamespace(budget=SimpleNamespace(at_turn_end=lambda: None))
"""Stands for a meter whose context is nearly empty."""


async def test_a_model_that_stops_is_told_of_an_edit_that_it_does_not_know(work: Work) -> None:
    await work.begin()
    task = work.project_state.docs.plan.tasks[0]
    supervisor = TaskSupervisor(task, work.run, meter=cast("UsageMeter", EMPTY))
    assert "ralph_mark_task_complete" in (await supervisor.on_stop("Done.") or "")
    assert await supervisor.on_stop("Done.") is None, "it was reminded"
    await work.edited(lambda tasks: tasks[0].update(description="Do it well"))
    assert "Task a: Do it well" in (await supervisor.on_stop("Done.") or "")
    assert await supervisor.on_stop("Done.") is None


async def test_what_was_settled_stays_settled_however_often_the_agent_says_so(work: Work) -> None:
    await work.begin()
    both = await asyncio.gather(work.claim(), work.claim())  # two calls of one message
    assert all("ACCEPTED" in answer.text for answer in both)
    receipts = len([event for event in work.told if isinstance(event, ev.GateStarted)])
    again = await work.claim()
    assert (again.is_error, again.text) == (False, "Task a is already complete. Stop now.")
    block = {"task_id": "a", "reason": "No idea."}
    blocked = await work.tools.call_tool("ralph_mark_task_blocked", block)
    assert blocked.text == again.text
    assert receipts == len([event for event in work.told if isinstance(event, ev.GateStarted)])
    assert (work.task.settled, work.task.withdrawn_reason) == (TaskStatus.COMPLETE, "")
    assert task_of(work.root, "a").status is TaskStatus.COMPLETE


async def test_who_sees_a_settled_task_before_the_agent_does_takes_it_for_nobodys_edit(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    await work.begin()
    transact, seen = work.project_state.transact, list[str]()

    async def late(*given: Any) -> Any:
        docs = await transact(*given)
        await until(lambda: bool(seen), what="who watches")
        return docs

    async def watch() -> None:
        while True:
            await work.project_state.wait_changed()
            seen.append(work.task.withdrawn_reason)

    monkeypatch.setattr(work.project_state, "transact", late)
    watching = asyncio.create_task(watch())
    assert "ACCEPTED" in (await work.claim()).text
    watching.cancel()
    assert seen == [""]
    assert work.task.settled is TaskStatus.COMPLETE


async def test_a_claim_that_is_cut_off_while_it_is_written_is_the_agents_all_the_same(
    work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    await work.begin()
    transact, begun, may_go = (
        work.project_state.project.transact,
        threading.Event(),
        threading.Event(),
    )

    def slow(change: Any) -> Any:
        begun.set()
        assert may_go.wait(20)
        return transact(change)

    monkeypatch.setattr(work.project_state.project, "transact", slow)
    claiming = asyncio.create_task(work.claim())
    await asyncio.to_thread(begun.wait, 20)
    claiming.cancel()
    with pytest.raises(asyncio.CancelledError):
        await claiming
    may_go.set()
    await until(lambda: work.task.status is TaskStatus.COMPLETE, what="the claim")
    assert (work.task.settled, work.task.withdrawn_reason) == (TaskStatus.COMPLETE, "")
    await work.edited(lambda tasks: tasks[0].update(status="pending"))
    assert work.task.settled is None
    assert work.task.withdrawn_reason == "the task was withdrawn: it is pending now"


LEFT: dict[str, tuple[Edit, str]] = {
    "deleted": (lambda tasks: tasks.pop(0), "it is no longer in the plan"),
    "deleted, another begun": (
        lambda tasks: (tasks.pop(0), tasks[0].update(RUNNING | {"begun": {"files": "other"}})),
        "it is no longer in the plan",
    ),
    "waits": (lambda tasks: tasks[0].update(dependencies=["b"]), "it waits for b now"),
    "put back": (lambda tasks: tasks[0].update(status="pending"), "it is pending now"),
    "held": (lambda tasks: tasks[0].update(status="pending", held=True), "it is on hold"),
    "done by hand": (lambda tasks: tasks[0].update(status="complete"), "it is complete now"),
    "copied": (lambda tasks: tasks.append(tasks[0]), "2 tasks have its id"),
    "renamed, of two": (
        lambda tasks: tasks.extend([tasks[0] | {"id": "x"}, tasks.pop(0) | {"id": "y"}]),
        "it is no longer in the plan",
    ),
}


@pytest.mark.parametrize("seen", [True, False], ids=["seen", "unseen"])
@pytest.mark.parametrize(("change", "why"), LEFT.values(), ids=list(LEFT))
async def test_a_task_that_is_not_to_be_worked_any_more_is_left_and_never_completed(
    work: Work, change: Edit, why: str, *, seen: bool
) -> None:
    await work.begin()
    if seen:
        await work.edited(change)
    else:
        work.edit(change)
    before = plan_of(work.root)
    answer = await work.claim()
    assert answer.is_error
    assert f"({why}). Stop now." in answer.text
    assert work.task.withdrawn_reason == f"the task was withdrawn: {why}"
    assert work.task.settled is None
    assert plan_of(work.root).tasks == before.tasks


async def test_what_a_task_waited_for_may_be_opened_again_while_it_is_worked(
    tmp_path: Path,
) -> None:
    tasks = [task("a", **RUNNING, dependencies=["b"]), task("b", status="complete")]
    work = await Work(make_project(tmp_path, tasks)).begin()
    await work.edited(lambda tasks: tasks[1].update(status="pending"))
    assert work.task.withdrawn_reason == ""


@pytest.mark.parametrize(
    ("change", "what", "now"),
    [
        ({"description": "Do it in Rust"}, "its description", "Task a: Do it in Rust"),
        ({"verification_criteria": ["`true`"]}, "its criteria", "- `true`"),
    ],
)
async def test_a_claim_is_held_against_the_words_of_now_and_the_agent_hears_them(
    work: Work, change: dict[str, Any], what: str, now: str
) -> None:
    await work.begin()
    await work.edited(lambda tasks: tasks[0].update(change))
    (notice,) = work.notices
    assert notice.startswith(
        f"a was changed while the agent works on it ({what}). The agent was informed"
    )
    refused = await work.claim()
    assert refused.text.startswith("NOT YET: The person changed your task.")
    assert now in refused.text
    assert task_of(work.root, "a").status is TaskStatus.IN_PROGRESS
    assert not work.tools.claim_refused, "the agent did nothing wrong"
    assert "ACCEPTED" in (await work.claim()).text
    assert task_of(work.root, "a").status is TaskStatus.COMPLETE
    assert len(work.notices) == 1


async def test_an_edit_while_the_checks_run_is_not_overruled_by_them(work: Work) -> None:
    edits = (
        "import json; p = '.ralph/implementation_plan.json'; plan = json.load(open(p)); "
        "plan['tasks'][0]['description'] = 'Something else'; json.dump(plan, open(p, 'w'))"
    )
    once = f'[ -e edited ] || {{ touch edited; {shlex.quote(sys.executable)} -c "{edits}"; }}'
    await work.begin(gate=once)
    answer = await work.claim()
    assert answer.text.startswith("NOT YET: ")
    assert "Task a: Something else" in answer.text
    assert task_of(work.root, "a").status is TaskStatus.IN_PROGRESS
    assert "ACCEPTED" in (await work.claim()).text
    rests = task_of(work.root, "a").verification
    assert rests is not None
    assert (rests.outcome, rests.reason) == (VerificationOutcome.VERIFIED, "1 check passed")


async def test_what_an_editor_with_an_older_plan_calls_in_progress_is_put_back(
    tmp_path: Path,
) -> None:
    """A rename that nobody saw, or a buffer from before the task was done: it is worked, not stuck."""
    root = make_project(tmp_path, [task("a", held=True), task("gone on", **RUNNING)])
    told: list[object] = []
    project_state = ProjectState(Project(root), told.append)
    await project_state.open()
    chosen: list[str] = []

    def costs() -> object:
        chosen.extend(
            t.id for t in project_state.docs.plan.tasks if t.status is TaskStatus.IN_PROGRESS
        )
        raise ChosenError

    run = partial_run(
        project_state=project_state,
        emit=told.append,
        settings=ALLOWING,
        gate=NO_GATE,
        limits=SimpleNamespace(reason_to_stop=nothing, costs=costs),
    )
    with pytest.raises(ChosenError):
        await BuildLoop(run, FinishedWork()).run()
    assert chosen == ["gone on"]


class ChosenError(Exception):
    """Ends the loop where it would make a session."""
