"""Tell what the next run would do first, by the functions that decide it there. Writes nothing and takes no lock."""

import asyncio
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from pydantic import Field

from ralph_tui.config.settings import Settings
from ralph_tui.config.step_settings import WORK
from ralph_tui.domain.base import Model
from ralph_tui.domain.costs import CostLimits, CostMeter
from ralph_tui.domain.errors import ExitCode
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import TaskStatus, why_chosen
from ralph_tui.domain.project_state import DECISIONS, ApprovalKind, Phase
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.engine.commits.task_commits import owed_commits
from ralph_tui.engine.control.approved_content import (
    Content,
    plan_content,
    specs_content,
)
from ralph_tui.engine.control.request import RunRequest
from ralph_tui.engine.control.step_records import step_states
from ralph_tui.engine.core.outcome import End, all_done, complete_end, nothing_ready
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.decisions.ask_person import (
    is_of_another,
    still_open,
    waiting_for_answer,
    waiting_for_approval,
    with_given_answers,
)
from ralph_tui.engine.limits.cost_limits import cost_limit_reached
from ralph_tui.engine.phases import discovery, planning, validation
from ralph_tui.engine.phases.build_loop import lacks_baseline, require_workable
from ralph_tui.engine.phases.opening_prompts import (
    TaskFacts,
    prompt_of_discovery,
    prompt_of_planning,
    prompt_of_task,
)
from ralph_tui.engine.prompts.prompts import said_by_person
from ralph_tui.engine.run.before_start import checked_phase, place_to_work, require_verifiable
from ralph_tui.engine.run.lifecycle import WHY_NEXT, can_ask, chosen_phase
from ralph_tui.engine.run.startup import as_begun
from ralph_tui.engine.session.iteration_result import with_iteration_begun
from ralph_tui.engine.session.spec import model_of
from ralph_tui.engine.steps.around_work import steps_after, steps_at_end, steps_before
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
from ralph_tui.engine.verification.fingerprint import Fingerprinter
from ralph_tui.engine.verification.gate import plan_checks
from ralph_tui.guard.sandbox.os_sandbox import why_no_sandbox
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project


class NextTask(Model):
    """The task that is worked on first."""

    id: str
    title: str
    why: str
    attempt: int


class NextStep(Model):
    """A step around the work, as it is now."""

    name: str
    moment: str
    what: str
    state: str


class NextRun(Model):
    """What the next run would do first."""

    project: str
    feature: str = ""
    """Empty for the plan without a name."""
    branch: str = ""
    """The branch that ralph would work on; empty when it neither commits nor checks one out."""
    phase: Phase
    why: str
    """Why it begins in this phase."""
    first: str
    """What happens first, in one sentence."""
    before: tuple[str, ...] = ()
    """What happens before that, in order."""
    status: int = 0
    """The exit status of a run that would end at once; 0 when it would work."""
    hint: str = ""
    task: NextTask | None = None
    steps: tuple[NextStep, ...] = ()
    checks: tuple[str, ...] = ()
    """Commands that the gate runs for a claim."""
    reviewed: tuple[str, ...] = ()
    """Criteria that a second session judges."""
    model: str = ""
    max_iterations: int
    iteration_timeout_seconds: float
    rate_limit_per_hour: int
    cost_limits: CostLimits
    spent_usd: float = 0.0
    prompt_chars: int | None = None
    """None where no session comes first, or its prompt depends on checks that are not run here."""
    prompt: str | None = Field(None, exclude=True)


async def look_ahead(root: Path, services: RunServices, request: RunRequest) -> NextRun:
    """Return what a run for `request` would do first.

    Args:
        root: The project directory.
        services: What the face brings; its machine is not checked.
        request: What the person asks for.

    Raises:
        RalphError: The run would be refused, with the same words.
    """
    project = Project(root)
    docs = await asyncio.to_thread(project.look)
    phase = await asyncio.to_thread(checked_phase, project, docs, services, request)
    settings = services.settings
    await asyncio.to_thread(require_verifiable, project, docs, settings, request, phase)
    return await _Ahead(project, docs, settings, request, phase).look()


class _Ahead:
    """The look at one run."""

    def __init__(
        self,
        project: Project,
        docs: Documents,
        settings: Settings,
        request: RunRequest,
        phase: Phase,
    ) -> None:
        """Begin the run in thought.

        Args:
            project: The project on disk.
            docs: Its documents.
            settings: Its settings.
            request: What the person asks for.
            phase: The phase where the run begins.
        """
        self._project = project
        self._settings = settings
        self._request = request
        self._phase = phase
        self._why = chosen_phase(docs, request)[1]
        self._docs, self._stale = as_begun(
            docs,
            settings,
            phase,
            waits=request.interactive,
            reset_breaker=request.reset_breaker,
        )
        self._before: list[str] = []

    async def look(self) -> NextRun:
        await asyncio.to_thread(self._say_who_runs)
        if self._stale:
            self._before.append(f"Tasks go back to the queue: {shortlist(self._stale, 5)}.")
        branch = await asyncio.to_thread(self._branch)
        looks = {
            Phase.DISCOVERY: self._discovery,
            Phase.PLANNING: self._planning,
            Phase.BUILDING: self._building,
            Phase.VALIDATION: self._validation,
        }
        found = await looks[self._phase]()
        return found.model_copy(update={"branch": branch, "before": tuple(self._before)})

    def _say_who_runs(self) -> None:
        owner = LoopLock(self._project.layout).owner()
        if owner is not None:
            text = (
                f"A loop is running in process {owner.pid}; another run is refused until it ends."
            )
            self._before.append(text)

    def _branch(self) -> str:
        confined = self._settings.safety.sandbox != "off" and not why_no_sandbox()
        _, name = place_to_work(self._project, self._settings, self._request, sandboxed=confined)
        owed = owed_commits(self._docs.plan)
        if name and self._settings.git.commit == "task" and owed:
            names = shortlist([task.id for task in owed], 5)
            self._before.append(f"Work of an earlier run is committed: {names}.")
        return name

    def _found(self, first: str, end: End | None = None, **more: object) -> NextRun:
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

    def _ends(self, end: End) -> NextRun:
        if end.exit_code is ExitCode.COMPLETE:
            return self._found(f"Nothing is left to do: {end.reason}.", end)
        return self._found(f"The run ends at once: {end.reason.rstrip('.')}.", end)

    def _session(self, what: str, prompt: str | None) -> NextRun:
        """Return the look at a session of a phase, or at what keeps it from beginning."""
        if (end := self._out_of_money()) is not None:
            return self._ends(end)
        self._say_waits()
        if prompt is not None:
            prompt += said_by_person([injection.guidance for injection in self._docs.pending])
        size = None if prompt is None else len(prompt)
        return self._found(what, prompt=prompt, prompt_chars=size)

    def _out_of_money(self) -> End | None:
        costs = CostMeter(session=0.0, total=self._docs.project_cost)
        spent = cost_limit_reached(costs, self._settings.safety.cost_limits)
        return spent.end if spent is not None and spent.ends_run else None

    def _say_waits(self) -> None:
        """Note what the run waits for before it asks the model."""
        now, limit = utc_now(), self._settings.limits.rate_limit_per_hour
        free = self._docs.requests.free_at(limit, now)
        if free is not None:
            text = f"The run waits until {_clock(free)}: the requests of this hour are used up."
            self._before.append(text)
        if self._docs.breaker.state is BreakerState.OPEN:
            until = self._docs.breaker.half_open_at
            when = f" Without an answer it runs one iteration at {_clock(until)}." if until else ""
            self._before.append(f"The circuit breaker is open, and the run asks about it.{when}")

    async def _decision(self, kind: ApprovalKind, content: Content) -> NextRun | str | None:
        """Return the look at a decision that comes first, or why it was rejected; None once it is approved."""
        made = self._docs.state.decision
        mine = made if made is not None and made.kind is kind else None
        if self._request.assume_yes and (mine is None or mine.approved is not False):
            self._before.append(f"--yes approves {DECISIONS[kind]}.")
            return None
        if mine is not None and mine.approved is not None and not is_of_another(mine, content):
            return None if mine.approved else mine.reason or "no reason was given"
        what = DECISIONS[kind]
        if self._request.interactive:
            return self._found(f"The run asks for your approval of {what}.")
        return self._ends(waiting_for_approval(kind))

    def _moved(self, phase: Phase) -> None:
        """Enter the next phase in thought."""
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
                return self._ends(waiting_for_answer(questions))
        self._docs = self._docs.replacing(questions=self._docs.questions.withdrawing_open())
        specs = await asyncio.to_thread(project.read_specs)
        if fresh or discovery.spec_problems(specs) is not None:
            return await self._discovery_session("")
        decided = await self._decision(ApprovalKind.SPECS, await specs_content(project))
        if isinstance(decided, str):
            return await self._discovery_session(decided)
        if decided is not None:
            return decided
        if request.only is not None:
            return self._ends(complete_end("discovery is done"))
        self._moved(Phase.PLANNING)
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
                return self._ends(complete_end("planning is done"))
            if decided is None:
                self._moved(Phase.BUILDING)
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
            return self._found("Your rejection of the result becomes a task.")
        report, news = await validation.shown_report(self._project, self._docs)
        if report is not None and not news:
            asked = self._docs.state.decision
            if asked is not None and asked.approved:
                return self._ends(complete_end("the result is validated and approved"))
            if self._request.interactive:
                return self._found("The run asks for your approval of the validation.")
            return self._ends(waiting_for_approval(ApprovalKind.VALIDATION))
        # What the checks show is a part of the prompt, and they do not run here.
        checks = await asyncio.to_thread(lambda: self._rules().commands)
        specs = await asyncio.to_thread(self._project.read_specs)
        judged = any(spec.criteria for spec in specs)
        then = (
            ", then a session judges the specs" if judged else ", and there are no specs to judge"
        )
        looked = self._session(f"The project's checks run{then}.", None)
        return looked.model_copy(update={"checks": checks})

    def _rules(self) -> GateRules:
        return ChecksOfRun(self._project.root, self._settings).rules()

    async def _building(self) -> NextRun:
        rejected = await asyncio.to_thread(validation.rejected_result, self._project, self._docs)
        if rejected is not None:
            task, number = rejected
            sent = validation.sent_back(self._docs, (task,), number)
            self._docs = sent.with_state(current_phase=Phase.BUILDING)
            self._before.append("Your rejection of the result becomes a task.")
        asked = self._docs.state.decision
        if asked is not None and asked.kind is ApprovalKind.PLAN:
            decided = await self._decision(ApprovalKind.PLAN, plan_content(self._docs.plan))
            if isinstance(decided, str):
                return self._ends(planning.rejected_end(decided))
            if decided is not None:
                return decided
        rules = await asyncio.to_thread(self._rules)
        lacking = uncovered(self._docs.plan, self._settings.phases.building, rules)
        if lacking and not can_ask(self._request):
            require_checks(lacking)
        if lacking:
            return self._found(
                f"The run asks about tasks without a check. {uncovered_notice(lacking)}"
            )
        self._say_owed()
        plan = self._docs.plan
        if plan.is_finished:
            return self._finished(all_done(plan))
        if (end := self._out_of_money()) is not None:
            return self._ends(end)
        require_workable(plan)
        return await self._task(rules)

    def _say_owed(self) -> None:
        owed = self._docs.steps.under_way
        if owed is not None:
            names = ", ".join(owed.left)
            text = f"Steps that iteration {owed.iteration} still owes may run: {names}."
            self._before.append(text)

    def _finished(self, reason: str) -> NextRun:
        alone = self._request.only is not None or self._request.once
        if alone or not any(spec.criteria for spec in self._project.read_specs()):
            return self._ends(complete_end(reason))
        return self._found(f"Validation follows: {reason}.")

    async def _task(self, rules: GateRules) -> NextRun:
        building = self._settings.phases.building
        plan = self._docs.plan
        while (task := plan.get_next_task()) is not None and not may_start(task, building, rules):
            plan = blocked_without_check(plan, task)
            self._before.append(f"Task {task.id} is blocked: no check can run for it.")
        if task is None:
            return self._ends(nothing_ready(plan))
        self._docs = self._docs.replacing(plan=plan)
        self._say_waits()
        guidance = tuple(injection.guidance for injection in self._docs.pending)
        baseline = Baseline(self._project.root, used=building.baseline)
        await asyncio.to_thread(baseline.load)
        contents = await asyncio.to_thread(Fingerprinter(self._project.root).digest)
        if building.baseline and lacks_baseline(baseline, plan, rules, contents):
            count = plural(len(rules.commands), "check")
            text = f"{count[:1].upper()}{count[1:]} run once; a failing one is added to the prompt."
            self._before.append(text)
        checks = plan_checks(task, rules)
        working = plan.with_task(task.id, status=TaskStatus.IN_PROGRESS)
        begun = with_iteration_begun(self._docs.replacing(plan=working))
        facts = TaskFacts(
            task,
            begun.state.iteration_count,
            checks=checks,
            red_before=tuple(baseline.told()),
            guidance=guidance,
        )
        prompt, _ = await asyncio.to_thread(
            prompt_of_task, self._project, begun, facts, self._request.prompt
        )
        return self._found(
            f"Iteration {facts.number} works on task {task.id}.",
            task=NextTask(
                id=task.id,
                title=task.title,
                why=why_chosen(plan, task),
                attempt=task.retry_count + 1,
            ),
            steps=tuple(self._steps()),
            checks=tuple(check.command for check in checks),
            reviewed=criteria_to_review(task, building, rules.checks),
            model=task.model or model_of(self._phase, self._settings),
            prompt=prompt,
            prompt_chars=len(prompt),
        )

    def _steps(self) -> Iterator[NextStep]:
        settings = self._settings
        commits = settings.git.commit == "task"
        steps = settings.steps_in_order
        states = {
            state.name: state
            for state in step_states(
                self._project, steps, self._docs.steps, running=False, commits=commits
            )
        }
        moments = {
            "before the work": steps_before(settings),
            "": (WORK,),
            "after the work": steps_after(settings),
            "at the end of the run": steps_at_end(settings),
        }
        for moment, names in moments.items():
            for name in names:
                if name == WORK:
                    yield NextStep(name=WORK, moment="", what="the task, then its checks", state="")
                    continue
                known = states[name]
                after = moment == "after the work" and known.when not in ("", "always")
                yield NextStep(
                    name=name,
                    moment=f"{moment}, {known.when.replace('_', ' ')}" if after else moment,
                    what=known.what or known.type,
                    state=known.state,
                )


def _clock(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d %H:%M} UTC"
