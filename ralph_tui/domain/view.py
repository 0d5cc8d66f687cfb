"""What a person sees of the loop, folded from events: `reduce(view, event) -> view`.

The view is small and bounded: the stream of tool calls is not in it; each face keeps as much of that
as it shows.
"""

from collections.abc import Callable
from datetime import datetime
from enum import StrEnum
from typing import Any

from pydantic import Field, InstanceOf

from ralph_tui.domain import events as ev
from ralph_tui.domain import underway
from ralph_tui.domain.breaker import CircuitBreaker
from ralph_tui.domain.budget import ContextBudget
from ralph_tui.domain.costs import CostLimits, CostMeter
from ralph_tui.domain.durations import duration
from ralph_tui.domain.model import Model
from ralph_tui.domain.plan import ImplementationPlan, Task
from ralph_tui.domain.questions import AskedQuestion
from ralph_tui.domain.state import Phase
from ralph_tui.domain.tasks import Tasks
from ralph_tui.domain.verification import Receipt

KEPT_ITERATIONS = 200
KEPT_NOTICES = 50


class RunState(StrEnum):
    """What the loop is doing, as one word."""

    IDLE = "idle"
    RUNNING = "running"
    VERIFYING = "verifying"
    WAITING = "waiting for you"
    LIMITED = "waiting for the limit"
    HANDING_OFF = "handing off"
    RETRYING = "retrying"
    PAUSING = "pausing"
    PAUSED = "paused"
    STOPPING = "stopping"
    COMPLETE = "complete"
    STOPPED = "stopped"
    FAILED = "failed"
    LOST = "disconnected"


ENDED = frozenset({RunState.COMPLETE, RunState.STOPPED, RunState.FAILED, RunState.LOST})
"""States after the last event of a run; LOST is a run of another process that had no last event."""


class Sight(StrEnum):
    """How much of the project has been told."""

    NOTHING = "nothing"
    PAST = "past"
    """What a loop of another process did so far is on its way."""
    ALL = "all"


class PendingInjection(Model):
    """Guidance that no iteration has got yet."""

    id: str
    text: str


class LoopView(Model):
    """The loop at a glance."""

    sight: Sight = Sight.NOTHING
    caught_up: int = 0
    """Percent of the past that was told, while it is on its way."""
    trouble: str = ""
    """Why the project cannot be read now; the rest was told before that."""
    unworkable: str = ""
    """Why the plan cannot be built as it is, while nobody builds it."""
    run_state: RunState = RunState.IDLE
    project: str = ""
    phase: Phase = Phase.BUILDING
    model: str = ""
    iteration: int = 0
    max_iterations: int = 0
    run_iterations: int = 0
    """Iterations started in this run."""
    task_id: str | None = None
    why: str = ""
    attempt: int = 0
    tasks: InstanceOf[Tasks] = Field(default_factory=Tasks)
    budget: ContextBudget = Field(default_factory=ContextBudget)
    smart_zone: tuple[int, int] = (40, 60)
    costs: CostMeter = Field(default_factory=CostMeter)
    limits: CostLimits = Field(default_factory=CostLimits)
    breaker: CircuitBreaker = Field(default_factory=CircuitBreaker)
    gate_task_id: str | None = None
    """The task of the last claim that was checked, which an earlier iteration may have made."""
    receipts: tuple[Receipt, ...] = ()
    gate_passed: bool | None = None
    injections: tuple[PendingInjection, ...] = ()
    questions: tuple[AskedQuestion, ...] = ()
    """Questions that wait for the person, oldest first."""
    approval: ev.ApprovalRequested | None = None
    """The decision that waits for the person."""
    limit_until: datetime | None = None
    """When the usage limit resets that the loop waits for."""
    iterations: tuple[ev.IterationFinished, ...] = ()
    notices: tuple[ev.Notice, ...] = ()
    denials: int = 0
    learnings: int = 0
    handoffs: int = 0
    detail: str = ""
    """One line that says more than the state word: the retry, the wait, the reason it stopped."""
    status: ev.LoopStatus | None = None
    exit_code: int | None = None
    elsewhere: ev.LoopFound | None = None
    """The other process that runs the loop, while we follow it."""

    @property
    def is_known(self) -> bool:
        """Whether the figures are those of the project, and not only where they begin."""
        return self.sight is Sight.ALL

    @property
    def gate_is_past(self) -> bool:
        """The last claim was about another task than the one being worked."""
        return self.gate_task_id is not None and self.gate_task_id != self.task_id

    @property
    def goes_on_at(self) -> datetime | None:
        """When it goes on by itself: a limit resets, or an open breaker has cooled down."""
        cooled = self.breaker.half_open_at if self.breaker.is_cooling else None
        return self.limit_until or cooled

    @property
    def current_task(self) -> Task | None:
        """The task being worked, or None."""
        return self.tasks.get(self.task_id) if self.task_id else None


def reduce(view: LoopView, event: ev.Event) -> LoopView:
    """The view after one more event; pure, total over the event union."""
    handler = _HANDLERS.get(type(event))
    return view.model_copy(update=handler(view, event)) if handler else view


_Changes = dict[str, Any]


def _standing(e: ev.Standing) -> _Changes:
    lowest, most = e.smart_zone
    budget = ContextBudget(
        total_capacity=e.context_capacity or 200_000,
        smart_zone_min_percent=lowest,
        budget_percent=most,
        handoff_threshold_percent=e.wrap_up_percent,
    )
    return {
        "project": e.project,
        "phase": e.phase,
        "model": e.model,
        "max_iterations": e.max_iterations,
        "budget": budget,
        "smart_zone": e.smart_zone,
        "limits": e.limits,
        "costs": e.costs,
        "breaker": e.breaker,
        "trouble": "",
    }


def _loop_started(view: LoopView, e: ev.LoopStarted) -> _Changes:
    fresh = LoopView(tasks=view.tasks, injections=view.injections)
    return {name: getattr(fresh, name) for name in LoopView.model_fields} | {
        **_standing(e),
        "sight": view.sight if view.sight is Sight.PAST else Sight.ALL,
        "caught_up": view.caught_up,
        "run_state": RunState.RUNNING,
        "iteration": e.iteration,
        "iterations": view.iterations,
        "elsewhere": view.elsewhere,
    }


def _project_read(view: LoopView, e: ev.ProjectRead) -> _Changes:
    """A run that has ended stays in sight with its figures."""
    seen: _Changes = {"sight": Sight.ALL, "trouble": "", "unworkable": e.unworkable}
    keeps = view.run_state in ENDED and view.is_known
    return seen if keeps else _standing(e) | seen


_END_STATES = {
    ev.LoopStatus.COMPLETE: RunState.COMPLETE,
    ev.LoopStatus.ERROR: RunState.FAILED,
}


def _loop_finished(_: LoopView, e: ev.LoopFinished) -> _Changes:
    return {
        "run_state": _END_STATES.get(e.status, RunState.STOPPED),
        "status": e.status,
        "exit_code": e.exit_code,
        "detail": f"{e.reason} {e.hint}".strip(),
        "task_id": None,
        "questions": (),
        "limit_until": None,
    }


def _plan_loaded(view: LoopView, e: ev.PlanLoaded) -> _Changes:
    changes: _Changes = {"tasks": view.tasks.told_anew(e.tasks)}
    worked = view.current_task
    now = underway.found(ImplementationPlan(tasks=e.tasks), worked) if worked else None
    return changes | ({"task_id": now.id} if now is not None else {})  # it may have been renamed


def _task_changed(view: LoopView, e: ev.TaskChanged) -> _Changes:
    return {"tasks": view.tasks.having(e.task)}


def _iteration_started(view: LoopView, e: ev.IterationStarted) -> _Changes:
    return {
        "run_state": _unless_halting(view, RunState.RUNNING),
        "iteration": e.iteration,
        "run_iterations": view.run_iterations + 1,
        "task_id": e.task_id,
        "why": e.why,
        "attempt": e.attempt,
        "budget": view.budget.using(0),
        "costs": view.costs.next_iteration(),
        "detail": "",
    }


def _iteration_finished(view: LoopView, e: ev.IterationFinished) -> _Changes:
    return {
        "iterations": (*view.iterations, e)[-KEPT_ITERATIONS:],
        "task_id": None,
        "run_state": _unless_halting(view, RunState.RUNNING),
    }


def _usage_reported(view: LoopView, e: ev.UsageReported) -> _Changes:
    capacity = e.context_capacity or view.budget.total_capacity
    budget = view.budget.model_copy(
        update={"current_usage": e.context_tokens, "total_capacity": capacity}
    )
    changes: _Changes = {"budget": budget, "costs": e.costs}
    if view.run_state is RunState.RETRYING:
        changes |= {"run_state": RunState.RUNNING, "detail": ""}
    return changes


def _gate_started(view: LoopView, e: ev.GateStarted) -> _Changes:
    return {
        "run_state": _unless_halting(view, RunState.VERIFYING),
        "gate_task_id": e.task_id,
        "receipts": (),
        "gate_passed": None,
    }


def _gate_checked(view: LoopView, e: ev.GateChecked) -> _Changes:
    return {"receipts": (*view.receipts, e.receipt)}


def _gate_finished(view: LoopView, e: ev.GateFinished) -> _Changes:
    return {
        "run_state": _unless_halting(view, RunState.RUNNING),
        "gate_task_id": e.task_id,
        "receipts": e.receipts,
        "gate_passed": e.passed,
    }


def _injection_queued(view: LoopView, e: ev.InjectionQueued) -> _Changes:
    known = tuple(i for i in view.injections if i.id != e.id)
    return {"injections": (*known, PendingInjection(id=e.id, text=e.text))}


def _injection_consumed(view: LoopView, e: ev.InjectionConsumed) -> _Changes:
    return {"injections": tuple(i for i in view.injections if i.id not in e.ids)}


def _handoff_started(view: LoopView, e: ev.HandoffStarted) -> _Changes:
    return {"run_state": _unless_halting(view, RunState.HANDING_OFF), "detail": e.reason}


def _handoff_finished(view: LoopView, _: ev.HandoffFinished) -> _Changes:
    return {
        "run_state": _unless_halting(view, RunState.RUNNING),
        "handoffs": view.handoffs + 1,
        "detail": "",
    }


def _question_asked(view: LoopView, e: ev.QuestionAsked) -> _Changes:
    known = tuple(q for q in view.questions if q.id != e.question.id)
    return {"questions": (*known, e.question), "run_state": _waiting(view)}


def _question_answered(view: LoopView, e: ev.QuestionAnswered) -> _Changes:
    left = tuple(q for q in view.questions if q.id != e.question.id)
    return {"questions": left, "run_state": _no_longer_waiting(view, asked=bool(left))}


def _approval_requested(view: LoopView, e: ev.ApprovalRequested) -> _Changes:
    return {"approval": e, "run_state": _waiting(view)}


def _approval_given(view: LoopView, _: ev.ApprovalGiven) -> _Changes:
    return {"approval": None, "run_state": _no_longer_waiting(view, asked=bool(view.questions))}


def _waiting(view: LoopView) -> RunState:
    """What waits on disk while no loop runs makes none run."""
    over = view.run_state in ENDED or view.run_state is RunState.IDLE
    return view.run_state if over else _unless_halting(view, RunState.WAITING)


def _no_longer_waiting(view: LoopView, *, asked: bool) -> RunState:
    over = view.run_state is RunState.WAITING and not asked
    return RunState.RUNNING if over else view.run_state


def _limit_wait(_: LoopView, e: ev.LimitWait) -> _Changes:
    return {"run_state": RunState.LIMITED, "limit_until": e.until, "detail": e.message}


def _limit_wait_ended(_: LoopView, __: ev.LimitWaitEnded) -> _Changes:
    return {"run_state": RunState.RUNNING, "limit_until": None, "detail": ""}


def _api_retry(view: LoopView, e: ev.ApiRetry) -> _Changes:
    status = f" ({e.status})" if e.status else ""
    detail = f"{e.error or 'the model did not answer'}{status}, try {e.attempt}/{e.max_attempts}"
    return {
        "run_state": _unless_halting(view, RunState.RETRYING),
        "detail": f"{detail} in {duration(e.delay_seconds)}",
    }


def _agent_failed(_: LoopView, e: ev.AgentFailed) -> _Changes:
    return {"detail": f"{e.message} {e.hint}".strip()}


def _notice(view: LoopView, e: ev.Notice) -> _Changes:
    return {"notices": (*view.notices, e)[-KEPT_NOTICES:]}


def _pause_requested(_: LoopView, e: ev.PauseRequested) -> _Changes:
    detail = "pausing now" if e.now else "pauses after this iteration; ask again to pause now"
    return {"run_state": RunState.PAUSING, "detail": detail}


def _stop_requested(_: LoopView, e: ev.StopRequested) -> _Changes:
    detail = "stopping now" if e.now else "stops after this iteration; ask again to stop now"
    return {"run_state": RunState.STOPPING, "detail": detail}


def _loop_lost(view: LoopView, e: ev.LoopLost) -> _Changes:
    changes: _Changes = {"elsewhere": None, "sight": Sight.ALL}
    if view.run_state in ENDED or view.run_state is RunState.IDLE:
        return changes
    return changes | {
        "run_state": RunState.LOST,
        "detail": f"process {e.pid} is gone without a last word",
        "task_id": None,
        "questions": (),
        "approval": None,
        "limit_until": None,
    }


def _limits_changed(view: LoopView, e: ev.LimitsChanged) -> _Changes:
    given = e.adjusted.model_dump(exclude_none=True)
    money = {name: given[name] for name in CostLimits.model_fields if name in given}
    return {
        "limits": view.limits.model_copy(update=money),
        "max_iterations": given.get("max_iterations", view.max_iterations),
    }


def _unless_halting(view: LoopView, state: RunState) -> RunState:
    """A pause or stop that was asked for stays in sight while the iteration goes on."""
    halting = view.run_state in (RunState.PAUSING, RunState.STOPPING)
    return view.run_state if halting else state


_HANDLERS: dict[type[ev.EventBase], Callable[[LoopView, Any], _Changes]] = {
    ev.LoopStarted: _loop_started,
    ev.LoopFinished: _loop_finished,
    ev.PhaseChanged: lambda _, e: {"phase": e.phase},
    ev.PlanLoaded: _plan_loaded,
    ev.TaskChanged: _task_changed,
    ev.IterationStarted: _iteration_started,
    ev.IterationFinished: _iteration_finished,
    ev.SessionStarted: lambda view, e: {"model": e.model or view.model},
    ev.ToolDenied: lambda view, _: {"denials": view.denials + 1},
    ev.UsageReported: _usage_reported,
    ev.GateStarted: _gate_started,
    ev.GateChecked: _gate_checked,
    ev.GateFinished: _gate_finished,
    ev.LearningRecorded: lambda view, _: {"learnings": view.learnings + 1},
    ev.InjectionQueued: _injection_queued,
    ev.InjectionConsumed: _injection_consumed,
    ev.QuestionAsked: _question_asked,
    ev.QuestionAnswered: _question_answered,
    ev.ApprovalRequested: _approval_requested,
    ev.ApprovalGiven: _approval_given,
    ev.LimitWait: _limit_wait,
    ev.LimitWaitEnded: _limit_wait_ended,
    ev.HandoffStarted: _handoff_started,
    ev.HandoffFinished: _handoff_finished,
    ev.BreakerChanged: lambda _, e: {"breaker": e.breaker},
    ev.LimitReached: lambda _, e: {"detail": e.message},
    ev.ApiRetry: _api_retry,
    ev.AgentFailed: _agent_failed,
    ev.PauseRequested: _pause_requested,
    ev.LoopPaused: lambda *_: {"run_state": RunState.PAUSED, "detail": "", "task_id": None},
    ev.LoopResumed: lambda *_: {"run_state": RunState.RUNNING, "detail": ""},
    ev.StopRequested: _stop_requested,
    ev.LimitsChanged: _limits_changed,
    ev.Notice: _notice,
    ev.ProjectRead: _project_read,
    ev.ProjectUnreadable: lambda _, e: {"trouble": e.reason},
    ev.CatchingUp: lambda _, e: {"sight": Sight.PAST, "caught_up": e.percent},
    ev.LoopFound: lambda _, e: {"elsewhere": e, "sight": Sight.ALL, "trouble": ""},
    ev.LoopLost: _loop_lost,
}
