"""The task of a session while others edit the plan: where it stands, what is told of an edit, what may change it."""

from ralph_tui.domain import events as ev
from ralph_tui.domain import underway
from ralph_tui.domain.plan import Task, TaskStatus
from ralph_tui.engine.ledger import Ledger
from ralph_tui.engine.ports import EventSink
from ralph_tui.store.project import Documents


class TaskInHand:
    """Knows the task under every name; the person's edit wins over what the agent does to it."""

    def __init__(self, task: Task, ledger: Ledger, emit: EventSink) -> None:
        """Follow `task`, in progress and in the words that the agent was given."""
        self._began = task
        self._names = {task.id}
        self._said = task
        self._untold = ""
        self._is_settled = False
        self._settling = 0
        """Settlings under way: what they write is nobody's edit, and may be seen before they are done."""
        self._ledger = ledger
        self._emit = emit

    # Where it stands.

    @property
    def task_id(self) -> str:
        """What the task is called now."""
        return self.task.id if self.task else self._began.id

    @property
    def task(self) -> Task | None:
        """The task as last seen; None when it was taken out of the plan."""
        return underway.found(self._ledger.docs.plan, self._began)

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
        return self.status if self._is_settled else None

    def is_called(self, name: str) -> bool:
        """Whether this is its name, or was when the agent was told of it."""
        return name in self._names

    # What the person does to it.

    @property
    def taken_away(self) -> str:
        """Why the person's edit ends the work on it; empty while it goes on, and once it is settled."""
        ours = self._is_settled or self._settling
        taken = "" if ours else self._why_taken(self._ledger.docs)
        return f"the person took the task away: {taken}" if taken else ""

    def _why_taken(self, docs: Documents) -> str:
        return underway.why_taken(docs.plan, self._began)

    def mind_edits(self) -> None:
        """Tell the person what their edit of the task leads to; the agent is told by `news`."""
        task = self.task
        if task is None or self._is_settled or self.taken_away:
            return
        if task.id != self._began.id:
            self._tell(f"{self._began.id} is called {task.id} now; its iteration goes on.")
            self._rename(task.id)
        if what := underway.reworded(self._said, task):
            self._tell(
                f"{task.id} was changed while it is worked ({what}): the agent is told, and its claim "
                "is held against what the plan says now."
            )
            self._said = task
            self._untold = underway.in_its_words(task)

    def news(self) -> str:
        """What the agent must know of an edit, once; empty when it knows the task as it is."""
        self.mind_edits()
        words, self._untold = self._untold, ""
        return (
            f"The person changed your task meanwhile. What counts is now:\n{words}" if words else ""
        )

    def _rename(self, name: str) -> None:
        """Know the task by its new name; the agent may go on using the old one."""
        self._names.add(name)
        self._began = self._began.model_copy(update={"id": name})

    def _tell(self, text: str) -> None:
        self._emit(ev.Notice(text=text))

    # What the agent does to it.

    async def settle(self, reason: str, *, judged: Task | None = None, **changes: object) -> bool:
        """As `change`, for good: nothing is left to work, whatever the agent claims once more."""
        self._settling += 1
        try:
            done = await self.change(reason, judged=judged, **changes)
            self._is_settled = self._is_settled or done
        finally:
            self._settling -= 1
        return self._is_settled

    async def change(self, reason: str, *, judged: Task | None = None, **changes: object) -> bool:
        """Change the task while it is ours, and in the words that were `judged`; whether that was done."""
        changed = ""

        def change(docs: Documents) -> Documents:
            nonlocal changed
            task, changed = underway.found(docs.plan, self._began), ""
            if task is None or self._why_taken(docs):
                return docs
            if judged is not None and underway.reworded(judged, task):
                return docs
            changed = task.id
            return docs.model_copy(update={"plan": docs.plan.with_task(task.id, **changes)})

        await self._ledger.transact(change, reason)
        if changed:
            self._rename(changed)
        return bool(changed)
