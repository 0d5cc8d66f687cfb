"""Changes of the plan by the person: edit, split, drop, sooner, later."""

from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING

from ralph_tui.domain.plan import Task
from ralph_tui.domain.text import one_line
from ralph_tui.tui.render.approval import in_order
from ralph_tui.tui.render.figures import plural
from ralph_tui.tui.screens.confirm import Choice, Confirm
from ralph_tui.tui.screens.edit_task import Edit, EditTask
from ralph_tui.tui.screens.writing import Split

if TYPE_CHECKING:
    from ralph_tui.tui.app import RalphApp

Try = Callable[[Callable[[], object]], Awaitable[object | None]]


class Replanning:
    """Handlers of the commands that change a task."""

    def __init__(self, app: "RalphApp", attempt: Try) -> None:
        """Change through `attempt`."""
        self._app = app
        self._attempt = attempt
        self._controls = app.launch.controls

    async def edit(self) -> None:
        """Every field; what was typed is there again when it was refused."""
        task = self._app.situation().task
        if task is None:
            return
        dialog = EditTask(task)
        while change := await self._app.push_screen_wait(dialog):
            if await self._attempt(partial(self._change, task.id, change)) is not None:
                self._app.say(f"{task.id} is changed.")
                return
            dialog = EditTask(task, dialog.typed)

    def _change(self, task_id: str, change: Edit) -> Task:
        return self._controls.edit_task(
            task_id,
            description=change.description,
            priority=change.priority,
            verification_criteria=change.criteria,
            dependencies=change.dependencies,
        )

    async def split(self) -> None:
        """In parts, one per line; a draft survives a refusal."""
        task = self._app.situation().task
        if task is None:
            return
        draft = f"{one_line(task.title)}\n"
        while text := await self._app.push_screen_wait(dialog := Split(task.id, draft)):
            parts = [line.strip() for line in text.splitlines() if line.strip()]
            made = await self._attempt(partial(self._controls.split_task, task.id, parts))
            if made is not None:
                self._app.say(f"{task.id} is split into {plural(len(parts), 'task')}.")
                return
            draft = dialog.draft

    async def drop(self) -> None:
        """Take it out, after asking."""
        task = self._app.situation().task
        if task is None:
            return
        answer = await self._app.push_screen_wait(
            Confirm(
                f"drop {task.id}",
                f"{one_line(task.title)}: it is taken out of the plan.",
                (Choice("d", "Drop it", "drop", danger=True), Choice("k", "Keep it", "keep")),
            )
        )
        if answer == "drop" and await self._attempt(lambda: self._controls.drop_task(task.id)):
            self._app.say(f"{task.id} is out of the plan.")

    async def move(self, step: int) -> None:
        """One place sooner (-1) or later (1)."""
        task = self._app.situation().task
        if task is None:
            return
        priority = moved(self._app.view.tasks.values(), task, step)
        if priority is None:
            self._app.say(f"{task.id} is the {'first' if step < 0 else 'last'} already.")
            return
        await self._attempt(lambda: self._controls.edit_task(task.id, priority=priority))


def moved(tasks: Iterable[Task], task: Task, step: int) -> int | None:
    """The priority that puts a task before or after its neighbour; None at the end of the list."""
    tasks = list(tasks)
    order = in_order(tasks)
    place = next((i for i, other in enumerate(order) if other.id == task.id), None)
    if place is None or not 0 <= place + step < len(order):
        return None
    other = order[place + step]
    ids = [t.id for t in tasks]
    comes_first = ids.index(task.id) < ids.index(other.id)
    tie_is_enough = comes_first if step < 0 else not comes_first
    return other.priority if tie_is_enough else other.priority + step
