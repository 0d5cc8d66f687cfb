"""Take a run through its phases: decide each transition and report the reason."""

import asyncio
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import PlanError, SetupError
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import ApprovalKind, Phase
from ralph_tui.engine.commits.task_commits import WorkPlace, work_place
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, complete_end, stopped_end
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.decisions.ask_person import decide
from ralph_tui.engine.limits.run_limits import change_breaker
from ralph_tui.engine.phases import compaction, discovery, planning, validation
from ralph_tui.engine.phases.build_loop import BuildLoop, require_workable, take_baseline
from ralph_tui.engine.phases.finished_work import FinishedWork
from ralph_tui.engine.prompts.prompts import check_template
from ralph_tui.engine.safety.phase_extensions import check_extras
from ralph_tui.engine.session.prompt_memory import phase_decisions
from ralph_tui.engine.steps.step_runner import StepsAroundWork, check_steps
from ralph_tui.engine.verification.coverage import (
    allowing_unverified,
    coverage_hint,
    require_checks,
    uncovered,
    uncovered_notice,
)
from ralph_tui.engine.verification.detection.project_checks import ChecksOfRun
from ralph_tui.store.project import Documents, Project
from ralph_tui.vcs.commits import Committer

ContextOf = Callable[[Phase], Awaitable[RunContext]]
"""Returns the context of a phase, with its guard and tools."""

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
        planning.require_extensible(docs)
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

    def __init__(self, context_of: ContextOf, request: RunRequest) -> None:
        self._context_of = context_of
        self._request = request
        self._has_replanned = False
        self._feedback = ""
        self._back_reason = ""
        self._has_built = self._has_started = False
        self._finished = FinishedWork()

    async def run(self, phase: Phase) -> End:
        while True:
            run = await self._context_of(phase)
            outcome = await self._run_phase(run)
            if isinstance(outcome, End):
                break
            await _write_phase_memory(run)
            why, self._back_reason = self._back_reason or WHY_NEXT[outcome], ""
            await _move(run, outcome, why)
            phase = outcome
        if outcome.status is LoopStatus.COMPLETE and not self._request.is_aside:
            await _write_phase_memory(run)
        if run.phase is not Phase.BUILDING:
            if not self._has_built:
                return outcome
            run = await self._context_of(Phase.BUILDING)
        return await StepsAroundWork(run).at_end(outcome)

    async def _run_phase(self, run: RunContext) -> End | Phase:
        if run.phase is Phase.BUILDING:
            return await self._build(run)
        if run.phase is Phase.VALIDATION:
            verdict = await self._validate(run)
            if isinstance(verdict, End):
                return verdict
            self._back_reason = verdict.value
            return (
                Phase.BUILDING if self._request.only is None else _end_instead_of_building(verdict)
            )
        if not self._request.is_aside and not self._has_started:
            self._has_started = True
            await take_baseline(run, with_tasks=False)
        if (addition := self._request.addition) is not None:
            return await planning.add_to_plan(run, addition)
        if self._request.compacts:
            return await compaction.compact(run)
        if run.phase is Phase.DISCOVERY:
            end = await discovery.discover(run)
        else:
            feedback, self._feedback = self._feedback, ""
            end = await planning.make_plan(run, feedback)
        if end is not None:
            return end
        if self._request.only is None:
            return _NEXT[run.phase]
        return await _leave_single_phase(run)

    async def _validate(self, run: RunContext) -> End | validation.BackToBuilding:
        """Validate the result, unless a check of a finished task fails again."""
        if await self._finished.reopen(run):
            return validation.BackToBuilding.REOPENED
        return await validation.validate(run)

    async def _build(self, run: RunContext) -> End | Phase:
        await validation.turn_rejection_into_task(run)
        refused = await planning.end_unless_approved(run) or await allow_unverified(run)
        if refused is not None:
            return refused
        self._has_built = True
        end = await BuildLoop(run, self._finished).run()
        if await self._may_replan(run, end):
            self._has_replanned = True
            self._feedback = f"The plan made no progress: {end.reason}. Find another approach."
            await change_breaker(run, lambda breaker: breaker.reset("replanning"), end.reason)
            self._back_reason = "the plan made no progress"
            return Phase.PLANNING
        alone = self._request.only is not None or self._request.once
        continues = end.status is LoopStatus.COMPLETE and not alone
        if continues and await asyncio.to_thread(_has_specs, run.project):
            return Phase.VALIDATION
        return end

    async def _may_replan(self, run: RunContext, end: End) -> bool:
        """Return whether to replan a run that made no progress.

        A run replans at most once, and only if there are specs to plan from and someone can approve the new
        plan. Otherwise it ends for the reason that stopped the old plan.
        """
        can_approve = self._request.interactive or self._request.assume_yes
        wanted = end.remakes_plan and can_approve
        if not wanted or self._has_replanned or self._request.only is not None:
            return False
        return await asyncio.to_thread(_has_specs, run.project)


def _has_specs(project: Project) -> bool:
    return any(spec.criteria for spec in project.request_specs())


async def allow_unverified(run: RunContext) -> End | None:
    """Ask the person about tasks that no check can verify; return an end if they are not allowed."""
    building = run.settings.phases.building
    rules = await asyncio.to_thread(run.gate.rules)
    tasks = uncovered(run.docs.plan, building, rules)
    if not tasks:
        return None
    if not run.request.answerable:
        require_checks(tasks)
    summary = (
        f"{uncovered_notice(tasks)} Yes builds them anyway, and they complete as unverified. "
        f"No ends this run. {coverage_hint(tasks)}"
    )
    decided = await decide(run, ApprovalKind.UNVERIFIED, summary)
    if isinstance(decided, End):
        return decided
    if not decided.approved:
        return stopped_end(uncovered_notice(tasks).rstrip("."), coverage_hint(tasks))
    await run.project_state.transact(
        lambda docs: docs.replacing(plan=allowing_unverified(docs.plan, tasks))
    )
    return None


async def _leave_single_phase(run: RunContext) -> End:
    """Leave a phase that was run alone, so that its result need not be approved again."""
    following = _NEXT[run.phase]
    await _move(run, following, WHY_NEXT[following])
    command = {Phase.DISCOVERY: "ralph plan", Phase.PLANNING: "ralph build"}[run.phase]
    return complete_end(f"{run.phase.value} is done", f"Continue with `{command}`.")


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


async def _move(run: RunContext, phase: Phase, reason: str) -> None:
    """Enter the next phase on disk, then report it, so that a crash in between repeats nothing."""

    def change(docs: Documents) -> Documents:
        # The decision that led here is used up. An approved result stays approved.
        last = docs.state.decision
        kept = last if last is not None and last.kind is ApprovalKind.VALIDATION else None
        return docs.with_state(current_phase=phase, approval=kept)

    await run.project_state.transact(change)
    run.emit(ev.PhaseChanged(phase=phase, reason=reason))


async def _write_phase_memory(run: RunContext) -> None:
    docs = run.docs
    project = run.project
    counts = docs.plan.counts()

    def write() -> None:
        specs = ", ".join(s.name for s in project.request_specs()) or "none"
        project.write_phase_memory(
            run.phase,
            f"# Phase {run.phase.value}\n\n"
            f"- Request: {docs.state.request or 'a plan written by hand'}\n"
            f"- Specs: {specs}\n"
            f"- Tasks: {len(docs.plan.tasks)}, {counts[TaskStatus.COMPLETE]} complete\n"
            f"- Iterations so far: {docs.state.iteration_count}\n"
            f"- Cost so far: ${docs.state.total_cost_usd:.4f}\n"
            f"- Tokens so far: {docs.state.total_tokens_used:,}\n"
            + phase_decisions(project, docs, run.phase),
        )

    await asyncio.to_thread(write)


def checked_phase(
    project: Project, docs: Documents, services: RunServices, request: RunRequest
) -> Phase:
    """Return the phase where a run begins; refuse what cannot run, and unverifiable tasks that no one can be asked about."""
    _require_utf8_name(project.root)
    settings = services.settings
    phase = first_phase(project, docs, request)
    ahead = tuple(Phase)[tuple(Phase).index(phase) :] if request.only is None else (phase,)
    check_extras(settings, ahead, project.root, services.everything)
    if request.prompt is not None:
        check_template(request.prompt.text, source=request.prompt.name)
    if Phase.BUILDING in ahead:
        check_steps(project, settings, docs.steps)
    services.preflight()
    if phase is Phase.BUILDING and not request.answerable:
        rules = ChecksOfRun(project.root, settings).rules()
        require_checks(uncovered(docs.plan, settings.phases.building, rules))
    return phase


def place_to_work(
    project: Project, settings: Settings, request: RunRequest, *, sandboxed: bool
) -> tuple[WorkPlace, str]:
    """Return where the run works and its branch; refuse a run that could not commit its work.

    The branch is empty if ralph neither commits nor checks out a branch.
    """
    docs = project.look()
    place = work_place(
        docs,
        settings,
        project.root,
        asked=request.text.strip() if request.only is None else "",
        builds=request.only in (None, Phase.BUILDING),
        sandboxed=sandboxed,
    )
    return place, place.require_ready(Committer(project.root, None), docs)


def _require_utf8_name(root: Path) -> None:
    """Refuse a directory whose name the CLI cannot handle; it would exit without an explanation."""
    try:
        str(root).encode()
    except UnicodeEncodeError as error:
        shown = os.fsencode(root).decode("utf-8", "replace")
        raise SetupError(
            f"The Claude Code CLI cannot work in {shown}, because its name is not valid UTF-8.",
            "Rename the directory, or use another one.",
        ) from error
