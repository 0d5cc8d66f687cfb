"""Update the view of the loop with each event. Pure functions."""

from collections.abc import Callable
from typing import Any

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostLimits
from ralph_tui.domain.formatting import duration
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan import task_map
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.domain.view.loop_view import (
    ENDED,
    KEPT_ITERATIONS,
    KEPT_NOTICES,
    KEPT_STEPS,
    RESTING,
    LoadState,
    LoopView,
    RunState,
)


def reduce(view: LoopView, event: ev.Event) -> LoopView:
    handler = _HANDLERS.get(type(event))
    return view.model_copy(update=handler(view, event)) if handler else view


_Changes = dict[str, Any]


def _standing_fields(e: ev.Standing) -> _Changes:
    lowest, most = e.smart_zone
    budget = ContextBudget(
        total_capacity=e.context_capacity or 200_000,
        smart_zone_min_percent=lowest,
        budget_percent=most,
        handoff_threshold_percent=e.wrap_up_percent,
    )
    shared = LoopView.model_fields.keys() & ev.Standing.model_fields.keys() - {"iteration"}
    return {name: getattr(e, name) for name in shared} | {"budget": budget, "trouble": ""}


def _loop_started(view: LoopView, e: ev.LoopStarted) -> _Changes:
    fresh = LoopView(tasks=view.tasks, injections=view.injections)
    return {name: getattr(fresh, name) for name in LoopView.model_fields} | {
        **_standing_fields(e),
        "sight": view.sight if view.sight is LoadState.PAST else LoadState.ALL,
        "caught_up": view.caught_up,
        "run_state": RunState.RUNNING,
        "iteration": e.iteration,
        "iterations": view.iterations,
        "elsewhere": view.elsewhere,
    }


def _project_read(view: LoopView, e: ev.ProjectRead) -> _Changes:
    """Take the figures from disk, unless the view shows those of a run that has ended."""
    read: _Changes = {"sight": LoadState.ALL, "trouble": "", "unworkable": e.unworkable}
    read |= {"finished": e.finished, "features": e.features, "awaits": e.awaits, "last": e.last}
    if view.is_known and e.feature != view.feature:  # the person switched to another feature
        fresh = LoopView()
        defaults = {name: getattr(fresh, name) for name in LoopView.model_fields}
        return defaults | _standing_fields(e) | read
    shows_ended_run = view.run_state in ENDED and view.is_known
    return read if shows_ended_run else _standing_fields(e) | read


END_STATES = {
    LoopStatus.COMPLETE: RunState.COMPLETE,
    LoopStatus.ERROR: RunState.FAILED,
}


def _plan_loaded(view: LoopView, e: ev.PlanLoaded) -> _Changes:
    changes: _Changes = {"tasks": view.tasks.refreshed(e.tasks)}
    current = view.current_task
    now = task_map.found(ImplementationPlan(tasks=e.tasks), current) if current else None
    return changes | ({"task_id": now.id} if now is not None else {})  # its id may have changed


def _iteration_started(view: LoopView, e: ev.IterationStarted) -> _Changes:
    # An iteration that hit a usage limit does not count, and the next one reuses its number.
    again = e.iteration == view.iteration and view.run_iterations > 0
    return {
        "run_state": _unless_halting(view, RunState.RUNNING),
        "iteration": e.iteration,
        "run_iterations": view.run_iterations + (not again),
        "task_id": e.task_id,
        "why": e.why,
        "attempt": e.attempt,
        "budget": view.budget.using(0),
        "costs": view.costs.next_iteration(),
        "detail": "",
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


def _gate_finished(view: LoopView, e: ev.GateFinished) -> _Changes:
    state = RunState.VERIFYING if e.reviewed else RunState.RUNNING
    return {
        "run_state": _unless_halting(view, state),
        "gate_task_id": e.task_id,
        "receipts": e.receipts,
        "gate_passed": None if e.reviewed else e.passed,
    }


def _step_finished(view: LoopView, e: ev.StepFinished) -> _Changes:
    others = tuple(step for step in view.steps if step.step != e.step)
    return {"step": None, "steps": (*others, e)[-KEPT_STEPS:]}


def _injection_queued(view: LoopView, e: ev.InjectionQueued) -> _Changes:
    known = {queued.id: queued for queued in view.injections}
    if e.id in known and known[e.id].text == e.text:
        return {}
    return {"injections": (*(i for i in view.injections if i.id != e.id), e)}


def _question_asked(view: LoopView, e: ev.QuestionAsked) -> _Changes:
    known = tuple(q for q in view.questions if q.id != e.question.id)
    return {"questions": (*known, e.question), "run_state": _waiting(view)}


def _question_answered(view: LoopView, e: ev.QuestionAnswered) -> _Changes:
    left = tuple(q for q in view.questions if q.id != e.question.id)
    return {
        "questions": left,
        "run_state": _no_longer_waiting(view, asked=bool(left)),
        "settled_by": e.question.answer.by if e.question.answer else "",
    }


def _waiting(view: LoopView) -> RunState:
    is_over = view.run_state in ENDED or view.run_state is RunState.IDLE
    return view.run_state if is_over else _unless_halting(view, RunState.WAITING)


def _no_longer_waiting(view: LoopView, *, asked: bool) -> RunState:
    resumes = view.run_state is RunState.WAITING and not asked
    return RunState.RUNNING if resumes else view.run_state


def _api_retry(view: LoopView, e: ev.ApiRetry) -> _Changes:
    status = f" ({e.status})" if e.status else ""
    detail = (
        f"{e.error or 'the model did not answer'}{status}, attempt {e.attempt}/{e.max_attempts}"
    )
    return {
        "run_state": _unless_halting(view, RunState.RETRYING),
        "detail": f"{detail} in {duration(e.delay_seconds)}",
    }


def _pause_requested(_: LoopView, e: ev.PauseRequested) -> _Changes:
    detail = "pausing now" if e.now else "pausing after this iteration. Ask again to pause now"
    return {"run_state": RunState.PAUSING, "detail": detail}


def _stop_requested(_: LoopView, e: ev.StopRequested) -> _Changes:
    detail = "stopping now" if e.now else "stopping after this iteration. Ask again to stop now"
    return {"run_state": RunState.STOPPING, "detail": detail}


def _loop_lost(view: LoopView, e: ev.LoopLost) -> _Changes:
    changes: _Changes = {"elsewhere": None, "sight": LoadState.ALL, "unfinished": ()}
    if view.run_state in RESTING:
        return changes
    return changes | {
        "run_state": RunState.LOST,
        "detail": f"process {e.pid} ended unexpectedly",
        "task_id": None,
        "step": None,
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
    halting = view.run_state in (RunState.PAUSING, RunState.STOPPING)
    return view.run_state if halting else state


_HANDLERS: dict[type[ev.Event], Callable[[LoopView, Any], _Changes]] = {
    ev.LoopStarted: _loop_started,
    ev.LoopFinished: lambda _, e: {
        "run_state": END_STATES.get(e.status, RunState.STOPPED),
        "status": e.status,
        "exit_code": e.exit_code,
        "detail": f"{e.reason} {e.hint}".strip(),
        "task_id": None,
        "step": None,
        "questions": (),
        "limit_until": None,
        "unfinished": (),
    },
    ev.PhaseChanged: lambda _, e: {"phase": e.phase},
    ev.PlanLoaded: _plan_loaded,
    ev.TaskChanged: lambda view, e: {"tasks": view.tasks.with_task(e.task)},
    ev.IterationStarted: _iteration_started,
    ev.IterationFinished: lambda view, e: {
        "iterations": (*view.iterations, e)[-KEPT_ITERATIONS:],
        "task_id": None,
        "run_state": _unless_halting(view, RunState.RUNNING),
    },
    ev.SessionStarted: lambda view, e: {"model": e.model or view.model},
    ev.ToolDenied: lambda view, _: {"denials": view.denials + 1},
    ev.UsageReported: _usage_reported,
    ev.GateStarted: lambda view, e: {
        "run_state": _unless_halting(view, RunState.VERIFYING),
        "gate_task_id": e.task_id,
        "receipts": (),
        "gate_passed": None,
    },
    ev.GateChecked: lambda view, e: {"receipts": (*view.receipts, e.receipt)},
    ev.GateFinished: _gate_finished,
    ev.ReviewFinished: lambda view, e: {
        "run_state": _unless_halting(view, RunState.RUNNING),
        "gate_passed": e.review.agreed,
    },
    ev.ValidationFinished: lambda _, e: {"gate_passed": e.passed},
    ev.StepStarted: lambda view, e: {
        "step": e,
        "run_state": _unless_halting(view, RunState.RUNNING),
        "detail": "",
    },
    ev.StepFinished: _step_finished,
    ev.LearningRecorded: lambda view, _: {"learnings": view.learnings + 1},
    ev.InjectionQueued: _injection_queued,
    ev.InjectionConsumed: lambda view, e: {
        "injections": tuple(i for i in view.injections if i.id not in e.ids)
    },
    ev.QuestionAsked: _question_asked,
    ev.QuestionAnswered: _question_answered,
    ev.ApprovalRequested: lambda view, e: {"approval": e, "run_state": _waiting(view)},
    ev.ApprovalGiven: lambda view, e: {
        "approval": None,
        "run_state": _no_longer_waiting(view, asked=bool(view.questions)),
        "settled_by": e.by,
    },
    ev.NobodyAnswered: lambda view, _: {"run_state": _no_longer_waiting(view, asked=False)},
    ev.LimitWait: lambda _, e: {
        "run_state": RunState.LIMITED,
        "limit_until": e.until,
        "detail": e.message,
    },
    ev.LimitWaitEnded: lambda *_: {
        "run_state": RunState.RUNNING,
        "limit_until": None,
        "detail": "",
    },
    ev.HandoffStarted: lambda view, e: {
        "run_state": _unless_halting(view, RunState.HANDING_OFF),
        "detail": e.reason,
    },
    ev.HandoffFinished: lambda view, _: {
        "run_state": _unless_halting(view, RunState.RUNNING),
        "detail": "",
    },
    ev.BreakerChanged: lambda _, e: {"breaker": e.breaker},
    ev.LimitReached: lambda _, e: {"detail": e.message},
    ev.ApiRetry: _api_retry,
    ev.AgentFailed: lambda _, e: {"detail": f"{e.message} {e.hint}".strip()},
    ev.PauseRequested: _pause_requested,
    ev.LoopPaused: lambda *_: {"run_state": RunState.PAUSED, "detail": "", "task_id": None},
    ev.LoopResumed: lambda *_: {"run_state": RunState.RUNNING, "detail": ""},
    ev.StopRequested: _stop_requested,
    ev.LimitsChanged: _limits_changed,
    ev.Notice: lambda view, e: {"notices": (*view.notices, e)[-KEPT_NOTICES:]},
    ev.ProjectRead: _project_read,
    ev.ProjectUnreadable: lambda _, e: {"trouble": e.reason},
    ev.CatchingUp: lambda _, e: {"sight": LoadState.PAST, "caught_up": e.percent},
    ev.LoopFound: lambda _, e: {"elsewhere": e, "sight": LoadState.ALL, "trouble": ""},
    ev.FilesUnfinished: lambda _, e: {"unfinished": e.names},
    ev.LoopLost: _loop_lost,
}
