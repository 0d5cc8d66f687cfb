"""Lead a run through its phases: decide every transition, and say why."""

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.events import LoopStatus
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.domain.run.breaker import RecoveryAction
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, complete_end, stopped_end
from ralph_tui.engine.decisions.ask_person import decide
from ralph_tui.engine.limits.open_breaker import change_breaker
from ralph_tui.engine.phases import compaction, discovery, plan_additions, planning, validation
from ralph_tui.engine.phases.build_loop import BuildLoop, require_workable
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
"""Opens a phase: its guard, its tools, its prompt; closed when the phase is over."""

_NEXT = {Phase.DISCOVERY: Phase.PLANNING, Phase.PLANNING: Phase.BUILDING}
WHY_NEXT = {
    Phase.PLANNING: "the specs are whole and confirmed",
    Phase.BUILDING: "the plan is sound and agreed to",
    Phase.VALIDATION: "every task is complete",
}
_NEEDS = {
    Phase.PLANNING: "There are no specs to plan from.",
    Phase.VALIDATION: "There is nothing to validate: no spec, and no task that was built.",
}


def first_phase(project: Project, docs: Documents, request: RunRequest) -> Phase:
    """Return the phase where a run begins.

    Raises:
        PlanError: There is nothing to work on, the plan is unworkable, or one iteration was asked for and no
            task is next.
    """
    phase, _ = chosen_phase(docs, request)
    if request.once and phase is not Phase.BUILDING:
        raise PlanError(
            f"--once works on one task of the plan, and the next phase here is {phase.value}.",
            "Leave --once out, or build the plan as it is: ralph build --once.",
        )
    if request.addition is not None:
        plan_additions.require_extensible(docs)
        return phase
    if request.compacts:
        compaction.require_learnings(project)
        return phase
    if phase is Phase.BUILDING:
        require_workable(docs.plan)
    if phase is Phase.DISCOVERY:
        require_request(docs, request)
    if phase in _NEEDS and not project.read_specs() and not docs.plan.tasks:
        hint = 'Begin with `ralph discover "what you want"`, or write specs/*.md.'
        raise PlanError(_NEEDS[phase], hint)
    return phase


def require_request(docs: Documents, request: RunRequest) -> None:
    """Refuse discovery without a request.

    Raises:
        PlanError: There is no request, neither now nor from before.
    """
    if not (request.text.strip() or docs.state.request):
        message = "There is nothing to discover: no request was given."
        raise PlanError(message, 'Say what you want: ralph discover "A habit tracker".')


def chosen_phase(docs: Documents, request: RunRequest) -> tuple[Phase, str]:
    """Return the phase where a run begins, and why."""
    if request.only is not None:
        return request.only, "asked for by its command"
    if discovery.is_new(docs, request):
        return Phase.DISCOVERY, "the request is new"
    if (asked := docs.state.decision) is not None and asked.kind is ApprovalKind.PLAN:
        return Phase.PLANNING, "the model's plan is built only with your approval"
    if not docs.state.request:
        return Phase.BUILDING, "the plan was not made from a request"
    if docs.state.current_phase is Phase.VALIDATION and docs.plan.ready():
        return Phase.BUILDING, "what the last validation found is built first"
    return docs.state.current_phase, "the last run ended there"


class Lifecycle:
    """Runs phases until the request is fulfilled or there is a reason to stop."""

    def __init__(
        self, stages: StageMaker, request: RunRequest, *, has_specs: Callable[[], bool]
    ) -> None:
        """Open phases with `stages`."""
        self._stages = stages
        self._request = request
        self._has_specs = has_specs
        self._planned_anew = False
        self._feedback = ""
        self._why_back = ""
        self._has_built = False
        self._finished: FinishedWork | None = None

    def _finished_work(self, stage: Stage) -> FinishedWork:
        """Return what this run knows of checks that passed."""
        if self._finished is None:
            self._finished = FinishedWork(stage.run.project.root)
        return self._finished

    async def run(self, phase: Phase) -> End:
        """Run from `phase` to the end.

        Raises:
            RalphError: Something a person must fix.
        """
        while True:
            async with self._stages(phase) as stage:
                outcome = await self._run_phase(stage)
                if isinstance(outcome, End):
                    if outcome.status is LoopStatus.COMPLETE and not self._request.is_aside:
                        await _remember(stage)
                    if stage.phase is Phase.BUILDING:
                        return await _steps_of(stage).at_end(outcome)
                    break
                await _remember(stage)
                why, self._why_back = self._why_back or WHY_NEXT[outcome], ""
                await _move(stage, outcome, why)
            phase = outcome
        if not self._has_built:
            return outcome
        async with self._stages(Phase.BUILDING) as stage:
            return await _steps_of(stage).at_end(outcome)

    async def _run_phase(self, stage: Stage) -> End | Phase:
        """Run one phase; returns an end, or the phase that follows."""
        if stage.phase is Phase.BUILDING:
            return await self._build(stage)
        if stage.phase is Phase.VALIDATION:
            verdict = await self._validate(stage)
            if isinstance(verdict, End):
                return verdict
            self._why_back = verdict.value
            return Phase.BUILDING if self._request.only is None else _back_alone(verdict)
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
        return await _done_alone(stage)

    async def _validate(self, stage: Stage) -> End | validation.BackToBuilding:
        """Validate the result, unless the check of a finished task fails now."""
        if await self._finished_work(stage).reopen(stage.run):
            return validation.BackToBuilding.REOPENED
        return await validation.run(stage)

    async def _build(self, stage: Stage) -> End | Phase:
        await validation.take_rejection(stage)
        refused = await planning.undecided(stage) or await agree_to_unverified(stage)
        if refused is not None:
            return refused
        self._has_built = True
        finished, steps = self._finished_work(stage), _steps_of(stage)
        loop = BuildLoop(
            stage.run,
            stage.spec_for,
            stage.run_limits,
            finished,
            steps,
            request=self._request,
        )
        end = await loop.run()
        if await self._may_plan_anew(end):
            self._planned_anew = True
            self._feedback = f"The plan made no progress: {end.reason}. Find another way."
            await change_breaker(
                stage.run, lambda breaker: breaker.reset("a new plan is made"), end.reason
            )
            self._why_back = "the plan made no progress"
            return Phase.PLANNING
        alone = self._request.only is not None or self._request.once
        goes_on = end.status is LoopStatus.COMPLETE and not alone
        if goes_on and await asyncio.to_thread(self._has_specs):
            return Phase.VALIDATION
        return end

    async def _may_plan_anew(self, end: End) -> bool:
        """Return whether to replan: once in a run that stagnates, where there are specs to plan from.

        And where somebody can agree to the new plan: else the run ends with what stopped the old one.
        """
        agreed = self._request.interactive or self._request.assume_yes
        wanted = end.recovery is RecoveryAction.REGENERATE_PLAN and agreed
        if not wanted or self._planned_anew or self._request.only is not None:
            return False
        return await asyncio.to_thread(self._has_specs)


def _steps_of(stage: Stage) -> StepsAroundWork:
    """Return the steps around the work, for a stage that builds."""
    return StepsAroundWork(stage.run, stage.run_limits, stage.spec_for)


def can_ask(request: RunRequest) -> bool:
    """Return whether a person is there to allow what only they can."""
    return request.interactive and not request.no_input


async def agree_to_unverified(stage: Stage) -> End | None:
    """Ask about tasks that no check can verify before anything is spent on them.

    Raises:
        PlanError: There are some, and nobody is there to be asked.
    """
    run, building = stage.run, stage.run.settings.phases.building
    rules = await asyncio.to_thread(run.gate.rules)
    tasks = uncovered(stage.docs.plan, building, rules)
    if not tasks:
        return None
    if not can_ask(stage.request):
        require_checks(tasks)
    summary = (
        f"{uncovered_notice(tasks)} Yes builds them all the same, and they complete as unverified. "
        f"No ends this run. {coverage_hint(tasks)}"
    )
    decided = await decide(run, stage.request, ApprovalKind.UNVERIFIED, summary)
    if isinstance(decided, End):
        return decided
    if not decided.approved:
        return stopped_end(uncovered_notice(tasks).rstrip("."), coverage_hint(tasks))
    await run.project_state.transact(lambda now: _allowing(now, tasks))
    return None


def _allowing(docs: Documents, tasks: tuple[Task, ...]) -> Documents:
    return docs.replacing(plan=allowing_unverified(docs.plan, tasks))


async def _done_alone(stage: Stage) -> End:
    """Leave a phase that was run alone, so that nobody is asked to approve it again."""
    following = _NEXT[stage.phase]
    await _move(stage, following, WHY_NEXT[following])
    return complete_end(f"{stage.phase.value} is done", _then(stage.phase))


def _back_alone(verdict: validation.BackToBuilding) -> End:
    """Return the end of validation run alone, where a whole run would go back to building."""
    if verdict is validation.BackToBuilding.REJECTED:
        return stopped_end(f"{verdict}; the reason is a task now", "`ralph build` works it.")
    if verdict is validation.BackToBuilding.REOPENED:
        return stopped_end(verdict.value, "`ralph tasks` shows it; `ralph build` works it.")
    reason = f"{verdict}; each failure is a task now"
    return stopped_end(reason, "See .ralph/validation_report.json, then `ralph build`.")


def _then(phase: Phase) -> str:
    following = {Phase.DISCOVERY: "`ralph plan`", Phase.PLANNING: "`ralph build`"}
    return f"Continue with {following[phase]}."


async def _move(stage: Stage, phase: Phase, reason: str) -> None:
    """Enter the next phase on disk, then report it; a crash between the two repeats nothing."""

    def change(docs: Documents) -> Documents:
        # What was agreed to led here. A result that was approved stays approved.
        made = docs.state.decision
        kept = made if made is not None and made.kind is ApprovalKind.VALIDATION else None
        return docs.with_state(current_phase=phase, approval=kept)

    await stage.run.project_state.transact(change)
    stage.run.emit(ev.PhaseChanged(phase=phase, reason=reason))


async def _remember(stage: Stage) -> None:
    """Write the phase memory at the transition (seeds, "Memory Capture Boundaries")."""
    docs = stage.docs
    project = stage.run.project
    counts = docs.plan.counts()

    def write() -> None:
        specs = ", ".join(s.name for s in project.read_specs()) or "none"
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
