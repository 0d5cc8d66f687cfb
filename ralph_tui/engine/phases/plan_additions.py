"""Have the planning model add tasks to the plan: all of them or none, and the plan's own stay as they are."""

import asyncio
from collections.abc import Sequence

from ralph_tui.domain.errors import PlanError
from ralph_tui.domain.events import PLANNED
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.project_state import DECISIONS
from ralph_tui.domain.tool_calls import ToolAnswer
from ralph_tui.engine.control.request import Addition
from ralph_tui.engine.core.outcome import End, complete_end
from ralph_tui.engine.decisions.ask_person import clear_decision, with_approval
from ralph_tui.engine.phases.opening_prompts import prompt_of_additions
from ralph_tui.engine.phases.phase_session import Stage, run_session
from ralph_tui.engine.phases.phase_supervisor import PhaseSupervisor
from ralph_tui.engine.phases.planning import decide_plan, handed_in, plan_problems
from ralph_tui.engine.prompts import tool_schemas as rt
from ralph_tui.engine.prompts.prompts import bullets
from ralph_tui.store.project import Documents, Outcome

_NOT_YET = "Nothing was added yet. Hand in the new tasks with ralph_submit_plan."


def require_extensible(docs: Documents) -> None:
    """Refuse additions to a plan that does not work, or that somebody must decide about first.

    Raises:
        PlanError: The plan cannot take any now.
    """
    if problems := docs.plan.problems():
        raise PlanError(problems[0].message, "Correct the plan first, then add to it.")
    made = docs.state.decision
    if made is None or made.approved:
        return
    if made.approved is None:
        message = f"Your decision about {DECISIONS[made.kind]} is still open."
        raise PlanError(message, "Decide first: `ralph approve` or `ralph reject`.")
    message = f"You rejected {DECISIONS[made.kind]}, and that was not acted on yet."
    raise PlanError(message, "Continue with it first: `ralph run`.")


async def run(stage: Stage, addition: Addition) -> End:
    """Plan the additions until the person agrees to them; a rejection takes them out again."""
    feedback = ""
    while True:
        session = _Additions(stage, addition)
        end = await stage.run_limits.reason_to_stop() or await session.talk(feedback)
        if end is not None:
            return end
        if not session.added:
            continue
        decided = await decide_plan(stage, session.told)
        if isinstance(decided, End):
            return decided
        if decided.approved:
            await clear_decision(stage.run)
            return complete_end(session.told.rstrip(". "), "Continue with `ralph build`.")
        feedback = decided.reason or "The person is not satisfied with the new tasks."
        await session.take_out()


class _Additions:
    """One session, with the tasks it has added."""

    def __init__(self, stage: Stage, addition: Addition) -> None:
        self._stage = stage
        self._addition = addition
        self.added: tuple[str, ...] = ()

    @property
    def told(self) -> str:
        """What was added, as the beginning of a sentence for the person."""
        return _told(self.added)

    async def talk(self, feedback: str) -> End | None:
        """Run the session; returns an end when nothing further can help."""
        stage = self._stage
        supervisor = PhaseSupervisor(
            stage.run,
            missing=self._missing,
            handlers={"ralph_submit_plan": self._submit, "ralph_add_task": _one_at_a_time},
            ends_turn=frozenset({"ralph_submit_plan"}),
        )
        prompt = await asyncio.to_thread(
            prompt_of_additions,
            stage.run.project,
            stage.docs,
            stage.run.settings.phases.planning,
            self._addition,
            feedback,
        )
        why = "the person wants other tasks" if feedback else f"{self._addition.source} is planned"
        return await run_session(stage, supervisor, prompt=prompt, missing=self._missing, why=why)

    async def take_out(self) -> None:
        """Take what the person rejected out of the plan, with the decision."""
        rejected = set(self.added)

        def change(docs: Documents) -> Documents:
            tasks = tuple(task for task in docs.plan.tasks if task.id not in rejected)
            plan = docs.plan.model_copy(update={"tasks": tasks})
            return with_approval(docs.replacing(plan=plan), None)

        await self._stage.run.project_state.transact(change, "the person rejected it")

    async def _missing(self) -> str | None:
        return None if self.added else _NOT_YET

    async def _submit(self, given: rt.ToolInput) -> ToolAnswer:
        """Add all tasks in one transaction, when the whole plan is sound with them."""
        assert isinstance(given, rt.SubmitPlan)
        if self.added:
            return rt.error("The tasks are added already. Stop now: the person reviews them.")
        stage = self._stage
        rules = await asyncio.to_thread(stage.run.gate.rules)
        tasks = tuple(Task.model_validate(task.model_dump()) for task in given.tasks)
        ids = tuple(task.id for task in tasks)

        def change(docs: Documents) -> Outcome[tuple[str, ...]]:
            plan = docs.plan.adding(tasks)
            refused = _taken(docs.plan, tasks) or plan_problems(
                plan, tasks, stage.run.settings.phases.planning
            )
            added = docs if refused else handed_in(stage, docs, plan, rules, _told(ids))
            return Outcome(added, tuple(refused))

        refused = (await stage.run.project_state.transact_returning(change, PLANNED)).value
        if refused:
            return rt.error(
                "NOT YET:\n" + bullets(refused) + "\nCorrect this and hand in all new tasks again."
            )
        self.added = ids
        return rt.answer({"added": len(ids), "next": "The person reviews them. Stop now."})


def _told(ids: Sequence[str]) -> str:
    return f"{plural(len(ids), 'task')} added ({shortlist(ids, 8)}). "


def _taken(plan: ImplementationPlan, new: Sequence[Task]) -> list[str]:
    taken = plan.taken_ids()
    return [
        f"The plan has a task {task.id} already, and it stays as it is. Hand in new tasks only."
        if plan.task(task.id) is not None
        else f"{task.id} is the id of an archived task. Use another id."
        for task in new
        if task.id in taken
    ]


async def _one_at_a_time(given: rt.ToolInput) -> ToolAnswer:
    """Refuse a single task: a session that ends in the middle would leave a part of them."""
    del given
    return rt.error("Hand in all new tasks at once with ralph_submit_plan.")
