"""Take a run through its phases: decide each transition and report the reason."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, complete_end, stopped_end
from ralph_tui.engine.decisions.ask_person import decide
from ralph_tui.engine.limits.open_breaker import change_breaker
from ralph_tui.engine.phases import compaction, discovery, plan_additions, planning, validation
from ralph_tui.engine.phases.build_loop import BuildLoop, require_workable, take_baseline
from ralph_tui.engine.phases.finished_work import FinishedWork
from ralph_tui.engine.phases.phase_session import Stage
from ralph_tui.engine.session.prompt_memory import phase_decisions
from ralph_tui.engine.steps.around_work import StepsAroundWork
from ralph_tui.engine.verification.coverage import (
    allowing_unverified,
    coverage_hint,
    require_checks,
    uncovered,
    uncovered_notice,
)
from ralph_tui.store.project import Documents, Project

StageMaker = Callable[[Phase], AbstractAsyncContextManager[Stage]]
"""Opens a phase with its guard and tools; they are closed when the phase is over."""

_NEXT = {Phase.DISCOVERY: Phase.PLANNING, Phase.PLANNING: Phase.BUILDING}
WHY_NEXT = {
    Phase.PLANNING: "the specs are complete and approved",
    Phase.BUILDING: "the plan is valid and approved",
    Phase.VALIDATION: "every task is complete",
}
_NEEDS = {
    Phase.PLANNING: "There are no specs to plan from.",
    Phase.VALIDATION: "There are no specs or completed tasks to validate.",
}


def first_phase(project: Project, docs: Documents, request: RunRequest) -> Phase:
    has_specs = any(spec.criteria for spec in project.read_specs())
    phase, _ = chosen_phase(docs, request, has_specs=has_specs)
    if request.once and phase is not Phase.BUILDING:
        raise PlanError(
            f"--once builds one task of the plan, but the next phase is {phase.value}.",
            "Omit --once, or build the plan as it is with `ralph build --once`.",
        )
    if request.addition is not None:
        plan_additions.require_extensible(docs)
        return phase
    if request.compacts:
        compaction.require_learnings(project)
        return phase
    if phase is Phase.BUILDING and has_specs and not docs.plan.tasks:
        raise PlanError("The plan has no tasks, but there are specs.", "Make it with `ralph plan`.")
    if phase is Phase.BUILDING:
        require_workable(docs.plan)
    if phase is Phase.DISCOVERY and not (request.text.strip() or docs.state.request):
        hint = 'Describe what you want: ralph discover "A habit tracker".'
        raise PlanError("Discovery needs a request.", hint)
    if phase in _NEEDS and not project.read_specs() and not docs.plan.tasks:
        hint = 'Start with `ralph discover "what you want"`, or write specs/*.md.'
        raise PlanError(_NEEDS[phase], hint)
    return phase


def chosen_phase(
    docs: Documents, request: RunRequest, *, has_specs: bool = False
) -> tuple[Phase, str]:
    if request.only is not None:
        return request.only, "requested by its command"
    if discovery.is_new(docs, request):
        return Phase.DISCOVERY, "the request is new"
    if (asked := docs.state.decision) is not None and asked.kind is ApprovalKind.PLAN:
        return Phase.PLANNING, "the plan needs your approval"
    if has_specs and not (docs.state.request or docs.plan.tasks):
        return Phase.PLANNING, "there are specs and no plan (`ralph plan` does only this)"
    if not docs.state.request:
        return Phase.BUILDING, "the plan was not made from a request"
    if docs.state.current_phase is Phase.VALIDATION and docs.plan.ready():
        return Phase.BUILDING, "the last validation found problems to fix"
    return docs.state.current_phase, "the last run ended in this phase"


class PhaseOrder:
    """Runs phases until the request is fulfilled or there is a reason to stop."""

    def __init__(
        self, stages: StageMaker, request: RunRequest, *, has_specs: Callable[[], bool]
    ) -> None:
        self._stages = stages
        self._request = request
        self._has_specs = has_specs
        self._has_replanned = False
        self._feedback = ""
        self._back_reason = ""
        self._has_built = self._has_started = False
        self._finished = FinishedWork()

    async def run(self, phase: Phase) -> End:
        while True:
            async with self._stages(phase) as stage:
                outcome = await self._run_phase(stage)
                if isinstance(outcome, End):
                    if outcome.status is LoopStatus.COMPLETE and not self._request.is_aside:
                        await _write_phase_memory(stage)
                    if stage.phase is Phase.BUILDING:
                        return await _steps_around_work(stage).at_end(outcome)
                    break
                await _write_phase_memory(stage)
                why, self._back_reason = self._back_reason or WHY_NEXT[outcome], ""
                await _move(stage, outcome, why)
            phase = outcome
        if not self._has_built:
            return outcome
        async with self._stages(Phase.BUILDING) as stage:
            return await _steps_around_work(stage).at_end(outcome)

    async def _run_phase(self, stage: Stage) -> End | Phase:
        if stage.phase is Phase.BUILDING:
            return await self._build(stage)
        if stage.phase is Phase.VALIDATION:
            verdict = await self._validate(stage)
            if isinstance(verdict, End):
                return verdict
            self._back_reason = verdict.value
            return (
                Phase.BUILDING if self._request.only is None else _end_instead_of_building(verdict)
            )
        if not self._request.is_aside and not self._has_started:
            self._has_started = True
            await take_baseline(stage.run, with_tasks=False)
        if (addition := self._request.addition) is not None:
            return await plan_additions.run(stage, addition)
        if self._request.compacts:
            return await compaction.run(stage)
        if stage.phase is Phase.DISCOVERY:
            end = await discovery.run(stage)
        else:
            feedback, self._feedback = self._feedback, ""
            end = await planning.run(stage, feedback)
        if end is not None:
            return end
        if self._request.only is None:
            return _NEXT[stage.phase]
        return await _leave_single_phase(stage)

    async def _validate(self, stage: Stage) -> End | validation.BackToBuilding:
        """Validate the result, unless a check of a finished task fails again."""
        if await self._finished.reopen(stage.run):
            return validation.BackToBuilding.REOPENED
        return await validation.run(stage)

    async def _build(self, stage: Stage) -> End | Phase:
        await validation.turn_rejection_into_task(stage)
        refused = await planning.end_unless_approved(stage) or await allow_unverified(stage)
        if refused is not None:
            return refused
        self._has_built = True
        finished, steps = self._finished, _steps_around_work(stage)
        loop = BuildLoop(
            stage.run,
            stage.spec_for,
            stage.run_limits,
            finished,
            steps,
            request=self._request,
        )
        end = await loop.run()
        if await self._may_replan(end):
            self._has_replanned = True
            self._feedback = f"The plan made no progress: {end.reason}. Find another approach."
            await change_breaker(stage.run, lambda breaker: breaker.reset("replanning"), end.reason)
            self._back_reason = "the plan made no progress"
            return Phase.PLANNING
        alone = self._request.only is not None or self._request.once
        continues = end.status is LoopStatus.COMPLETE and not alone
        if continues and await asyncio.to_thread(self._has_specs):
            return Phase.VALIDATION
        return end

    async def _may_replan(self, end: End) -> bool:
        """Return whether to replan a run that made no progress.

        A run replans at most once, and only if there are specs to plan from and someone can approve the new
        plan. Otherwise it ends for the reason that stopped the old plan.
        """
        can_approve = self._request.interactive or self._request.assume_yes
        wanted = end.remakes_plan and can_approve
        if not wanted or self._has_replanned or self._request.only is not None:
            return False
        return await asyncio.to_thread(self._has_specs)


def _steps_around_work(stage: Stage) -> StepsAroundWork:
    return StepsAroundWork(stage.run, stage.run_limits, stage.spec_for)


def can_ask(request: RunRequest) -> bool:
    return request.interactive and not request.no_input


async def allow_unverified(stage: Stage) -> End | None:
    """Ask the person about tasks that no check can verify; return an end if they are not allowed."""
    run, building = stage.run, stage.run.settings.phases.building
    rules = await asyncio.to_thread(run.gate.rules)
    tasks = uncovered(stage.docs.plan, building, rules)
    if not tasks:
        return None
    if not can_ask(stage.request):
        require_checks(tasks)
    summary = (
        f"{uncovered_notice(tasks)} Yes builds them anyway, and they complete as unverified. "
        f"No ends this run. {coverage_hint(tasks)}"
    )
    decided = await decide(run, stage.request, ApprovalKind.UNVERIFIED, summary)
    if isinstance(decided, End):
        return decided
    if not decided.approved:
        return stopped_end(uncovered_notice(tasks).rstrip("."), coverage_hint(tasks))
    await run.project_state.transact(
        lambda docs: docs.replacing(plan=allowing_unverified(docs.plan, tasks))
    )
    return None


async def _leave_single_phase(stage: Stage) -> End:
    """Leave a phase that was run alone, so that its result need not be approved again."""
    following = _NEXT[stage.phase]
    await _move(stage, following, WHY_NEXT[following])
    command = {Phase.DISCOVERY: "ralph plan", Phase.PLANNING: "ralph build"}[stage.phase]
    return complete_end(f"{stage.phase.value} is done", f"Continue with `{command}`.")


def _end_instead_of_building(verdict: validation.BackToBuilding) -> End:
    if verdict is validation.BackToBuilding.REJECTED:
        return stopped_end(
            f"{verdict}, and the reason is now a task", "Build it with `ralph build`."
        )
    if verdict is validation.BackToBuilding.REOPENED:
        return stopped_end(
            verdict.value, "Review it with `ralph tasks`, then build it with `ralph build`."
        )
    reason = f"{verdict}, and each failure is now a task"
    return stopped_end(
        reason, "See .ralph/validation_report.json, then continue with `ralph build`."
    )


async def _move(stage: Stage, phase: Phase, reason: str) -> None:
    """Enter the next phase on disk, then report it, so that a crash in between repeats nothing."""

    def change(docs: Documents) -> Documents:
        # The decision that led here is used up. An approved result stays approved.
        last = docs.state.decision
        kept = last if last is not None and last.kind is ApprovalKind.VALIDATION else None
        return docs.with_state(current_phase=phase, approval=kept)

    await stage.run.project_state.transact(change)
    stage.run.emit(ev.PhaseChanged(phase=phase, reason=reason))


async def _write_phase_memory(stage: Stage) -> None:
    docs = stage.docs
    project = stage.run.project
    counts = docs.plan.counts()

    def write() -> None:
        specs = ", ".join(s.name for s in project.request_specs()) or "none"
        project.write_phase_memory(
            stage.phase,
            f"# Phase {stage.phase.value}\n\n"
            f"- Request: {docs.state.request or 'a plan written by hand'}\n"
            f"- Specs: {specs}\n"
            f"- Tasks: {len(docs.plan.tasks)}, {counts[TaskStatus.COMPLETE]} complete\n"
            f"- Iterations so far: {docs.state.iteration_count}\n"
            f"- Cost so far: ${docs.state.total_cost_usd:.4f}\n"
            f"- Tokens so far: {docs.state.total_tokens_used:,}\n"
            + phase_decisions(project, docs, stage.phase),
        )

    await asyncio.to_thread(write)
