"""Track a session's task while others edit the plan, and change the task on the agent's behalf."""

from collections.abc import Callable, Mapping

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan import task_map
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.engine.context import RunContext
from ralph_tui.store.project import Documents, Outcome


class TaskTracker:
    """Follows the task through renames; the person's edits win over the agent's changes."""

    def __init__(self, task: Task, run: RunContext) -> None:
        """Track `task`, which is in progress and which the agent knows in this version."""
        self._initial = task
        """The task when the session began, with its current id."""
        self._names = {task.id}
        self._known_to_agent = task
        """The version of the task that the agent knows, or is about to learn."""
        self._unread_edit = ""
        """The person's edit, until the agent has read it."""
        self._final_status: TaskStatus | None = None
        """The status the agent gave the task. Set before it is written, lest it is taken for an edit."""
        self._run = run

    # The task's state.

    @property
    def task_id(self) -> str:
        return self.task.id if self.task else self._initial.id

    @property
    def task(self) -> Task | None:
        return task_map.found(self._run.docs.plan, self._initial)

    @property
    def status(self) -> TaskStatus | None:
        return self.task.status if self.task else None

    @property
    def working(self) -> bool:
        return self.status is TaskStatus.IN_PROGRESS

    @property
    def blockers(self) -> tuple[str, ...]:
        return self.task.blockers if self.task else ()

    @property
    def retries(self) -> int:
        return self.task.retry_count if self.task else 0

    @property
    def settled(self) -> TaskStatus | None:
        return self._final_status if self.status is self._final_status else None

    def is_called(self, name: str) -> bool:
        return name in self._names

    # The person's edits.

    @property
    def withdrawn_reason(self) -> str:
        taken = "" if self.settled is not None else self._withdrawal(self._run.docs)
        return f"the task was withdrawn: {taken}" if taken else ""

    def _withdrawal(self, docs: Documents) -> str:
        return task_map.withdrawal_reason(docs.plan, self._initial)

    def report_edits(self) -> None:
        """Report the effect of an edit to the person, and keep the edit for the agent, which gets it from `news`."""
        task = self.task
        if task is None or self.settled is not None or self.withdrawn_reason:
            return
        if task.id != self._initial.id:
            self._notify(f"{self._initial.id} was renamed to {task.id}. Its iteration continues.")
            self._rename(task.id)
        if what := task_map.reworded(self._known_to_agent, task):
            self._notify(
                f"{task.id} was changed while the agent works on it ({what}). The agent was informed, and its "
                "claim is checked against the changed task."
            )
            self._known_to_agent = task
            self._unread_edit = task_map.task_text(task)

    def news(self) -> str:
        self.report_edits()
        words, self._unread_edit = self._unread_edit, ""
        return f"The person changed your task. It now reads:\n{words}" if words else ""

    def _rename(self, name: str) -> None:
        self._names.add(name)
        self._initial = self._initial.model_copy(update={"id": name})

    def _notify(self, text: str) -> None:
        self._run.emit(ev.Notice(text=text))

    # The agent's changes.

    async def settle(
        self, reason: str, status: TaskStatus, *, judged: Task | None = None, **changes: object
    ) -> bool:
        """Complete or block the task, unless it differs from `judged`; return whether it is settled."""
        before, is_mine = self._final_status, False

        def remember(changed: str) -> None:
            nonlocal is_mine
            if changed or is_mine:  # a retried transaction may find the task no longer changeable
                self._final_status, is_mine = (status if changed else before), bool(changed)

        await self._change(reason, judged, {**changes, "status": status}, remember)
        return self.settled is not None

    async def change(self, reason: str, **changes: object) -> bool:
        """Change the task unless the person has withdrawn it; return whether it was changed."""
        return await self._change(reason, None, changes)

    async def _change(
        self,
        reason: str,
        judged: Task | None,
        changes: Mapping[str, object],
        before_write: Callable[[str], None] = lambda _: None,
    ) -> bool:
        """Change the task; return whether it was changed."""

        def change(docs: Documents) -> Outcome[str]:
            task, changed = task_map.found(docs.plan, self._initial), ""
            if task is not None and not self._withdrawal(docs):
                reworded = task_map.reworded(judged, task) if judged is not None else ""
                changed = "" if reworded else task.id
            before_write(changed)
            if not changed:
                return Outcome(docs, "")
            plan = docs.plan.with_task(changed, **changes)
            return Outcome(docs.replacing(plan=plan), changed)

        changed = (await self._run.project_state.transact_returning(change, reason)).value
        if changed:
            self._rename(changed)
        return bool(changed)
