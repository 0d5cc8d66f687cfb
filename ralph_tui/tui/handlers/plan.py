"""Commands that change the plan: skip, retry, hold, model, edit, add, split, drop, undo, sooner, later."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import TaskChanged
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.control.attribution import CHANGED_ON_DISK
from ralph_tui.engine.control.plan_edits import TaskFields
from ralph_tui.present.text.key_hints import commands_as_key_text
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.workers import attempt
from ralph_tui.tui.screens.dialogs.confirm import Confirm, ConfirmChoice
from ralph_tui.tui.screens.dialogs.edit_task import AddTask, EditTask, Save, TypedFields
from ralph_tui.tui.screens.dialogs.split_task import SplitTask
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog


class PlanHandlers:
    """Changes tasks."""

    def __init__(self, on: CommandHost) -> None:
        """Change the plan of this app's project."""
        self._on = on
        self._app = on.app
        self._controls = on.app.launch.controls
        self._left: dict[str, tuple[TypedFields, TypedFields]] = {}
        """By task: its fields when editing began, and what was typed when it was left."""
        self._new: TypedFields | None = None
        """What was typed of a task that was not added."""
        self._parts: dict[str, str] = {}
        """By task: the parts that were typed but not sent."""

    async def skip(self) -> None:
        """Block the task, after asking."""
        task = self._app.situation().task
        if task is None:
            return
        answer = await self._app.push_screen_wait(
            Confirm(
                f"skip {task.id}",
                f"{one_line(task.title)}: the task is blocked and the loop continues with the next. "
                "Tasks that wait for it keep waiting.",
                (
                    ConfirmChoice("s", "Skip it", "skip", danger=True),
                    ConfirmChoice("k", "Keep it", "keep"),
                ),
            )
        )
        if answer != "skip":
            return
        if await self._send(task, partial(self._controls.skip, task.id)):
            said = self._app.keys.said(
                "{task} is blocked. {retry} on the task retries it.", task=task.id
            )
            self._app.say(said)

    async def retry(self) -> None:
        """Queue a blocked task again."""
        task = self._app.situation().task
        if task is None:
            return
        if await self._send(task, partial(self._controls.retry, task.id)):
            self._app.say(f"{task.id} is pending again.")

    async def hold(self) -> None:
        """Put the task on hold, or release it."""
        task = self._app.situation().task
        if task is None:
            return
        if task.held:
            if await self._send(task, partial(self._controls.release, task.id)):
                self._app.say(f"{task.id} is released.")
        elif await self._send(task, partial(self._controls.hold, task.id)):
            said = "{task} is on hold. {hold} on the task releases it."
            self._app.say(self._app.keys.said(said, task=task.id))

    async def _send(self, task: Task, request: Callable[[], Task]) -> bool:
        """Move a task to another group; the cursor stays where it is, on the next one."""
        board = self._on.dashboard.board
        board.send(task.id)
        sent = await attempt(self._app, request)
        if sent is None:
            board.send(None)
            return False
        self._show(sent)
        return True

    def _show(self, task: Task) -> None:
        """Show the task as it is on disk now, before the watcher does a moment later."""
        self._app.bridge.sink(TaskChanged(task=task, reason=CHANGED_ON_DISK))
        self._on.loop.flush()

    async def model(self) -> None:
        """Choose the task's model; a refused value can be corrected."""
        task = self._app.situation().task
        if task is None:
            return
        typed: str | None = task.model or ""
        hint = "Its next session works with it, such as opus. Empty: the configured model."
        while (
            typed := await self._app.push_screen_wait(
                ValueDialog(f"model of {task.id}", hint, typed or "")
            )
        ) is not None:
            fields = TaskFields(model=typed.strip())
            changed = await attempt(self._app, partial(self._controls.edit_task, task.id, fields))
            if changed is not None:
                self._app.say(
                    f"{task.id} is worked on with {typed.strip() or 'the configured model'}."
                )
                return

    async def edit(self) -> None:
        """Edit every field; Escape keeps what was typed, as long as nobody else changes the task."""
        task = self._app.situation().task
        if task is None:
            return
        before, typed = self._left.pop(task.id, (None, None))
        save = self._saving(partial(self._controls.edit_task, task.id))
        dialog = EditTask(task, save)
        if typed is not None and before == dialog.before:
            dialog = EditTask(task, save, typed)
        if await self._app.push_screen_wait(dialog) is not None:
            self._app.say(f"{task.id} is changed.")
        elif dialog.typed != dialog.before:
            self._left[task.id] = dialog.before, dialog.typed
            self._app.say(self._app.keys.said("What you typed is kept: {edit} continues."))

    async def add(self) -> None:
        """Add a task; Escape keeps what was typed."""
        dialog = AddTask(self._saving(self._controls.add_task), self._new)
        self._new = None
        made = await self._app.push_screen_wait(dialog)
        if made is not None:
            self._show(made)
            self._on.choose(made)
            self._app.say(f"{made.id} is added: {one_line(made.title)}")
        elif dialog.typed != dialog.before:
            self._new = dialog.typed
            self._app.say(self._app.keys.said("What you typed is kept: {add} continues."))

    def _saving(self, write: Callable[[TaskFields], Task]) -> Save:
        """Return what a form saves with, off the event loop."""

        async def save(fields: TaskFields) -> Task | str:
            try:
                return await asyncio.to_thread(write, fields)
            except RalphError as error:
                return commands_as_key_text(self._app.keys, str(error))

        return save

    async def split(self) -> None:
        """Split the task into parts, one per line; Escape keeps what was typed."""
        task = self._app.situation().task
        if task is None:
            return
        made: list[Task] = []

        async def write(parts: Sequence[str]) -> str:
            try:
                made.extend(await asyncio.to_thread(self._controls.split_task, task.id, parts))
            except RalphError as error:
                return commands_as_key_text(self._app.keys, str(error))
            return ""

        dialog = SplitTask(task.id, self._parts.pop(task.id, f"{one_line(task.title)}\n"), write)
        before = dialog.draft
        if await self._app.push_screen_wait(dialog) is not None:
            self._app.say(f"{task.id} is split into {plural(len(made), 'task')}.")
        elif dialog.draft != before:
            self._parts[task.id] = dialog.draft
            self._app.say(self._app.keys.said("What you typed is kept: {split} continues."))

    async def drop(self) -> None:
        """Drop the task, after asking."""
        task = self._app.situation().task
        if task is None:
            return
        answer = await self._app.push_screen_wait(
            Confirm(
                f"drop {task.id}",
                f"{one_line(task.title)}: it is taken out of the plan.",
                (
                    ConfirmChoice("D", "Drop it", "drop", danger=True),
                    ConfirmChoice("k", "Keep it", "keep"),
                ),
            )
        )
        if answer != "drop":
            return
        if await attempt(self._app, partial(self._controls.drop_task, task.id)) is not None:
            self._app.say(f"{task.id} is out of the plan.")

    async def undo(self) -> None:
        """Undo the task's work: show what would change, and do it if the person agrees."""
        from ralph_tui.tui.screens.dialogs.preview import undo_work  # not before the first paint

        task = self._app.situation().task
        if task is not None:
            await undo_work(self._app, task.id, task.id)

    async def sooner(self) -> None:
        """Move the task before the one above."""
        await self._move(-1)

    async def later(self) -> None:
        """Move the task after the one below."""
        await self._move(1)

    async def _move(self, step: int) -> None:
        """Move the task by one. The writer decides where it goes, because keys may be faster than the disk."""
        task = self._app.situation().task
        if task is None:
            return
        if await attempt(self._app, lambda: self._controls.move_task(task.id, step)) is False:
            self._app.say(f"{task.id} is the {'first' if step < 0 else 'last'} already.")
