"""A scripted launch: realistic events, fixed times, and controls that remember what was asked."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.documents.questions import Answer, AskedQuestion, Question
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import Approval, ApprovalKind, Injection, Phase, StopMode
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.run.context_budget import TokenUsage
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.run.undo_result import Undone, UndoneFile, UndoneHow, UndoPreview
from ralph_tui.domain.verification.verification import (
    CommandCriterion,
    Receipt,
    ReceiptStatus,
    TaskVerification,
    VerificationOutcome,
)
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.launch import Launch
from ralph_tui.engine.control.plan_edits import TaskFields

START = datetime(2026, 3, 2, 9, 0, tzinfo=UTC)
NOW = START + timedelta(seconds=84)
CAPACITY = 200_000


def clock() -> datetime:
    return NOW


TASKS = (
    Task(
        id="demo-01",
        description="Create the slugs package with a first test",
        priority=1,
        status=TaskStatus.COMPLETE,
        verification_criteria=("uv run pytest",),
        completion_notes="Package and a smoke test.",
    ),
    Task(
        id="demo-02",
        description="Turn titles into slugs: lower case, dashes, no punctuation\nUnicode letters"
        " are folded to ASCII.",
        priority=2,
        status=TaskStatus.PENDING,
        dependencies=("demo-01",),
        verification_criteria=(
            "uv run pytest",
            CommandCriterion(command="uv run mypy .", description="types check"),
            "An empty title raises ValueError with a clear message",
        ),
        estimated_tokens=30_000,
    ),
    Task(
        id="demo-03",
        description="Keep slugs unique by numbering repeats",
        priority=3,
        dependencies=("demo-02",),
        verification_criteria=("tests",),
    ),
    Task(
        id="demo-04",
        description="Read titles from standard input",
        priority=4,
        dependencies=("demo-01",),
    ),
    Task(
        id="demo-05",
        description="Document the command line in the README",
        priority=5,
        dependencies=("demo-03", "demo-04"),
    ),
    Task(
        id="demo-06",
        description="Publish to the package index",
        priority=6,
        status=TaskStatus.BLOCKED,
        blockers=("needs an account that only a person can make",),
        retry_count=3,
    ),
)


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


def usage(context: int, iteration: float, session: float, total: float) -> ev.UsageReported:
    return ev.UsageReported(
        context_tokens=context,
        context_capacity=CAPACITY,
        usage=TokenUsage(input_tokens=1200, cache_read_tokens=context - 1600, output_tokens=400),
        costs=CostMeter(iteration=iteration, session=session, total=total),
    )


def started() -> ev.LoopStarted:
    return ev.LoopStarted(
        run_id="run-1",
        project="slug-demo",
        phase=Phase.BUILDING,
        time=START,
        max_iterations=50,
        iteration=2,
        context_capacity=CAPACITY,
        costs=CostMeter(total=1.31),
        model="claude-sonnet",
    )


def read() -> ev.ProjectRead:
    return ev.ProjectRead(project="slug-demo", phase=Phase.BUILDING)


def tool(
    tool_id: str,
    name: str,
    output: str = "",
    seconds: float = 0.1,
    outcome: ev.ToolOutcome = ev.ToolOutcome.OK,
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


PYTEST_FAILED = """Exit code 1
F...                                                                     [100%]
=================================== FAILURES ===================================
    def test_punctuation() -> None:
>       assert slugify("Hello, World!") == "hello-world"
E       AssertionError: assert 'hello,-world!' == 'hello-world'
=========================== short test summary info ============================
FAILED tests/test_slugs.py::test_punctuation - AssertionError
1 failed, 3 passed in 0.05s"""

RECEIPTS_FAILED = (
    Receipt(
        command="uv run pytest",
        source="backpressure",
        status=ReceiptStatus.PASSED,
        exit_code=0,
        seconds=1.4,
        tail="4 passed in 0.04s",
    ),
    Receipt(
        command="uv run mypy .",
        source="backpressure",
        status=ReceiptStatus.FAILED,
        exit_code=1,
        seconds=2.2,
        tail='src/slugs.py:9: error: Incompatible return value type (got "str | None", '
        'expected "str")  [return-value]\nFound 1 error in 1 file',
    ),
    Receipt(
        command="uv run ruff check .",
        source="backpressure",
        status=ReceiptStatus.SKIPPED,
        reason="ruff is not a dependency of this project",
    ),
)

RECEIPTS_PASSED = (
    RECEIPTS_FAILED[0],
    RECEIPTS_FAILED[1].model_copy(
        update={"status": ReceiptStatus.PASSED, "exit_code": 0, "tail": "Success"}
    ),
    RECEIPTS_FAILED[2],
)


def work() -> list[ev.Event]:
    return [
        ev.IterationStarted(
            iteration=3,
            task_id="demo-02",
            title=TASKS[1].title,
            why="priority 2, the highest of 2 ready tasks",
            attempt=1,
        ),
        ev.TaskChanged(task=task(2, TaskStatus.IN_PROGRESS)),
        ev.SessionStarted(
            session_id="s-1", model="claude-sonnet", tools=("Bash", "Read"), cli_version="2.1.300"
        ),
        ev.AssistantText(
            text="I'll read what is there before I change anything, then write the tests first."
        ),
        usage(38_000, 0.04, 0.04, 1.35),
        *tool("t1", "Read", "import re\n" * 42, 0.1, file_path="src/slugs.py"),
        *tool("t2", "Grep", "a\nb\nc", 0.0, pattern="slugify", path="src"),
        ev.ToolStarted(
            tool_id="t3",
            name="Agent",
            input={
                "description": "Explore the tests",
                "subagent_type": "Explore",
                "prompt": "Which cases are tested?",
            },
        ),
        *tool("t4", "Glob", "tests/test_slugs.py", parent="t3", pattern="tests/**/*.py"),
        *tool("t5", "Read", "def test\n" * 18, parent="t3", file_path="tests/test_slugs.py"),
        ev.ToolFinished(
            tool_id="t3",
            name="Agent",
            outcome=ev.ToolOutcome.OK,
            seconds=6.4,
            output="Only the happy path is tested.",
        ),
        *tool(
            "t6",
            "Edit",
            "done",
            patch="@@ -8,4 +8,5 @@\n \n \n-def slugify(title):\n"
            '-    return title.lower().replace(" ", "-")\n+def slugify(title: str) -> str:\n'
            '+    words = re.findall(r"[a-z0-9]+", title.lower())\n+    return "-".join(words)',
            file_path="src/slugs.py",
            old_string='def slugify(title):\n    return title.lower().replace(" ", "-")\n',
            new_string='def slugify(title: str) -> str:\n    words = re.findall(r"[a-z0-9]+", '
            'title.lower())\n    return "-".join(words)\n',
        ),
        usage(61_500, 0.11, 0.11, 1.42),
        ev.ToolStarted(tool_id="t7", name="Bash", input={"command": "pytest -q"}),
        ev.ToolRewritten(
            tool_id="t7", before="pytest -q", after="uv run pytest -q", rule="python.uv-run"
        ),
        ev.ToolFinished(
            tool_id="t7",
            name="Bash",
            outcome=ev.ToolOutcome.ERROR,
            seconds=2.3,
            output=PYTEST_FAILED,
        ),
        ev.ToolStarted(tool_id="t8", name="Bash", input={"command": "git stash && git pull"}),
        ev.ToolDenied(
            tool_id="t8",
            name="Bash",
            rule="git.write",
            part="git stash",
            reason="This would change the repository's state",
            instead="Leave version control to the person; edit files only.",
        ),
        ev.ToolFinished(tool_id="t8", name="Bash", outcome=ev.ToolOutcome.DENIED),
        ev.AssistantText(
            text="The comma survives because only spaces are replaced. I'll collect the words"
            " with a regular expression instead, which drops every other character and also"
            " joins runs of spaces, and keep the error for an empty title."
        ),
        ev.LearningRecorded(
            category="pattern", text="titles may hold any Unicode; fold before matching"
        ),
        usage(88_200, 0.19, 0.19, 1.50),
    ]


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
    return [
        started(),
        plan(),
        *work(),
        ev.ToolStarted(
            tool_id="t9", name="Bash", input={"command": "uv run pytest -q tests/test_slugs.py"}
        ),
        ev.TextDelta(text="Running the tests again now that the words"),
        ev.TextDelta(text=" are collected by a pattern"),
    ]


def failed_gate() -> list[ev.Event]:
    return [started(), plan(), *work(), *gate(RECEIPTS_FAILED, passed=False)]


def paused() -> list[ev.Event]:
    return [
        started(),
        plan(),
        *work(),
        usage(124_000, 0.31, 0.31, 1.62),
        ev.PauseRequested(),
        ev.HandoffStarted(reason="62 % of the context is used; the limit is 60 %", percent=62.0),
        ev.HandoffFinished(path="MEMORY.md"),
        ev.IterationFinished(
            iteration=3,
            task_id="demo-02",
            outcome=ev.IterationOutcome.HANDED_OFF,
            reason="the next session goes on with demo-02",
            cost_usd=0.31,
            tokens=124_000,
            seconds=61.0,
            handoff=True,
            files_changed=("src/slugs.py", "tests/test_slugs.py"),
        ),
        ev.TaskChanged(task=task(2, TaskStatus.PENDING)),
        ev.InjectionQueued(id="i1", text="Keep the public name `slugify`."),
        ev.LoopPaused(),
    ]


def steps() -> list[ev.Event]:
    """A step failed before the work and was tried again; the steps after it run."""
    three: dict[str, Any] = {"iteration": 3, "task_id": "demo-02"}
    deps: dict[str, Any] = {"step": "deps", "kind": "command", "what": "uv sync --locked"}
    docs: dict[str, Any] = {"step": "docs", "kind": "command", "what": "uv run mkdocs build"}
    lost = "error: Failed to fetch: https://pypi.org/simple/hypothesis/"
    failed, done = StepOutcome.FAILED, StepOutcome.DONE
    return [
        started(),
        plan(),
        ev.StepStarted(**deps, **three),
        ev.StepFinished(
            **deps,
            **three,
            outcome=failed,
            reason="exit status 2",
            exit_code=2,
            tail=lost,
            again_in=30.0,
            seconds=4.2,
        ),
        ev.StepStarted(**deps, **three, attempt=2),
        ev.StepFinished(**deps, **three, outcome=done, exit_code=0, seconds=2.1, attempt=2),
        *work(),
        *gate(RECEIPTS_PASSED, passed=True),
        ev.IterationFinished(
            **three,
            outcome=ev.IterationOutcome.COMPLETE,
            reason="accepted",
            cost_usd=0.19,
            tokens=88_200,
            seconds=48.0,
            files_changed=("src/slugs.py", "tests/test_slugs.py"),
        ),
        ev.TaskChanged(task=task(2, TaskStatus.COMPLETE)),
        ev.StepFinished(
            step="spelling",
            kind="command",
            what="codespell",
            **three,
            outcome=StepOutcome.SKIPPED,
            reason="breaker open after 3 failures in a row, retrying in 42s",
        ),
        ev.StepStarted(**docs, **three),
    ]


def _finish(finished: ev.LoopFinished) -> list[ev.Event]:
    return [
        started(),
        plan(),
        *work(),
        *gate(RECEIPTS_PASSED, passed=True),
        ev.IterationFinished(
            iteration=3,
            task_id="demo-02",
            outcome=ev.IterationOutcome.COMPLETE,
            cost_usd=0.24,
            tokens=91_000,
            seconds=58.2,
            files_changed=("src/slugs.py", "tests/test_slugs.py"),
        ),
        finished,
    ]


def complete() -> list[ev.Event]:
    return [
        *_finish(
            ev.LoopFinished(
                status=ev.LoopStatus.COMPLETE,
                reason="Every task is complete.",
                exit_code=0,
                iterations=4,
                tasks_complete=5,
                tasks_total=5,
                cost_usd=0.87,
                seconds=143,
            )
        )[:1],
        ev.PlanLoaded(
            tasks=tuple(
                t.model_copy(
                    update={
                        "status": TaskStatus.COMPLETE,
                        "blockers": (),
                        "actual_cost_usd": 0.29 - 0.05 * number,
                        "verification": TaskVerification(outcome=VerificationOutcome.VERIFIED),
                    }
                )
                for number, t in enumerate(TASKS[:5])
            )
        ),
        *work()[3:],
        *gate(RECEIPTS_PASSED, passed=True),
        ev.LoopFinished(
            status=ev.LoopStatus.COMPLETE,
            reason="Every task is complete.",
            exit_code=0,
            hint="Read the changes with git diff.",
            iterations=4,
            tasks_complete=5,
            tasks_total=5,
            cost_usd=0.87,
            seconds=143,
            files_changed=9,
            lines_added=214,
            lines_removed=12,
            start_command="uv run slugs",
        ),
    ]


def story() -> list[ev.Event]:
    """A whole run for the pictures: work, a refused claim, an accepted one, the end."""
    loaded = ev.PlanLoaded(
        tasks=tuple(t.model_copy(update={"status": TaskStatus.COMPLETE}) for t in TASKS[:5])
    )
    return [*failed_gate(), *gate(RECEIPTS_PASSED, passed=True), loaded, complete()[-1]]


def stopped() -> list[ev.Event]:
    breaker = CircuitBreaker(
        state=BreakerState.OPEN,
        failure_count=3,
        stagnation_count=3,
        same_error_count=2,
        refused_claims_count=2,
        max_refused_claims=2,
        evidence={
            "failures": ("pytest failed", "mypy failed", "mypy failed"),
            "same error": ("mypy failed", "mypy failed"),
            "refused claims": ("demo-02: 1 of 3 checks failed",) * 2,
        },
        total_cost=1.7,
    )
    return [
        *failed_gate(),
        ev.IterationFinished(
            iteration=3,
            task_id="demo-02",
            outcome=ev.IterationOutcome.FAILED,
            reason="the gate refused the claim 3 times",
            cost_usd=0.39,
            tokens=120_000,
            seconds=75.0,
        ),
        ev.BreakerChanged(breaker=breaker, reason="3 iterations in a row failed"),
        ev.TaskChanged(
            task=task(2, TaskStatus.BLOCKED).model_copy(
                update={"blockers": ("mypy fails on src/slugs.py",), "retry_count": 3}
            ),
            reason="third failed try",
        ),
        ev.LoopFinished(
            status=ev.LoopStatus.STOPPED,
            reason="The circuit breaker opened: 3 iterations in a row failed.",
            hint="Look at the last gate, then `ralph retry demo-02`.",
            exit_code=1,
            iterations=1,
            tasks_complete=1,
            tasks_total=6,
            cost_usd=0.39,
            seconds=84,
        ),
    ]


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
        return self._done(task_id, "you skipped it", status=TaskStatus.BLOCKED)

    def retry(self, task_id: str) -> Task:
        self._note(f"retry {task_id}")
        return self._done(task_id, "you requeued it", status=TaskStatus.PENDING, blockers=())

    def hold(self, task_id: str) -> Task:
        self._note(f"hold {task_id}")
        return self._done(task_id, "you put it on hold", status=TaskStatus.PENDING, held=True)

    def release(self, task_id: str) -> Task:
        self._note(f"release {task_id}")
        return self._done(task_id, "you released it", held=False)

    def _done(self, task_id: str, words: str, **changes: object) -> Task:
        known = next((task for task in TASKS if task.id == task_id), Task(id=task_id))
        now = known.model_copy(update=changes)
        self.attribution.record(ImplementationPlan(), ImplementationPlan(tasks=(now,)), words)
        return now

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
        return self._done("demo-07", "you added it", description=fields.description or "")

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
