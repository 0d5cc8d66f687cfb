"""The history of a project by runs and iterations, built from the journal.

Each iteration has its offsets in the journal, so that a screen can read its events alone.
"""

import re
from collections.abc import Mapping
from datetime import datetime
from itertools import chain
from typing import Any, NamedTuple

from pydantic import Field

from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model
from ralph_tui.domain.outcomes import IterationOutcome, ToolOutcome
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.verification.verification import Receipt

KEPT_RULINGS = 500
KEPT_BREAKERS = 100

BUILD = re.compile(
    r"\buv\s+(?:sync|build)\b|\b(?:npm|pnpm|yarn|bun)\s+(?:ci|(?:run\s+)?build|.*--(?:frozen|immutable))\b"
    r"|\b(?:cargo|go|poetry|zig|swift|dotnet)\s+build\b|\b(?:mvn|gradlew?)\s.*\b(?:package|build|verify)\b"
)
"""Commands that install what a lock file names, or build."""


class Iteration(Model):
    """One attempt at a task, or one session of a phase without tasks."""

    number: int
    run_id: str
    task_id: str
    title: str = ""
    why: str = ""
    attempt: int = 1
    phase: Phase = Phase.BUILDING
    session_id: str = ""
    model: str = ""
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: IterationOutcome | None = None
    """None while the iteration runs, and if its run was killed."""
    reason: str = ""
    cost_usd: float = 0.0
    tokens: int = 0
    context_tokens: int = 0
    capacity: int = 0
    seconds: float = 0.0
    handoff: bool = False
    files: tuple[str, ...] = ()
    denials: int = 0
    claims: int = 0
    refused_claims: int = 0
    open_tasks: int = 0
    """Tasks that were not complete when the iteration ended."""
    commit: str = ""
    is_undone: bool = False
    """Whether the person undid the work later."""
    start: int = 0
    end: int = 0
    """Offsets in the journal; `end` is 0 while the iteration runs."""

    @property
    def is_on_task(self) -> bool:
        return self.task_id not in frozenset(Phase)

    @property
    def percent(self) -> float:
        return 100 * self.context_tokens / self.capacity if self.capacity else 0.0


class Run(Model):
    """One run of the loop."""

    run_id: str
    started_at: datetime | None = None
    model: str = ""
    finished: ev.LoopFinished | None = None
    """None while the run continues, and if it was killed."""
    start: int = 0
    end: int = 0
    """Offsets in the journal; `end` is 0 while the run continues."""


class CallDecision(NamedTuple):
    """A tool call that was denied, or that a person was asked about."""

    iteration: int
    """0 between iterations."""
    event: ev.ToolDenied | ev.ToolAllowed


class RunHistory(Model):
    """The history of a project; every list has the oldest entry first."""

    runs: tuple[Run, ...] = ()
    iterations: tuple[Iteration, ...] = ()
    rulings: tuple[CallDecision, ...] = ()
    breaker: tuple[ev.BreakerChanged, ...] = ()
    tasks: Mapping[str, Task] = Field(default_factory=dict)
    """Every task as it was last, by id."""
    receipts: Mapping[str, tuple[Receipt, ...]] = Field(default_factory=dict)
    """What the checks of each task's last claim showed."""
    undone: tuple[str, ...] = ()
    """The tasks that the person undid after the last run."""
    helped: frozenset[int] = frozenset()
    """The numbers of the iterations that asked the person or got guidance."""
    stagnations: int = 0
    recovered: int = 0
    builds: int = 0
    good_builds: int = 0

    @property
    def seconds(self) -> float:
        """The duration of all runs. A run that never ended lasted as long as its iterations."""
        ended = {run.run_id: run.finished.seconds for run in self.runs if run.finished is not None}
        open_ones = (it.seconds for it in self.iterations if it.run_id not in ended)
        return sum(ended.values()) + sum(open_ones)

    def over(self, at: int) -> "RunHistory":
        """Return a copy for a project without a running loop: an open iteration or run ends at the offset `at`."""
        its, runs = self.iterations, self.runs
        if its and not its[-1].end:
            its = (*its[:-1], its[-1].model_copy(update={"end": at}))
        if runs and not runs[-1].end:
            runs = (*runs[:-1], runs[-1].model_copy(update={"end": at}))
        return self.model_copy(update={"iterations": its, "runs": runs})

    def find(self, wanted: str) -> Iteration | None:
        """Return the iteration that a person asks for, or None.

        Args:
            wanted: A number, the beginning of a session's or run's id, `@` with an offset in the journal, or
                `last`. An empty text also means the last iteration.
        """
        its = self.iterations
        if wanted in ("", "last"):
            return its[-1] if its else None
        matches = chain(
            (it for it in its if wanted == f"@{it.start}"),
            # Numbers repeat, because a reset restarts them at one.
            (it for it in reversed(its) if wanted == str(it.number)),
            (it for it in its if it.session_id.startswith(wanted)),
            (it for it in its if it.run_id.startswith(wanted)),
        )
        return next(matches, None)


class RunHistoryBuilder:
    """Builds a history from events and their offsets in the journal. Not thread-safe.

    Each method `on_TYPE` takes the events of this type.
    """

    def __init__(self, feature: str | None = None) -> None:
        """Start with an empty history of one feature, or of all features if it is None.

        The iterations of different features may have the same numbers.
        """
        self._feature = feature
        # A run works on one feature. What precedes the first one belongs to the plan without a name.
        self._is_ours = not feature
        self._start = self._end = 0
        """The offsets at which the line of the current event begins and ends."""
        self._runs: list[Run] = []
        self._iterations: list[Iteration] = []
        self._rulings: list[CallDecision] = []
        self._breaker: list[ev.BreakerChanged] = []
        self._open: set[str] = set()
        self._tasks: dict[str, Task] = {}
        self._receipts: dict[str, tuple[Receipt, ...]] = {}
        self._undone: list[str] = []
        self._helped: set[int] = set()
        self._counts: dict[str, Any] = dict.fromkeys(
            ("stagnations", "recovered", "builds", "good_builds"), 0
        )
        self._is_stuck = self._is_stagnant = False
        """Whether the stagnation counter is at its threshold, and whether no task was completed since then."""
        self._running_builds: set[str] = set()
        self._phase = Phase.BUILDING
        self._capacity = 0
        self._is_in_iteration = False
        self._steps_before: tuple[int, int] | None = None
        """The number of an iteration whose work has not begun, and the offset of its first step."""

    @property
    def chronicle(self) -> RunHistory:
        return RunHistory.model_construct(
            runs=tuple(self._runs),
            iterations=tuple(self._iterations),
            rulings=tuple(self._rulings),
            breaker=tuple(self._breaker),
            tasks=dict(self._tasks),
            receipts=dict(self._receipts),
            undone=tuple(self._undone),
            helped=frozenset(self._helped),
            **self._counts,
        )

    def feed(self, start: int, end: int, event: ev.Event) -> None:
        """Add one event, given the offsets at which its line in the journal begins and ends."""
        self._start, self._end = start, end
        if not self._takes(event):
            self._end_run()
        elif handler := getattr(self, f"on_{event.type}", None):
            handler(event)

    def _takes(self, event: ev.Event) -> bool:
        if self._feature is None:
            return True
        if isinstance(event, ev.WorkUndone):  # happens between runs
            return event.feature == self._feature
        if isinstance(event, ev.LoopStarted):
            self._is_ours = event.feature == self._feature
        return self._is_ours

    def _change(self, **changes: Any) -> None:
        if self._is_in_iteration:
            self._iterations[-1] = self._iterations[-1].model_copy(update=changes)

    def on_loop_started(self, e: ev.LoopStarted) -> None:
        self._end_run()
        self._phase, self._capacity = e.phase, e.context_capacity or self._capacity
        self._undone.clear()
        self._runs.append(Run(run_id=e.run_id, started_at=e.time, model=e.model, start=self._start))

    def on_loop_finished(self, e: ev.LoopFinished) -> None:
        self._end_current()
        if self._runs:
            self._runs[-1] = self._runs[-1].model_copy(update={"finished": e, "end": self._end})

    def _end_run(self) -> None:
        self._end_current()
        if self._runs and not self._runs[-1].end:
            self._runs[-1] = self._runs[-1].model_copy(update={"end": self._start})

    def _end_current(self) -> None:
        self._change(end=self._start, open_tasks=len(self._open))
        self._is_in_iteration = False

    def on_phase_changed(self, e: ev.PhaseChanged) -> None:
        self._phase = e.phase

    def on_plan_loaded(self, e: ev.PlanLoaded) -> None:
        self._open = {t.id for t in e.tasks if t.status is not TaskStatus.COMPLETE}
        self._tasks |= {task.id: task for task in e.tasks}

    def on_task_changed(self, e: ev.TaskChanged) -> None:
        done = e.task.status is TaskStatus.COMPLETE
        (self._open.discard if done else self._open.add)(e.task.id)
        self._tasks[e.task.id] = e.task

    def on_iteration_started(self, e: ev.IterationStarted) -> None:
        self._end_current()
        before, self._steps_before = self._steps_before, None
        self._is_in_iteration = True
        self._iterations.append(
            Iteration(
                number=e.iteration,
                run_id=self._runs[-1].run_id if self._runs else "",
                task_id=e.task_id,
                title=e.title,
                why=e.why,
                attempt=e.attempt,
                phase=self._phase,
                model=self._runs[-1].model if self._runs else "",
                started_at=e.time,
                capacity=self._capacity,
                start=before[1] if before and before[0] == e.iteration else self._start,
            )
        )

    def on_step_started(self, e: ev.StepStarted) -> None:
        """Remember where the steps before an iteration's work begin, because they belong to the iteration."""
        last = self._iterations[-1].number if self._iterations else 0
        known = self._steps_before
        if e.iteration != last and (known is None or known[0] != e.iteration):
            self._steps_before = (e.iteration, self._start)

    def on_step_finished(self, e: ev.StepFinished) -> None:
        if self._is_in_iteration or not self._iterations or not self._runs:
            return
        last = self._iterations[-1]
        if last.number == e.iteration and last.run_id == self._runs[-1].run_id:
            self._iterations[-1] = last.model_copy(update={"end": self._end})

    def on_work_committed(self, e: ev.WorkCommitted) -> None:
        at = self._last_of(e.iteration)
        if at is not None:
            last = self._iterations[at]
            more = {"end": self._end} if at == len(self._iterations) - 1 and last.end else {}
            self._iterations[at] = last.model_copy(update={"commit": e.commit, **more})

    def on_work_undone(self, e: ev.WorkUndone) -> None:
        self._undone.append(e.task_id)
        for number in e.iterations:
            at = self._last_of(number)
            if at is not None:
                self._iterations[at] = self._iterations[at].model_copy(update={"is_undone": True})

    def _last_of(self, number: int) -> int | None:
        places = range(len(self._iterations) - 1, -1, -1)
        return next((at for at in places if self._iterations[at].number == number), None)

    def on_session_started(self, e: ev.SessionStarted) -> None:
        self._change(session_id=e.session_id, **({"model": e.model} if e.model else {}))

    def on_usage_reported(self, e: ev.UsageReported) -> None:
        self._capacity = e.context_capacity or self._capacity
        self._change(capacity=self._capacity)

    def on_iteration_finished(self, e: ev.IterationFinished) -> None:
        shared = Iteration.model_fields.keys() & type(e).model_fields.keys()
        self._change(
            **{name: getattr(e, name) for name in shared},
            files=e.files_changed,
            ended_at=e.time,
            open_tasks=len(self._open),
            end=self._end,
        )
        self._is_in_iteration = False
        done = e.outcome is IterationOutcome.COMPLETE and e.task_id not in frozenset(Phase)
        if done and self._is_stagnant:
            self._counts["recovered"] += 1
            self._is_stagnant = False

    def on_gate_checked(self, e: ev.GateChecked) -> None:
        if e.receipt.exit_code is not None and BUILD.search(e.receipt.command):
            self._count_build(good=e.receipt.exit_code == 0)

    def on_gate_finished(self, e: ev.GateFinished) -> None:
        self._receipts[e.task_id] = e.receipts
        if self._is_in_iteration:
            now = self._iterations[-1]
            self._change(claims=now.claims + 1, refused_claims=now.refused_claims + (not e.passed))

    def on_tool_started(self, e: ev.ToolStarted) -> None:
        command = e.input.get("command")
        if isinstance(command, str) and BUILD.search(command):
            self._running_builds.add(e.tool_id)

    def on_tool_finished(self, e: ev.ToolFinished) -> None:
        if e.tool_id in self._running_builds:
            self._running_builds.remove(e.tool_id)
            if e.outcome in (ToolOutcome.OK, ToolOutcome.ERROR):
                self._count_build(good=e.outcome is ToolOutcome.OK)

    def _count_build(self, *, good: bool) -> None:
        self._counts["builds"] += 1
        self._counts["good_builds"] += good

    def on_question_asked(self, e: ev.QuestionAsked) -> None:
        if e.question.answer is None and self._iterations:  # not answered by a prepared file
            self._helped.add(self._iterations[-1].number)

    def on_injection_consumed(self, e: ev.InjectionConsumed) -> None:
        self._helped.add(e.iteration)

    def on_tool_denied(self, e: ev.ToolDenied | ev.ToolAllowed) -> None:
        current = self._iterations[-1] if self._is_in_iteration else None
        if current is not None and isinstance(e, ev.ToolDenied):
            self._change(denials=current.denials + 1)
        self._rulings.append(CallDecision(current.number if current is not None else 0, e))
        del self._rulings[:-KEPT_RULINGS]

    on_tool_allowed = on_tool_denied

    def on_breaker_changed(self, e: ev.BreakerChanged) -> None:
        threshold = e.breaker.max_stagnation_iterations
        was, self._is_stuck = self._is_stuck, 0 < threshold <= e.breaker.stagnation_count
        if self._is_stuck and not was:
            self._counts["stagnations"] += 1
            self._is_stagnant = True
        self._breaker.append(e)
        del self._breaker[:-KEPT_BREAKERS]


HISTORY_EVENTS = frozenset(
    name.removeprefix("on_") for name in vars(RunHistoryBuilder) if name.startswith("on_")
)
"""The types of the events that a history is built from."""
