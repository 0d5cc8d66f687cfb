"""What a person may do to the plan, from any process: every request is a change on disk."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.verification.verification import TaskVerification
from ralph_tui.engine.doings import Doings
from ralph_tui.engine.plan_edits import (
    completed,
    dropped,
    find,
    find_open,
    held,
    moved,
    released,
    retried,
    skipped,
    split,
)
from ralph_tui.engine.plan_fields import TaskFields, added, edited
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Documents, Project

Change = Callable[[ImplementationPlan], ImplementationPlan]


class PlanControls:
    """Changes of one project's plan; each call blocks for one transaction."""

    def __init__(self, root: Path, tell: Callable[[str], None] | None = None) -> None:
        """Address the project at `root`; `tell` gets what is waited for, set aside or restored."""
        self.root = root
        self.doings, self.journaled = Doings(), Doings()
        """For who shows what happens, and for who writes it down; each tells of a change once."""
        self._project = Project(root, tell=tell)

    def skip(self, task_id: str) -> Task:
        """Block a task so that the loop goes on with the next; returns the blocked task.

        Raises:
            RalphError: There is no such task, or it is complete.
        """
        return find(self._replan("you skipped it", lambda plan: skipped(plan, task_id)), task_id)

    def complete(self, task_id: str, reason: str) -> Task:
        """Call a task complete without a check, on the person's word; returns it.

        Raises:
            RalphError: There is no such task, it is complete, no reason is given, or an agent asks for it.
        """
        if not reason.strip():
            message = "A task that is complete without a check needs a reason."
            raise RalphError(message, f'ralph complete {task_id} --reason "Checked by hand".')
        project = self._project
        find_open(project.transact(lambda docs: docs).plan, task_id)
        decided = TaskVerification.decided_by_person(reason.strip(), utc_now())
        rests = project.receipts.record(task_id, decided)
        return find(
            self._replan("you called it complete", lambda plan: completed(plan, task_id, rests)),
            task_id,
        )

    def retry(self, task_id: str) -> Task:
        """Put a blocked task back to pending with its retries at zero.

        Raises:
            RalphError: There is no such task, or it is not blocked.
        """
        return find(self._replan("you put it back", lambda plan: retried(plan, task_id)), task_id)

    def hold(self, task_id: str) -> Task:
        """Have a task not chosen until it is released; work on it ends. Returns the held task.

        Raises:
            RalphError: There is no such task, it is held already, or it is complete or blocked.
        """
        return find(self._replan("you held it", lambda plan: held(plan, task_id)), task_id)

    def release(self, task_id: str) -> Task:
        """Let a held task be chosen again; returns it.

        Raises:
            RalphError: There is no such task, or it is not held.
        """
        return find(self._replan("you released it", lambda plan: released(plan, task_id)), task_id)

    def edit_task(self, task_id: str, fields: TaskFields) -> Task:
        """Change a task that is not complete; returns it as it is now.

        Raises:
            RalphError: There is no such task, it is complete, a field is not what it may be, or the
                plan would not work.
        """
        plan = self._replan("you changed it", lambda plan: edited(plan, task_id, fields))
        return find(plan, task_id)

    def add_task(self, fields: TaskFields) -> Task:
        """Put one more task into the plan, under an id that is free; returns it.

        Raises:
            RalphError: It has no description, a field is not what it may be, or the plan would not work.
        """
        return self._replan("you added it", lambda plan: added(plan, fields)).tasks[-1]

    def move_task(self, task_id: str, step: int) -> bool:
        """Have an open task worked one place sooner (`step` -1) or later (1); whether there was one.

        Raises:
            RalphError: There is no such task, or it is complete.
        """
        was_moved: list[bool] = []

        def change(plan: ImplementationPlan) -> ImplementationPlan:
            after = moved(plan, task_id, step)
            was_moved[:] = [after is not plan]
            return after

        self._replan("you moved it", change)
        return was_moved[0]

    def drop_task(self, task_id: str) -> Task:
        """Take a task out of the plan; returns it as it was.

        Raises:
            RalphError: There is no such task, it is complete, or others depend on it.
        """
        was: list[Task] = []

        def change(plan: ImplementationPlan) -> ImplementationPlan:
            was[:] = [find(plan, task_id)]
            return dropped(plan, task_id)

        self._replan("you changed it", change)
        return was[0]

    def split_task(self, task_id: str, parts: Sequence[str]) -> tuple[Task, ...]:
        """Put several tasks in the place of one, each building on the one before; returns them.

        Raises:
            RalphError: There is no such task, it is complete or being worked, or a part is empty.
        """
        known: set[str] = set()

        def change(plan: ImplementationPlan) -> ImplementationPlan:
            known.update(task.id for task in plan.tasks)
            return split(plan, task_id, parts)

        plan = self._replan("you split it", change)
        return tuple(task for task in plan.tasks if task.id not in known)

    def _replan(self, words: str, change: Change) -> ImplementationPlan:
        """Change the plan on disk; `words` say what the person did to the task."""

        def replan(docs: Documents) -> Documents:
            after = change(docs.plan)
            for known in (self.doings, self.journaled):
                known.note(docs.plan, after, words)
            return docs.model_copy(update={"plan": after})

        return self._project.transact(replan).plan
