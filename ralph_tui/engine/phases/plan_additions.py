"""Have the planning model add tasks to the plan, all or none; existing tasks stay unchanged."""

import asyncio
from collections.abc import Sequence
from functools import partial

from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.project_state import DECISIONS
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import Addition
from ralph_tui.engine.core.outcome import End, complete_end
from ralph_tui.engine.decisions.ask_person import clear_decision, with_approval
from ralph_tui.engine.phases.opening_prompts import prompt_of_additions
from ralph_tui.engine.phases.phase_session import run_session
from ralph_tui.engine.phases.planning import decide_plan, take_tasks
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.session.supervisor import SessionWork, Submission
from ralph_tui.store.project import Documents


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
        return await take_tasks(run, given.tasks, new=_summary(ids), problems=_id_problems)

    while True:
        prompt = await asyncio.to_thread(
            prompt_of_additions,
            run.project,
            run.docs,
            run.settings.phases.planning,
            addition,
            feedback,
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
        decided = await decide_plan(run, _summary(ids))
        if isinstance(decided, End):
            return decided
        if decided.approved:
            await clear_decision(run)
            return complete_end(_summary(ids).rstrip(". "), "Continue with `ralph build`.")
        feedback = decided.reason or "The person is not satisfied with the new tasks."
        await run.project_state.transact(partial(_without, frozenset(ids)), "you rejected it")


def _without(rejected: frozenset[str], docs: Documents) -> Documents:
    tasks = tuple(task for task in docs.plan.tasks if task.id not in rejected)
    plan = docs.plan.model_copy(update={"tasks": tasks})
    return with_approval(docs.replacing(plan=plan), None)


def _summary(ids: Sequence[str]) -> str:
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
