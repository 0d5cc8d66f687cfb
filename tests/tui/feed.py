"""A scripted launch: realistic events, fixed times, and controls that remember what was asked."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Question
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Approval, ApprovalKind, Injection, Phase, StopMode
from ralph_tui.domain.run.undo_result import Undone, UndoneFile, UndoneHow, UndoPreview
from ralph_tui.domain.verification.verification import (
    Receipt,
    TaskVerification,
    VerificationOutcome,
)
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch
from ralph_tui.engine.control.plan_edits import TaskFields

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NOW = START + timedelta(seconds=84)
EVENTS = Path(__file__).with_name("events")
"""Parts of a journal; the functions below make runs of them."""


def clock() -> datetime:
    return NOW


@cache
def _recorded(name: str) -> tuple[ev.Event, ...]:
    lines = (EVENTS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
    return tuple(map(ev.EVENT.validate_json, lines))


def recorded(*names: str) -> list[ev.Event]:
    """What the journals of these names tell, one after the other."""
    return [event for name in names for event in _recorded(name)]


def _tasks() -> tuple[Task, ...]:
    (loaded,) = recorded("plan")
    assert isinstance(loaded, ev.PlanLoaded)
    return loaded.tasks


TASKS = _tasks()


def task(number: int, status: TaskStatus) -> Task:
    return TASKS[number - 1].model_copy(update={"status": status})


def plan(*, done: int = 1) -> ev.PlanLoaded:
    tasks = (
        t.model_copy(update={"status": TaskStatus.COMPLETE, "actual_cost_usd": 0.38})
        if n <= done
        else t
        for n, t in enumerate(TASKS, 1)
    )
    return ev.PlanLoaded(tasks=tuple(tasks))


def started() -> ev.LoopStarted:
    (begun,) = recorded("begun")
    assert isinstance(begun, ev.LoopStarted)
    return begun


def read() -> ev.ProjectRead:
    return ev.ProjectRead(project="slug-demo", phase=Phase.BUILDING)


def tool(
    tool_id: str,
    name: str,
    output: str = "",
    seconds: float = 0.1,
    outcome: ToolOutcome = ToolOutcome.OK,
    parent: str | None = None,
    patch: str = "",
    **data: str | int,
) -> list[ev.Event]:
    return [
        ev.ToolStarted(tool_id=tool_id, name=name, input=dict(data), parent_id=parent),
        ev.ToolFinished(
            tool_id=tool_id,
            name=name,
            outcome=outcome,
            seconds=seconds,
            output=output,
            patch=patch,
            parent_id=parent,
        ),
    ]


def _receipts(name: str) -> tuple[Receipt, ...]:
    return tuple(event.receipt for event in recorded(name) if isinstance(event, ev.GateChecked))


RECEIPTS_FAILED = _receipts("gate_failed")
RECEIPTS_PASSED = _receipts("gate_passed")


def work() -> list[ev.Event]:
    return recorded("work")


def gate(receipts: Sequence[Receipt], *, passed: bool) -> list[ev.Event]:
    return [
        *tool("c1", "mcp__ralph__ralph_mark_task_complete", seconds=3.6, task_id="demo-02"),
        ev.GateStarted(
            task_id="demo-02",
            notes="slugify handles punctuation",
            commands=tuple(r.command for r in receipts),
        ),
        *(ev.GateChecked(task_id="demo-02", receipt=r) for r in receipts),
        ev.GateFinished(
            task_id="demo-02",
            passed=passed,
            receipts=tuple(receipts),
            unchecked=("An empty title raises ValueError with a clear message",),
        ),
    ]


def running() -> list[ev.Event]:
    return [started(), plan(), *recorded("work", "talking")]


def failed_gate() -> list[ev.Event]:
    return [started(), plan(), *recorded("work", "gate_failed")]


def paused() -> list[ev.Event]:
    return [started(), plan(), *recorded("work", "paused")]


def steps() -> list[ev.Event]:
    """A step failed before the work and was tried again; the steps after it run."""
    return [started(), plan(), *recorded("steps_before", "work", "gate_passed", "steps_after")]


def complete() -> list[ev.Event]:
    done = {
        "status": TaskStatus.COMPLETE,
        "blockers": (),
        "verification": TaskVerification(outcome=VerificationOutcome.VERIFIED),
    }
    tasks = tuple(
        t.model_copy(update={**done, "actual_cost_usd": 0.29 - 0.05 * number})
        for number, t in enumerate(TASKS[:5])
    )
    loaded = ev.PlanLoaded(tasks=tasks)
    return [started(), loaded, *work()[3:], *recorded("gate_passed", "complete")]


def story() -> list[ev.Event]:
    """A whole run for the pictures: work, a refused claim, an accepted one, the end."""
    loaded = ev.PlanLoaded(
        tasks=tuple(t.model_copy(update={"status": TaskStatus.COMPLETE}) for t in TASKS[:5])
    )
    return [*failed_gate(), *recorded("gate_passed"), loaded, *recorded("complete")]


def stopped() -> list[ev.Event]:
    return [*failed_gate(), *recorded("stopped")]


def _given(fields: TaskFields) -> dict[str, object]:
    words = {"description": "text", "criteria": "checks", "dependencies": "after"}
    return {words.get(n, n): value for n, value in asdict(fields).items() if value is not None}


class FakeControls(Controls):
    """Remembers requests; answers as the real ones do; `error` is raised when set."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.asked: list[str] = []
        self.error: Exception | None = None

    def _note(self, what: str) -> None:
        if self.error:
            raise self.error
        self.asked.append(what)

    def pause(self) -> StopMode:
        self._note("pause")
        return StopMode.AFTER_ITERATION

    def resume(self) -> None:
        self._note("resume")

    def stop(self, *, now: bool = False, why: str = "") -> StopMode:
        del why
        self._note("stop now" if now else "stop")
        return StopMode.NOW if now else StopMode.AFTER_ITERATION

    def skip(self, task_id: str) -> Task:
        self._note(f"skip {task_id}")
        return self._done(task_id, status=TaskStatus.BLOCKED)

    def retry(self, task_id: str) -> Task:
        self._note(f"retry {task_id}")
        return self._done(task_id, status=TaskStatus.PENDING, blockers=())

    def hold(self, task_id: str) -> Task:
        self._note(f"hold {task_id}")
        return self._done(task_id, status=TaskStatus.PENDING, held=True)

    def release(self, task_id: str) -> Task:
        self._note(f"release {task_id}")
        return self._done(task_id, held=False)

    def _done(self, task_id: str, **changes: object) -> Task:
        known = next((task for task in TASKS if task.id == task_id), Task(id=task_id))
        return known.model_copy(update=changes)

    def answer(self, question_id: str, answer: Answer) -> AskedQuestion:
        text = "declined" if answer.declined else answer.text
        self._note(f"answer {question_id}: {text} by {answer.by}")
        asked = AskedQuestion(
            id=question_id,
            batch="b",
            phase=Phase.DISCOVERY,
            question=Question(question="?"),
            asked_at=NOW,
        )
        return asked.model_copy(update={"answer": answer})

    def decide(self, *, approved: bool, reason: str = "", by: str = "person") -> Approval:
        self._note(f"{'approve' if approved else f'reject: {reason}'} by {by}")
        return Approval(kind=ApprovalKind.PLAN, approved=approved, reason=reason)

    def retry_now(self) -> None:
        self._note("retry now")

    def edit_task(self, task_id: str, fields: TaskFields) -> Task:
        self._note(f"edit {task_id}: {_given(fields)}")
        return Task(id=task_id)

    def add_task(self, fields: TaskFields) -> Task:
        self._note(f"add: {_given(fields)}")
        return self._done("demo-07", description=fields.description or "")

    def move_task(self, task_id: str, step: int) -> bool:
        self._note(f"move {task_id}: {step:+}")
        return True

    def split_task(self, task_id: str, parts: Sequence[str]) -> tuple[Task, ...]:
        self._note(f"split {task_id}: {list(parts)}")
        return tuple(Task(id=f"{task_id}-{n}") for n, _ in enumerate(parts, 1))

    def drop_task(self, task_id: str) -> Task:
        self._note(f"drop {task_id}")
        return Task(id=task_id)

    def undo_preview(self, wanted: str) -> UndoPreview:
        self._note(f"look at undo {wanted}")
        file, how = UndoneFile, UndoneHow
        return UndoPreview(
            wanted=wanted,
            task_id=wanted,
            title="Create the slugs package with a first test",
            iterations=(1, 2),
            files=(
                file(path="docs/old-guide.md", how=how.BRING_BACK, additions=31),
                file(path="src/slugs.py", how=how.RESTORE, additions=4, deletions=58),
                file(path="tests/test_slugs.py", how=how.REMOVE, deletions=22),
            ),
            commits_to="feature/slugs",
        )

    def undo(self, shown: UndoPreview) -> Undone:
        self._note(f"undo {shown.task_id}")
        return Undone(preview=shown, commit="4f0c2a91bb" + "0" * 30)

    def inject(self, guidance: str, *, now: bool = False) -> Injection:
        self._note(f"inject now {guidance}" if now else f"inject {guidance}")
        return Injection(timestamp=NOW, guidance=guidance, id="i1")


class Script:
    """A loop whose events a test hands out one batch at a time."""

    def __init__(self, root: Path, events: Iterable[ev.Event] = ()) -> None:
        self.controls = FakeControls(root)
        self.first = list(events)
        self.news: asyncio.Queue[ev.Event | BaseException] = asyncio.Queue()
        self.disk: asyncio.Queue[ev.Event | BaseException] = asyncio.Queue()
        self.runs = 0
        self.watches = 0
        self.warmed = False
        self.requests: list[str] = []
        self.takes_requests = False
        self.replans: list[str] = []
        self.can_replan = False
        self.idle: list[ev.Event] = [read(), plan()]
        """What the watcher tells first."""
        self.cancelled = False

    @property
    def launch(self) -> Launch:
        return Launch(
            root=self.controls.root,
            controls=self.controls,
            run=self._run,
            watch=self._watch,
            warm_up=self._warm_up,
            label="demo",
            run_request=self._run_request if self.takes_requests else None,
            run_replan=self._run_replan if self.can_replan else None,
        )

    async def _run_request(self, request: str, sink: EventSink) -> ev.LoopFinished:
        self.requests.append(request)
        return await self._run(sink)

    async def _run_replan(self, feedback: str, sink: EventSink) -> ev.LoopFinished:
        self.replans.append(feedback)
        return await self._run(sink)

    async def _run(self, sink: EventSink) -> ev.LoopFinished:
        self.runs += 1
        try:
            for event in self.first:
                sink(event)
                if isinstance(event, ev.LoopFinished):
                    return event
            while True:
                item = await self.news.get()
                if isinstance(item, BaseException):
                    raise item
                sink(item)
                if isinstance(item, ev.LoopFinished):
                    return item
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    async def _watch(self, sink: EventSink) -> None:
        self.watches += 1
        if not self.runs:
            for event in self.idle:
                sink(event)
        while True:
            item = await self.disk.get()
            if isinstance(item, BaseException):
                raise item
            sink(item)

    def _warm_up(self) -> None:
        self.warmed = True
