"""Run planning: turn the gap between specs and code into a plan that the person approves."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from functools import partial

from ralph_tui.config.settings import PlanningSettings
from ralph_tui.domain.errors import PlanError, SetupError
from ralph_tui.domain.events import PLANNED
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus, plan_size
from ralph_tui.domain.project_state import DECISIONS, REASONED, Approval, ApprovalKind, Phase
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.approved_content import Content, plan_content
from ralph_tui.engine.control.request import Addition, RunRequest
from ralph_tui.engine.core.outcome import End, complete_end, stopped_end
from ralph_tui.engine.decisions.ask_person import (
    UNSEEN,
    clear_decision,
    decide,
    requested,
    with_approval,
)
from ralph_tui.engine.phases.build_loop import require_workable, take_baseline
from ralph_tui.engine.phases.opening_prompts import prompt_of_planning
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.session.supervisor import Handler, SessionWork, Submission
from ralph_tui.engine.session.turns import run_session
from ralph_tui.engine.verification.coverage import allowing_unverified, uncovered, uncovered_notice
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.store.project import Documents, Outcome


async def make_plan(run: RunContext, feedback: str = "") -> End | None:
    """Work until the person approves a plan; return an end, or None to continue with building.

    With feedback, an existing plan is replaced.
    """
    feedback = _feedback_on_plan(run.docs, run.request, feedback)
    while True:
        if feedback or lacks_plan(run.docs.plan):
            end = await run.limits.reason_to_stop() or await _run_session(run, feedback)
            if end is not None:
                return end
        if lacks_plan(run.docs.plan):
            continue
        require_workable(run.docs.plan)
        decided = await decide_plan(run)
        if isinstance(decided, End):
            return decided
        if decided.approved:
            return None
        feedback = decided.reason or "The person is not satisfied with the plan."


async def decide_plan(run: RunContext, new: str = "") -> Approval | End:
    """Ask the person to approve the current plan; `new` describes what is new in it."""
    rules = await asyncio.to_thread(run.gate.rules)
    lacking = uncovered(run.docs.plan, run.settings.phases.building, rules)
    try:
        named = await take_baseline(run)
    except SetupError as error:  # raised again by the build
        named = error.message
    summary = new + _summary(run, run.docs.plan, rules)
    summary = f"{summary.rstrip('.')}. {named}" if named else summary

    async def content() -> Content:
        return plan_content(run.docs.plan)

    decided = await decide(run, ApprovalKind.PLAN, summary, content=content)
    agreed = isinstance(decided, Approval) and decided.approved and decided.decided_by != UNSEEN
    if agreed:

        def change(docs: Documents) -> Documents:
            plan = allowing_check_changes(allowing_unverified(docs.plan, lacking))
            return docs if plan == docs.plan else docs.replacing(plan=plan)

        await run.project_state.transact(change, "you approved the plan")
    return decided


async def end_unless_approved(run: RunContext) -> End | None:
    """Return an end if the model's plan must not be built; None if the person approved it."""
    asked = run.docs.state.decision
    if asked is None or asked.kind is not ApprovalKind.PLAN:
        return None
    decided = await decide_plan(run)
    if isinstance(decided, End):
        return decided
    if decided.approved:
        await clear_decision(run)
        return None
    why = decided.reason or "no reason was given"
    return stopped_end(
        f"the plan was rejected: {why}",
        "Make another plan that follows your reason with `ralph plan`.",
    )


def _feedback_on_plan(docs: Documents, request: RunRequest, feedback: str) -> str:
    """Return the feedback for a new plan, with the person's reason for rejecting the last one; empty for none.

    A rejected plan without other feedback is shown again before it is replaced, since the person may have
    edited it.
    """
    if request.only is Phase.PLANNING:
        feedback = request.text
    last = docs.state.decision
    rejected = last is not None and last.approved is False and last.kind in REASONED
    if last is None or not rejected or (last.kind is ApprovalKind.PLAN and not feedback):
        return feedback
    return "\n".join(
        filter(None, (feedback, f"The person rejected {DECISIONS[last.kind]}: {last.reason}"))
    )


def _summary(run: RunContext, plan: ImplementationPlan, rules: GateRules) -> str:
    summary = plan_size(plan.tasks)
    if lacking := uncovered(plan, run.settings.phases.building, rules):
        who = "It" if len(lacking) == 1 else "They"
        summary += f". {uncovered_notice(lacking)} {who} would complete as unverified."
    return " ".join((summary, *plan_notices(plan)))


def lacks_plan(plan: ImplementationPlan) -> bool:
    return all(task.status is TaskStatus.COMPLETE for task in plan.tasks)


async def _run_session(run: RunContext, feedback: str) -> End | None:
    if feedback:
        await asyncio.to_thread(run.project.archive_plan)

    async def take(given: rt.ToolInput) -> Sequence[str]:
        assert isinstance(given, rt.SubmitPlan)
        return await take_tasks(run, given.tasks, replaces=True)

    submission, is_new = Submission("ralph_submit_plan", "plan", take), not feedback

    async def missing() -> str | None:
        if lacks_plan(run.docs.plan) or not (is_new or submission.taken):
            return await submission.missing()
        return " ".join(problem.message for problem in run.docs.plan.problems()) or None

    async def add(given: rt.ToolInput) -> ToolAnswer:
        nonlocal is_new
        assert isinstance(given, rt.NewTask)
        replaces = not (is_new or submission.taken)
        if refused := await take_tasks(run, (given,), replaces=replaces):
            return rt.error(" ".join(refused))
        is_new = True
        return rt.answer({"added": given.id})

    prompt = await asyncio.to_thread(
        prompt_of_planning,
        run.project,
        run.docs,
        run.settings.phases.planning,
        feedback,
    )
    why = "you requested changes" if feedback else "making a plan from the specs"
    handlers: dict[str, Handler] = {submission.tool: submission.submit, "ralph_add_task": add}
    return await run_session(run, SessionWork(prompt, why, missing, handlers))


async def take_tasks(
    run: RunContext,
    given: Sequence[rt.NewTask],
    *,
    replaces: bool = False,
    new: str = "",
    problems: Callable[[ImplementationPlan, Sequence[Task]], Sequence[str]] = lambda *_: (),
) -> tuple[str, ...]:
    """Put the model's tasks into the plan, all or none; return why they are refused.

    The approval becomes pending at once, so that a crash cannot let the plan be built unseen.
    """
    rules = await asyncio.to_thread(run.gate.rules)
    tasks = tuple(Task.model_validate(task.model_dump()) for task in given)
    settings = run.settings.phases.planning

    def change(docs: Documents) -> Outcome[tuple[str, ...]]:
        kept = [t for t in docs.plan.tasks if t.status is TaskStatus.COMPLETE or not replaces]
        plan = docs.plan.model_copy(update={"tasks": tuple(kept)}).adding(tasks)
        lacking = uncovered(plan, run.settings.phases.building, rules)
        unnamed = {one: kinds for one, kinds in lacking.items() if kinds}
        wrong = [
            *plan_problems(plan, tasks, settings),
            *[uncovered_notice(unnamed)] * bool(unnamed),
        ]
        refused = tuple(problems(docs.plan, tasks) or wrong)
        if refused:
            return Outcome(docs, refused)
        summary, about = new + _summary(run, plan, rules), plan_content(plan)
        asked = requested(ApprovalKind.PLAN, summary, about, run.clock())
        return Outcome(with_approval(docs.replacing(plan=plan), asked), ())

    return (await run.project_state.transact_returning(change, PLANNED)).value


def plan_problems(
    plan: ImplementationPlan, new: tuple[Task, ...], settings: PlanningSettings
) -> list[str]:
    """Return why tasks are sent back, for example an invalid plan or a task too big for one context."""
    problems = [problem.message for problem in plan.problems()]
    limit = settings.task_size_tokens
    for task in new:
        if task.dependencies and not settings.dependency_analysis:
            problems.append(
                f"Task {task.id} has dependencies. Leave them empty and order by priority."
            )
        if task.estimated_tokens is None:
            problems.append(f"Task {task.id} has no estimated_tokens.")
        elif task.estimated_tokens > limit:
            problems.append(
                f"Task {task.id} is estimated at {task.estimated_tokens:,} tokens. "
                f"Split it. The maximum is {limit:,}."
            )
    return problems


def require_extensible(docs: Documents) -> None:
    """Refuse additions to a plan that is invalid or awaits a decision."""
    if problems := docs.plan.problems():
        raise PlanError(problems[0].message, "Correct the plan first, then add to it.")
    decision = docs.state.decision
    if decision is None or decision.approved:
        return
    if decision.approved is None:
        message = f"Your decision about {DECISIONS[decision.kind]} is pending."
        raise PlanError(message, "Decide first with `ralph approve` or `ralph reject`.")
    message = f"You rejected {DECISIONS[decision.kind]}, and ralph has not acted on it yet."
    raise PlanError(message, "Continue with `ralph run` first.")


async def add_to_plan(run: RunContext, addition: Addition) -> End:
    """Plan the additions until the person approves them; a rejection removes them again."""
    feedback, ids = "", tuple[str, ...]()

    async def take(given: rt.ToolInput) -> Sequence[str]:
        nonlocal ids
        assert isinstance(given, rt.SubmitPlan)
        ids = tuple(task.id for task in given.tasks)
        return await take_tasks(run, given.tasks, new=_added(ids), problems=_id_problems)

    while True:
        prompt = await asyncio.to_thread(
            prompt_of_planning,
            run.project,
            run.docs,
            run.settings.phases.planning,
            feedback,
            addition,
        )
        why = "you requested other tasks" if feedback else f"planning {addition.source}"
        submission = Submission("ralph_submit_plan", "list of new tasks", take)
        handlers = {submission.tool: submission.submit}
        work = SessionWork(prompt, why, submission.missing, handlers)
        end = await run.limits.reason_to_stop() or await run_session(run, work)
        if end is not None:
            return end
        if not submission.taken:
            continue
        decided = await decide_plan(run, _added(ids))
        if isinstance(decided, End):
            return decided
        if decided.approved:
            await clear_decision(run)
            return complete_end(_added(ids).rstrip(". "), "Continue with `ralph build`.")
        feedback = decided.reason or "The person is not satisfied with the new tasks."
        await run.project_state.transact(partial(_without, frozenset(ids)), "you rejected it")


def _without(rejected: frozenset[str], docs: Documents) -> Documents:
    tasks = tuple(task for task in docs.plan.tasks if task.id not in rejected)
    plan = docs.plan.model_copy(update={"tasks": tasks})
    return with_approval(docs.replacing(plan=plan), None)


def _added(ids: Sequence[str]) -> str:
    return f"{plural(len(ids), 'task')} added ({shortlist(ids, 8)}). "


def _id_problems(plan: ImplementationPlan, new: Sequence[Task]) -> list[str]:
    taken = plan.taken_ids()
    return [
        f"The plan already has a task {task.id}, which cannot be changed. Submit new tasks only."
        if plan.task(task.id) is not None
        else f"{task.id} is the id of an archived task. Use another id."
        for task in new
        if task.id in taken
    ]


def plan_notices(plan: ImplementationPlan) -> Iterator[str]:
    if asking := [task.id for task in plan.tasks if task.asks_to_change_checks]:
        verb = "asks" if len(asking) == 1 else "ask"
        yield f"{', '.join(asking)} {verb} to change existing tests. Approving the plan allows that."
    if kept := [task.id for task in plan.tasks if task.shows == "kept"]:
        yield f"{', '.join(kept)}: the checks only show that nothing broke."
    for task in plan.tasks:
        if task.touches:
            yield f"{task.id} may change {shortlist(task.touches, 5)}."


def allowing_check_changes(plan: ImplementationPlan) -> ImplementationPlan:
    for task in plan.tasks:
        if task.asks_to_change_checks:
            plan = plan.with_task(task.id, asks_to_change_checks=False, may_change_checks=True)
    return plan
