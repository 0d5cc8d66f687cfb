"""Begin a run on disk, and describe the project to the user interfaces."""

import asyncio
import os
from datetime import UTC, datetime

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.project_state import Phase, StopMode
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.session.iteration_guidance import with_guidance_used
from ralph_tui.store.feature_choice import checked_out
from ralph_tui.store.journal.event_scanner import Scan
from ralph_tui.store.journal.journal import last_run
from ralph_tui.store.project import Documents, Outcome, Project

RESET = "--reset-circuit"
"""The reason recorded for a breaker that the person reset at the start of the run."""


async def begin_run(
    project: Project,
    settings: Settings,
    request: RunRequest,
    run_id: str,
    phase: Phase,
) -> tuple[Documents, tuple[str, ...]]:
    """Begin a run on disk: reset the figures, drop requests of an earlier run and queue stale tasks again.

    Returns:
        The documents, and the ids of the tasks that were queued again.
    """

    def change(docs: Documents) -> Outcome[tuple[str, ...]]:
        docs = with_guidance_used(docs, heard=False)  # guidance of a run that was killed
        plan, stale = docs.plan.reset_stale()
        fresh = docs.with_state(
            project_root=str(project.root),
            session_id=run_id[:12],
            started_at=docs.state.started_at or datetime.now(UTC),
            current_phase=docs.state.current_phase if request.is_aside else phase,
            session_cost_usd=0.0,
            session_tokens_used=0,
            tasks_completed_this_session=0,
            adjusted=None,
            paused=False,
            pause=StopMode.NONE,
            stop=StopMode.NONE,
            stop_why="",
            unanswered=False,
            retry_now=False,
            waits=None,
            approval=docs.state.decision,
            set_aside=None,
        )
        breaker = fresh_breaker(docs.breaker, settings, request)
        steps = docs.steps.at_start(settings.steps_in_order)
        return Outcome(fresh.replacing(plan=plan, breaker=breaker, steps=steps), tuple(stale))

    return await asyncio.to_thread(project.transact_returning, change)


def fresh_breaker(
    breaker: CircuitBreaker, settings: Settings, request: RunRequest
) -> CircuitBreaker:
    """Return the breaker at the start of a run: reset by the new start, with the current thresholds.

    If a run was killed during a cooldown, the next run that waits for a person continues it, unless the person wants the
    breaker reset.
    """
    limits = settings.circuit_breaker
    waits = request.interactive and not request.reset_breaker
    cools = waits and breaker.is_cooling and limits.cooldown_minutes > 0
    tripped = breaker.state is not BreakerState.CLOSED
    why = (
        (RESET if request.reset_breaker else "a new run started")
        if tripped
        else breaker.reset_reason
    )
    begun = breaker if cools else breaker.reset(why)
    return with_thresholds(begun, settings)


def with_thresholds(breaker: CircuitBreaker, settings: Settings) -> CircuitBreaker:
    limits = settings.circuit_breaker
    return breaker.model_copy(
        update={
            "max_consecutive_failures": limits.max_consecutive_failures,
            "max_stagnation_iterations": limits.max_stagnation_iterations,
            "max_same_error": limits.max_same_error,
            "max_denied": limits.max_denied,
            "max_tests_only": limits.max_tests_only,
            "max_cost_usd": settings.safety.cost_limits.total,
        }
    )


def run_started(
    project: Project, settings: Settings, docs: Documents, run_id: str, request: str
) -> ev.LoopStarted:
    """Return the first event of a run, which describes the run to a user interface.

    Args:
        request: A request that discovery will write to the documents; empty to keep the last one.
    """
    shared = {
        name: value
        for name, value in project_read(project, settings, docs)
        if name in ev.Standing.model_fields and name != "type"
    }
    if request:
        shared["request"] = request
    return ev.LoopStarted(run_id=run_id, pid=os.getpid(), **shared)


def project_read(project: Project, settings: Settings, docs: Documents) -> ev.ProjectRead:
    from ralph_tui.engine.verification.detection.project_checks import (
        checks_of,  # slow to import, so not before the first paint
    )

    asked = docs.state.decision
    context, capacity = settings.context, settings.context.capacity_tokens
    plans = docs.state.current_phase in (Phase.DISCOVERY, Phase.PLANNING)
    builds = docs.state.current_phase is Phase.BUILDING
    validated = docs.state.current_phase is Phase.VALIDATION and not docs.state.awaits_decision
    report = project.read_report() if validated else None
    ends, begun = [], last_run(project.layout.events)
    if begun is not None and begun[1].feature == project.layout.feature:
        found = Scan(project.layout.events, ("loop_finished",), start=begun[0])
        ends = [one.event for one in found]
    return ev.ProjectRead(
        project=settings.project.name or project.root.resolve().name,
        phase=docs.state.current_phase,
        max_iterations=settings.phases.building.max_iterations,
        iteration=docs.state.iteration_count,
        context_capacity=200_000 if capacity == "auto" else capacity,
        smart_zone=(ContextBudget().smart_zone_min_percent, context.budget_percent),
        wrap_up_percent=context.handoff_threshold_percent,
        limits=settings.safety.cost_limits,
        costs=CostMeter(session=docs.state.session_cost_usd, total=docs.project_cost),
        breaker=with_thresholds(docs.breaker, settings),
        model=settings.models.planning if plans else settings.models.primary,
        checks=checks_of(project.root, settings),
        unworkable=docs.plan.why_unworkable() if builds else "",
        finished=report is not None and report.confirms(docs.plan),
        awaits=asked.kind if asked is not None and asked.approved is None else None,
        last=ends[-1] if ends and isinstance(ends[-1], ev.LoopFinished) else None,
        feature=docs.feature,
        features=len(docs.project.features),
        request=docs.state.request,
        branch=checked_out(project.root),
    )
