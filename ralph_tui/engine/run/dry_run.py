"""Predict what the next run would do first, with the functions the run itself uses. Writes nothing, takes no lock."""

import asyncio
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field

from ralph_tui.config.settings import Settings
from ralph_tui.domain.base import Model
from ralph_tui.domain.costs import CostLimits, CostMeter
from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.plan.plan import TaskStatus, why_chosen
from ralph_tui.domain.project_state import DECISIONS, ApprovalKind, Phase
from ralph_tui.engine.control.approved_content import (
    Content,
    plan_content,
    specs_content,
)
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.core.outcome import End, all_done, complete_end, nothing_ready
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.decisions.ask_person import (
    is_outdated,
    still_open,
    waiting_for_answer,
    waiting_for_approval,
    with_given_answers,
)
from ralph_tui.engine.limits.cost_limits import cost_limit_reached
from ralph_tui.engine.phases import discovery, planning, validation
from ralph_tui.engine.phases.build_loop import require_workable
from ralph_tui.engine.phases.opening_prompts import (
    prompt_of_discovery,
    prompt_of_planning,
    prompt_of_task,
)
from ralph_tui.engine.prompts.prompts import PromptParts, guidance_section
from ralph_tui.engine.run.before_start import checked_phase, place_to_work
from ralph_tui.engine.run.phase_order import WHY_NEXT, chosen_phase
from ralph_tui.engine.run.startup import as_begun
from ralph_tui.engine.session.iteration_result import with_iteration_begun
from ralph_tui.engine.session.spec import model_of
from ralph_tui.engine.verification.baseline import Baseline
from ralph_tui.engine.verification.coverage import (
    blocked_without_check,
    criteria_to_review,
    may_start,
    require_checks,
    uncovered,
    uncovered_notice,
)
from ralph_tui.engine.verification.detection.project_checks import ChecksOfRun, GateRules
from ralph_tui.engine.verification.gate import plan_checks
from ralph_tui.guard.sandbox.os_sandbox import sandbox_problem
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project


class NextTask(Model):
    """The first task of the run."""

    id: str
    title: str
    why: str
    attempt: int


class NextRun(Model):
    """What the next run would do first."""

    project: str
    feature: str = ""
    """Empty for the plan without a name."""
    branch: str = ""
    """The branch that ralph would work on; empty if it neither commits nor checks one out."""
    phase: Phase
    why: str
    first: str
    before: tuple[str, ...] = ()
    status: int = 0
    """The exit status of a run that would end immediately; 0 if it would work."""
    hint: str = ""
    task: NextTask | None = None
    checks: tuple[str, ...] = ()
    reviewed: tuple[str, ...] = ()
    model: str = ""
    max_iterations: int
    iteration_timeout_seconds: float
    rate_limit_per_hour: int
    cost_limits: CostLimits
    spent_usd: float = 0.0
    prompt_chars: int | None = None
    """None if no session comes first, or if its prompt depends on checks that a dry run does not run."""
    prompt: str | None = Field(None, exclude=True)


async def look_ahead(root: Path, services: RunServices, request: RunRequest) -> NextRun:
    project = Project(root)
    docs = await asyncio.to_thread(project.look)
    phase = await asyncio.to_thread(checked_phase, project, docs, services, request)
    return await _Preview(project, docs, services.settings, request, phase).look()


class _Preview:
    """Follows one run in thought until its first session or decision."""

    def __init__(
        self,
        project: Project,
        docs: Documents,
        settings: Settings,
        request: RunRequest,
        phase: Phase,
    ) -> None:
        self._project = project
        self._settings = settings
        self._request = request
        self._phase = phase
        has_specs = any(spec.criteria for spec in project.read_specs())
        self._why = chosen_phase(docs, request, has_specs=has_specs)[1]
        self._docs = as_begun(docs, settings, request, phase).documents
        self._before: list[str] = []

    async def look(self) -> NextRun:
        owner = await asyncio.to_thread(LoopLock(self._project.layout).owner)
        if owner is not None:
            text = f"A loop is already running (process {owner.pid}). Another run can start when it ends."
            self._before.append(text)
        phases = {
            Phase.DISCOVERY: self._discovery,
            Phase.PLANNING: self._planning,
            Phase.BUILDING: self._building,
            Phase.VALIDATION: self._validation,
        }
        branch = await asyncio.to_thread(self._branch)
        found = await phases[self._phase]()
        return found.model_copy(update={"branch": branch, "before": tuple(self._before)})

    def _branch(self) -> str:
        confined = self._settings.safety.sandbox != "off" and not sandbox_problem()
        return place_to_work(self._project, self._settings, self._request, sandboxed=confined)[1]

    def _next_run(self, first: str, end: End | None = None, **more: object) -> NextRun:
        settings = self._settings
        facts: Mapping[str, object] = {
            "project": settings.project.name or self._project.root.resolve().name,
            "phase": self._phase,
            "why": self._why,
            "first": first,
            "status": int(end.exit_code) if end else 0,
            "hint": end.hint if end else "",
            "model": model_of(self._phase, settings),
            "max_iterations": 1 if self._request.once else settings.phases.building.max_iterations,
            "iteration_timeout_seconds": settings.phases.building.iteration_timeout_seconds,
            "rate_limit_per_hour": settings.limits.rate_limit_per_hour,
            "cost_limits": settings.safety.cost_limits,
            "spent_usd": self._docs.project_cost,
            "feature": self._docs.feature,
        }
        return NextRun.model_validate({**facts, **more})

    def _next_run_ends(self, end: End) -> NextRun:
        if end.exit_code is ExitCode.COMPLETE:
            return self._next_run(f"Nothing is left to do: {end.reason}.", end)
        return self._next_run(f"The run ends immediately: {end.reason.rstrip('.')}.", end)

    def _session(self, what: str, prompt: str | None) -> NextRun:
        if (end := self._end_at_cost_limit()) is not None:
            return self._next_run_ends(end)
        if prompt is not None:
            prompt += guidance_section([injection.guidance for injection in self._docs.pending])
        size = None if prompt is None else len(prompt)
        return self._next_run(what, prompt=prompt, prompt_chars=size)

    def _end_at_cost_limit(self) -> End | None:
        costs = CostMeter(session=0.0, total=self._docs.project_cost)
        spent = cost_limit_reached(costs, self._settings.safety.cost_limits)
        return spent.end if spent is not None and spent.ends_run else None

    async def _decision(self, kind: ApprovalKind, content: Content) -> NextRun | str | None:
        last = self._docs.state.decision
        decision = last if last is not None and last.kind is kind else None
        if self._request.assume_yes and (decision is None or decision.approved is not False):
            self._before.append(f"--yes approves {DECISIONS[kind]}.")
            return None
        if (
            decision is not None
            and decision.approved is not None
            and not is_outdated(decision, content)
        ):
            return None if decision.approved else decision.reason or "no reason was given"
        what = DECISIONS[kind]
        if self._request.interactive:
            return self._next_run(f"The run asks for your approval of {what}.")
        return self._next_run_ends(waiting_for_approval(kind))

    def _enter(self, phase: Phase) -> None:
        self._phase, self._why = phase, WHY_NEXT[phase]
        self._docs = self._docs.with_state(current_phase=phase, approval=None)

    async def _discovery(self) -> NextRun:
        request, project, now = self._request, self._project, utc_now()
        asks = discovery.may_ask(request, self._settings)
        fresh = discovery.is_new(self._docs, request)
        if fresh:
            self._docs = discovery.with_request(self._docs, request, now)
        elif asks and not request.interactive:
            self._docs = with_given_answers(self._docs, request, self._phase, now)
            if questions := still_open(self._docs, self._phase):
                return self._next_run_ends(waiting_for_answer(questions))
        self._docs = self._docs.replacing(questions=self._docs.questions.withdrawing_open())
        specs = await asyncio.to_thread(project.read_specs)
        is_open = fresh or self._docs.state.specs_before is not None
        folder = project.layout.specs.relative_to(project.root).as_posix()
        if is_open or discovery.spec_problems(self._docs, specs, folder) is not None:
            return await self._discovery_session("")
        decided = await self._decision(ApprovalKind.SPECS, await specs_content(project))
        if isinstance(decided, str):
            return await self._discovery_session(decided)
        if decided is not None:
            return decided
        if request.only is not None:
            return self._next_run_ends(complete_end("discovery is done"))
        self._enter(Phase.PLANNING)
        return await self._planning()

    async def _discovery_session(self, feedback: str) -> NextRun:
        asked = self._docs.questions.asked_in(self._phase, self._docs.state.requested_at)
        prompt = await asyncio.to_thread(
            prompt_of_discovery,
            self._project,
            self._docs,
            feedback=feedback,
            left=max(0, self._settings.phases.discovery.max_questions - len(asked)),
            may_ask=discovery.may_ask(self._request, self._settings),
        )
        return self._session("A session turns the request into specs.", prompt)

    async def _planning(self) -> NextRun:
        feedback = planning.feedback_on_plan(self._docs, self._request)
        if not feedback and not planning.lacks_plan(self._docs.plan):
            require_workable(self._docs.plan)
            decided = await self._decision(ApprovalKind.PLAN, plan_content(self._docs.plan))
            if isinstance(decided, NextRun):
                return decided
            if decided is None and self._request.only is not None:
                return self._next_run_ends(complete_end("planning is done"))
            if decided is None:
                self._enter(Phase.BUILDING)
                return await self._building()
            feedback = decided
        prompt = await asyncio.to_thread(
            prompt_of_planning,
            self._project,
            self._docs,
            self._settings.phases.planning,
            feedback,
        )
        return self._session("A session turns the specs into a plan.", prompt)

    async def _validation(self) -> NextRun:
        if await asyncio.to_thread(validation.rejected_result, self._project, self._docs):
            if self._request.only is None:
                self._phase, self._why = Phase.BUILDING, "the result was rejected"
                return await self._building()
            return self._next_run("Your rejection of the result becomes a task.")
        report, news = await validation.shown_report(self._project, self._docs)
        if report is not None and not news:
            asked = self._docs.state.decision
            if asked is not None and asked.approved:
                return self._next_run_ends(complete_end("the result is validated and approved"))
            if self._request.interactive:
                return self._next_run("The run asks for your approval of the validation.")
            return self._next_run_ends(waiting_for_approval(ApprovalKind.VALIDATION))
        # The prompt contains the results of the checks, which a dry run does not run.
        checks = await asyncio.to_thread(lambda: self._rules().commands)
        specs = await asyncio.to_thread(self._project.request_specs)
        judged = any(spec.criteria for spec in specs)
        then = (
            ", then a session checks the result against the specs"
            if judged
            else ". There are no specs to check"
        )
        preview = self._session(f"The project's checks run{then}.", None)
        return preview.model_copy(update={"checks": checks})

    def _rules(self) -> GateRules:
        return ChecksOfRun(self._project.root, self._settings).rules()

    async def _building(self) -> NextRun:
        rejected = await asyncio.to_thread(validation.rejected_result, self._project, self._docs)
        if rejected is not None:
            task, number = rejected
            sent = validation.with_repair_tasks(self._docs, (task,), number)
            self._docs = sent.with_state(current_phase=Phase.BUILDING)
            self._before.append("Your rejection of the result becomes a task.")
        asked = self._docs.state.decision
        if asked is not None and asked.kind is ApprovalKind.PLAN:
            decided = await self._decision(ApprovalKind.PLAN, plan_content(self._docs.plan))
            if isinstance(decided, str):
                return self._next_run_ends(planning.rejected_end(decided))
            if decided is not None:
                return decided
        rules = await asyncio.to_thread(self._rules)
        lacking = uncovered(self._docs.plan, self._settings.phases.building, rules)
        if lacking and not self._request.answerable:
            require_checks(lacking)
        if lacking:
            return self._next_run(
                f"The run asks about tasks without a check. {uncovered_notice(lacking)}"
            )
        plan = self._docs.plan
        if plan.is_finished:
            return self._finished(all_done(plan))
        if (end := self._end_at_cost_limit()) is not None:
            return self._next_run_ends(end)
        require_workable(plan)
        return await self._task(rules)

    def _finished(self, reason: str) -> NextRun:
        alone = self._request.only is not None or self._request.once
        if alone or not any(spec.criteria for spec in self._project.request_specs()):
            return self._next_run_ends(complete_end(reason))
        return self._next_run(f"Validation is next: {reason}.")

    async def _task(self, rules: GateRules) -> NextRun:
        building = self._settings.phases.building
        plan = self._docs.plan
        while (task := plan.get_next_task()) is not None and not may_start(task, building, rules):
            plan = blocked_without_check(plan, task)
            self._before.append(f"Task {task.id} is blocked: it has no check that can run.")
        if task is None:
            return self._next_run_ends(nothing_ready(plan))
        self._docs = self._docs.replacing(plan=plan)
        guidance = tuple(injection.guidance for injection in self._docs.pending)
        baseline = Baseline(self._project.root, used=building.baseline)
        await asyncio.to_thread(baseline.load)
        checks = tuple(check.command for check in plan_checks(task, rules))
        working = plan.with_task(task.id, status=TaskStatus.IN_PROGRESS)
        begun = with_iteration_begun(self._docs.replacing(plan=working))
        known = PromptParts(
            iteration=begun.state.iteration_count,
            task=task,
            checks=checks,
            failed_before=tuple(baseline.failures()),
            guidance=guidance,
        )
        prompt, _ = await asyncio.to_thread(
            prompt_of_task, self._project, begun, known, self._request.prompt
        )
        return self._next_run(
            f"Iteration {known.iteration} works on task {task.id}.",
            task=NextTask(
                id=task.id,
                title=task.title,
                why=why_chosen(plan, task),
                attempt=task.retry_count + 1,
            ),
            checks=checks,
            reviewed=criteria_to_review(task, building, rules.checks),
            model=task.model or model_of(self._phase, self._settings),
            prompt=prompt,
            prompt_chars=len(prompt),
        )
