"""Have the planning model add tasks to the plan, all or none; existing tasks stay unchanged."""

import asyncio
from collections.abc import Sequence

from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.project_state import DECISIONS
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.context import RunContext
from ralph_tui.engine.control.request import Addition
from ralph_tui.engine.core.outcome import End, complete_end
from ralph_tui.engine.decisions.ask_person import clear_decision, with_approval
from ralph_tui.engine.phases.opening_prompts import prompt_of_additions
from ralph_tui.engine.phases.phase_session import run_session
from ralph_tui.engine.phases.planning import decide_plan, take_tasks
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import bullets
from ralph_tui.engine.session.supervisor import Handler, SessionWork
from ralph_tui.store.project import Documents

_NOT_YET = "Nothing was added yet. Submit the new tasks with ralph_submit_plan."


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
    feedback = ""
    while True:
        session = _Additions(run, addition)
        end = await run.limits.reason_to_stop() or await session.run(feedback)
        if end is not None:
            return end
        if not session.added:
            continue
        decided = await decide_plan(run, session.summary)
        if isinstance(decided, End):
            return decided
        if decided.approved:
            await clear_decision(run)
            return complete_end(session.summary.rstrip(". "), "Continue with `ralph build`.")
        feedback = decided.reason or "The person is not satisfied with the new tasks."
        await session.remove_added()


class _Additions:
    """Runs one session and keeps track of the tasks it has added."""

    def __init__(self, run: RunContext, addition: Addition) -> None:
        self._run = run
        self._addition = addition
        self.added: tuple[str, ...] = ()

    @property
    def summary(self) -> str:
        return _summary(self.added)

    async def run(self, feedback: str) -> End | None:
        run = self._run
        prompt = await asyncio.to_thread(
            prompt_of_additions,
            run.project,
            run.docs,
            run.settings.phases.planning,
            self._addition,
            feedback,
        )
        why = "you requested other tasks" if feedback else f"planning {self._addition.source}"
        handlers: dict[str, Handler] = {
            "ralph_submit_plan": self._submit,
            "ralph_add_task": _one_at_a_time,
        }
        return await run_session(run, SessionWork(prompt, why, self._missing, handlers))

    async def remove_added(self) -> None:
        """Remove the rejected tasks from the plan, and clear the decision."""
        rejected = set(self.added)

        def change(docs: Documents) -> Documents:
            tasks = tuple(task for task in docs.plan.tasks if task.id not in rejected)
            plan = docs.plan.model_copy(update={"tasks": tasks})
            return with_approval(docs.replacing(plan=plan), None)

        await self._run.project_state.transact(change, "you rejected it")

    async def _missing(self) -> str | None:
        return None if self.added else _NOT_YET

    async def _submit(self, given: rt.ToolInput) -> ToolAnswer:
        assert isinstance(given, rt.SubmitPlan)
        if self.added:
            return rt.error("The tasks are already added. Stop now. The person reviews them.")
        ids = tuple(task.id for task in given.tasks)
        refused = await take_tasks(self._run, given.tasks, new=_summary(ids), problems=_id_problems)
        if refused:
            return rt.error(
                "NOT YET:\n" + bullets(refused) + "\nCorrect this and submit all new tasks again."
            )
        self.added = ids
        return rt.answer({"added": len(ids), "next": "The person reviews them. Stop now."})


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


async def _one_at_a_time(_: rt.ToolInput) -> ToolAnswer:
    """Refuse a single task, because a session that ends early would leave only some of them."""
    return rt.error("Submit all new tasks at once with ralph_submit_plan.")
