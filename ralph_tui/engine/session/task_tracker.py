"""Track a session's task while others edit the plan: its state, what is reported of an edit, what may change it."""

from collections.abc import Callable, Mapping

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.plan import task_matching
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.store.project import Documents, Outcome


class TaskTracker:
    """Knows the task under every name; the person's edit wins over what the agent does to it."""

    def __init__(self, task: Task, project_state: ProjectState, emit: EventSink) -> None:
        """Follow `task`, in progress and in the words that the agent was given."""
        self._began = task
        self._names = {task.id}
        self._said = task
        self._untold = ""
        self._made: TaskStatus | None = None
        """What the agent made of it: known before it is written, so that nobody takes it for an edit."""
        self._project_state = project_state
        self._emit = emit

    # Its state.

    @property
    def task_id(self) -> str:
        """What the task is called now."""
        return self.task.id if self.task else self._began.id

    @property
    def task(self) -> Task | None:
        """The task as last seen; None when it was taken out of the plan."""
        return task_matching.found(self._project_state.docs.plan, self._began)

    @property
    def status(self) -> TaskStatus | None:
        """The task's status as last seen."""
        return self.task.status if self.task else None

    @property
    def working(self) -> bool:
        """Whether the task is still in progress."""
        return self.status is TaskStatus.IN_PROGRESS

    @property
    def retries(self) -> int:
        """Failed attempts so far."""
        return self.task.retry_count if self.task else 0

    @property
    def settled(self) -> TaskStatus | None:
        """What the agent made of the task: complete or blocked; None when it did not, or somebody undid it."""
        return self._made if self._made is not None and self.status is self._made else None

    def is_called(self, name: str) -> bool:
        """Return whether this is the task's name, or was when the agent got it."""
        return name in self._names

    # What the person does to it.

    @property
    def taken_away(self) -> str:
        """Why the person's edit ends the work on it; empty while it continues, and once it is settled."""
        taken = "" if self.settled is not None else self._why_taken(self._project_state.docs)
        return f"the person took the task away: {taken}" if taken else ""

    def _why_taken(self, docs: Documents) -> str:
        return task_matching.why_taken(docs.plan, self._began)

    def mind_edits(self) -> None:
        """Tell the person what their edit of the task leads to; the agent is told by `news`."""
        task = self.task
        if task is None or self.settled is not None or self.taken_away:
            return
        if task.id != self._began.id:
            self._tell(f"{self._began.id} is called {task.id} now; its iteration continues.")
            self._rename(task.id)
        if what := task_matching.reworded(self._said, task):
            self._tell(
                f"{task.id} was changed while it is worked on ({what}): the agent knows, and its claim "
                "is checked against the plan as it is now."
            )
            self._said = task
            self._untold = task_matching.in_its_words(task)

    def news(self) -> str:
        """Return what the agent must know of an edit, once; empty when it knows the task as it is."""
        self.mind_edits()
        words, self._untold = self._untold, ""
        return (
            f"The person changed your task meanwhile. What counts is now:\n{words}" if words else ""
        )

    def _rename(self, name: str) -> None:
        """Know the task by its new name; the agent may continue using the old one."""
        self._names.add(name)
        self._began = self._began.model_copy(update={"id": name})

    def _tell(self, text: str) -> None:
        self._emit(ev.Notice(text=text))

    # What the agent does to it.

    async def settle(
        self, reason: str, status: TaskStatus, *, judged: Task | None = None, **changes: object
    ) -> bool:
        """Complete or block the task; returns whether it is settled, now or before."""
        before, is_mine = self._made, False

        def note(changed: str) -> None:
            nonlocal is_mine
            if changed or is_mine:  # tried again, it may not be changed any more
                self._made, is_mine = (status if changed else before), bool(changed)

        await self._change(reason, judged, {**changes, "status": status}, note)
        return self.settled is not None

    async def change(self, reason: str, **changes: object) -> bool:
        """Change the task while it is ours; returns whether that was done."""
        return await self._change(reason, None, changes)

    async def _change(
        self,
        reason: str,
        judged: Task | None,
        changes: Mapping[str, object],
        note: Callable[[str], None] = lambda _: None,
    ) -> bool:
        """`judged` are the words that it must still have; `note` gets its name, or nothing, before it is written."""

        def change(docs: Documents) -> Outcome[str]:
            task, changed = task_matching.found(docs.plan, self._began), ""
            if task is not None and not self._why_taken(docs):
                reworded = task_matching.reworded(judged, task) if judged is not None else ""
                changed = "" if reworded else task.id
            note(changed)
            if not changed:
                return Outcome(docs, "")
            plan = docs.plan.with_task(changed, **changes)
            return Outcome(docs.replacing(plan=plan), changed)

        changed = (await self._project_state.transact_returning(change, reason)).value
        if changed:
            self._rename(changed)
        return bool(changed)
