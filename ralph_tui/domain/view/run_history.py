"""The history of a project by runs and iterations, built from the journal.

Each iteration has its offsets in the journal, so that a screen can read its events alone.
"""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from ralph_tui.domain import events as ev
from ralph_tui.domain.base import Model
from ralph_tui.domain.features import FeatureFilter
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.verification.verification import Receipt
from ralph_tui.domain.view.feature_events import FeatureEvents

KEPT_RULINGS = 500
KEPT_BREAKERS = 100


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
    open_tasks: int = 0
    """Tasks that were not complete when the iteration ended."""
    commit: str = ""
    is_undone: bool = False
    """Whether the person undid the work later."""
    start: int = 0
    end: int = 0
    """Offsets in the journal; `end` is 0 while the iteration runs."""

    @property
    def percent(self) -> float:
        return 100 * self.context_tokens / self.capacity if self.capacity else 0.0


@dataclass(frozen=True, slots=True)
class TaskHistory:
    """The history of one task in the journal."""

    attempts: tuple[Iteration, ...] = ()
    """Oldest first."""
    receipts: tuple[Receipt, ...] = ()
    """The receipts of the last claim that was checked."""


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

    @property
    def seconds(self) -> float:
        """The duration of all runs. A run that never ended lasted as long as its iterations."""
        ended = {run.run_id: run.finished.seconds for run in self.runs if run.finished is not None}
        open_ones = (it.seconds for it in self.iterations if it.run_id not in ended)
        return sum(ended.values()) + sum(open_ones)

    def iteration(self, number: int) -> Iteration | None:
        """Return the latest iteration with this number. Numbers repeat, because a reset restarts them at one."""
        return next((i for i in reversed(self.iterations) if i.number == number), None)

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
        if not self.iterations:
            return None
        if wanted.startswith("@"):
            return next((i for i in self.iterations if wanted == f"@{i.start}"), None)
        if wanted in ("", "last"):
            return self.iterations[-1]
        if wanted.isdecimal() and (found := self.iteration(int(wanted))):
            return found
        return next(
            (i for i in self.iterations if i.session_id.startswith(wanted)),
            next((i for i in self.iterations if i.run_id.startswith(wanted)), None),
        )


class RunHistoryBuilder:
    """Builds a chronicle from events and their offsets in the journal. Not thread-safe."""

    def __init__(self, past: FeatureFilter | None = None) -> None:
        """Start with an empty history of one feature, or of all features if `past` is None.

        The iterations of different features may have the same numbers.
        """
        self._events = FeatureEvents(past)
        self._runs: list[Run] = []
        self._iterations: list[Iteration] = []
        self._rulings: list[CallDecision] = []
        self._breaker: list[ev.BreakerChanged] = []
        self._open: set[str] = set()
        self._phase = Phase.BUILDING
        self._capacity = 0
        self._current: int | None = None
        self._steps_before: tuple[int, int] | None = None
        """The number of an iteration whose work has not begun, and the offset of its first step."""
        self._handlers: dict[str, Callable[[int, int, Any], None]] = {
            "loop_started": self._loop_started,
            "loop_finished": self._loop_finished,
            "phase_changed": self._phase_changed,
            "plan_loaded": self._plan_loaded,
            "task_changed": self._task_changed,
            "iteration_started": self._iteration_started,
            "session_started": self._session_started,
            "step_started": self._step_started,
            "step_finished": self._step_finished,
            "iteration_finished": self._iteration_finished,
            "work_committed": self._work_committed,
            "work_undone": self._work_undone,
            "tool_denied": self._call_judged,
            "tool_allowed": self._call_judged,
            "breaker_changed": self._breaker_changed,
        }

    @property
    def types(self) -> Collection[str]:
        return self._handlers.keys()

    @property
    def chronicle(self) -> RunHistory:
        return RunHistory.model_construct(
            runs=tuple(self._runs),
            iterations=tuple(self._iterations),
            rulings=tuple(self._rulings),
            breaker=tuple(self._breaker),
        )

    def feed(self, start: int, end: int, event: ev.Event) -> None:
        """Add one event, given the offsets at which its line in the journal begins and ends."""
        if not self._events.takes(event):
            self._end_run(start)
        elif handler := self._handlers.get(event.type):
            handler(start, end, event)

    def _change(self, **changes: Any) -> None:
        if self._current is not None:
            old = self._iterations[self._current]
            self._iterations[self._current] = old.model_copy(update=changes)

    def _loop_started(self, start: int, _: int, e: ev.LoopStarted) -> None:
        self._end_run(start)
        self._phase, self._capacity = e.phase, e.context_capacity
        self._runs.append(
            Run(run_id=e.run_id, started_at=e.time, model=e.model, start=start, end=0)
        )

    def _loop_finished(self, start: int, end: int, e: ev.LoopFinished) -> None:
        self._end_current(start)
        if self._runs:
            self._runs[-1] = self._runs[-1].model_copy(update={"finished": e, "end": end})

    def _end_run(self, at: int) -> None:
        self._end_current(at)
        if self._runs and not self._runs[-1].end:
            self._runs[-1] = self._runs[-1].model_copy(update={"end": at})

    def _end_current(self, at: int) -> None:
        if self._current is not None:
            self._change(end=at, open_tasks=len(self._open))
            self._current = None

    def _phase_changed(self, _: int, __: int, e: ev.PhaseChanged) -> None:
        self._phase = e.phase

    def _plan_loaded(self, _: int, __: int, e: ev.PlanLoaded) -> None:
        self._open = {t.id for t in e.tasks if t.status is not TaskStatus.COMPLETE}

    def _task_changed(self, _: int, __: int, e: ev.TaskChanged) -> None:
        done = e.task.status is TaskStatus.COMPLETE
        (self._open.discard if done else self._open.add)(e.task.id)

    def _iteration_started(self, start: int, _: int, e: ev.IterationStarted) -> None:
        self._end_current(start)
        before, self._steps_before = self._steps_before, None
        if before is not None and before[0] == e.iteration:
            start = before[1]
        self._current = len(self._iterations)
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
                start=start,
            )
        )

    def _step_started(self, start: int, _: int, e: ev.StepStarted) -> None:
        """Remember where the steps before an iteration's work begin, because they belong to the iteration."""
        last = self._iterations[-1].number if self._iterations else 0
        known = self._steps_before
        if e.iteration != last and (known is None or known[0] != e.iteration):
            self._steps_before = (e.iteration, start)

    def _step_finished(self, _: int, end: int, e: ev.StepFinished) -> None:
        if self._current is not None or not self._iterations or not self._runs:
            return
        last = self._iterations[-1]
        if last.number == e.iteration and last.run_id == self._runs[-1].run_id:
            self._iterations[-1] = last.model_copy(update={"end": end})

    def _work_committed(self, _: int, end: int, e: ev.WorkCommitted) -> None:
        at = self._last_of(e.iteration)
        if at is not None:
            last = self._iterations[at]
            more = {"end": end} if at == len(self._iterations) - 1 and last.end else {}
            self._iterations[at] = last.model_copy(update={"commit": e.commit, **more})

    def _work_undone(self, _: int, __: int, e: ev.WorkUndone) -> None:
        for number in e.iterations:
            at = self._last_of(number)
            if at is not None:
                self._iterations[at] = self._iterations[at].model_copy(update={"is_undone": True})

    def _last_of(self, number: int) -> int | None:
        places = range(len(self._iterations) - 1, -1, -1)
        return next((at for at in places if self._iterations[at].number == number), None)

    def _session_started(self, _: int, __: int, e: ev.SessionStarted) -> None:
        self._change(session_id=e.session_id, **({"model": e.model} if e.model else {}))

    def _iteration_finished(self, _: int, end: int, e: ev.IterationFinished) -> None:
        shared = Iteration.model_fields.keys() & type(e).model_fields.keys()
        self._change(
            **{name: getattr(e, name) for name in shared},
            files=e.files_changed,
            ended_at=e.time,
            open_tasks=len(self._open),
            end=end,
        )
        self._current = None

    def _call_judged(self, _: int, __: int, e: ev.ToolDenied | ev.ToolAllowed) -> None:
        current = None if self._current is None else self._iterations[self._current]
        if current is not None and isinstance(e, ev.ToolDenied):
            self._change(denials=current.denials + 1)
        self._rulings.append(CallDecision(current.number if current is not None else 0, e))
        del self._rulings[:-KEPT_RULINGS]

    def _breaker_changed(self, _: int, __: int, e: ev.BreakerChanged) -> None:
        self._breaker.append(e)
        del self._breaker[:-KEPT_BREAKERS]


HISTORY_EVENTS = frozenset(RunHistoryBuilder().types)
"""The types of the events that a chronicle is built from."""
