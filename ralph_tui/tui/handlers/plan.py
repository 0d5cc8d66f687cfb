"""Commands that change the plan: skip, retry, hold, model, edit, add, split, drop, undo, sooner, later, import."""

import asyncio
from collections.abc import Callable, Sequence
from functools import partial

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import TaskChanged
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.import_preview import ImportPreview
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.control.launch import PlanImporter
from ralph_tui.engine.control.plan_edits import TaskFields, by_hand
from ralph_tui.present.sections.import_parts import import_done, import_parts
from ralph_tui.present.text.key_hints import commands_as_key_text
from ralph_tui.store.foreign_files import foreign_plans
from ralph_tui.tui.handlers.command_host import CommandHost
from ralph_tui.tui.host.widget_host import attempt
from ralph_tui.tui.screens.dialogs.confirm import Confirm, ConfirmChoice
from ralph_tui.tui.screens.dialogs.edit_task import AddTask, EditTask, Save, TypedFields
from ralph_tui.tui.screens.dialogs.preview import PreviewDialog, undo_work
from ralph_tui.tui.screens.dialogs.text_input import SplitTask, ValueDialog


class PlanHandlers:
    """Changes the tasks of the plan."""

    def __init__(self, host: CommandHost) -> None:
        self._host = host
        self._app = host.app
        self._controls = host.app.launch.controls
        self._unsaved: dict[str, tuple[TypedFields, TypedFields]] = {}
        """By task: its fields when editing started, and the unsaved fields when the person left."""
        self._unsaved_new: TypedFields | None = None
        """The fields typed for a task that was not added."""
        self._unsaved_parts: dict[str, str] = {}
        """By task: parts that were typed but not saved."""

    async def skip(self, task: Task) -> None:
        answer = await self._app.push_screen_wait(
            Confirm(
                f"Skip {task.id}",
                f'This blocks "{one_line(task.title)}". The loop continues with the next task. '
                "Tasks that depend on it keep waiting.",
                (
                    ConfirmChoice("s", "Skip it", "skip", danger=True),
                    ConfirmChoice("k", "Keep it", "keep"),
                ),
            )
        )
        if answer != "skip":
            return
        if await self._send(task, partial(self._controls.skip, task.id)):
            message = self._app.keys.said(
                "{task} is blocked. Press {retry} on the task to retry it.", task=task.id
            )
            self._app.show_message(message)

    async def retry(self, task: Task) -> None:
        if await self._send(task, partial(self._controls.retry, task.id)):
            self._app.show_message(f"{task.id} is queued again.")

    async def hold(self, task: Task) -> None:
        if task.held:
            if await self._send(task, partial(self._controls.release, task.id)):
                self._app.show_message(f"{task.id} is released.")
        elif await self._send(task, partial(self._controls.hold, task.id)):
            message = "{task} is on hold. Press {hold} on the task to release it."
            self._app.show_message(self._app.keys.said(message, task=task.id))

    async def _send(self, task: Task, request: Callable[[], Task]) -> bool:
        board = self._host.dashboard.board
        board.expect_move(task.id)
        sent = await attempt(self._app, request)
        if sent is None:
            board.expect_move(None)
            return False
        self._show(sent)
        return True

    def _show(self, task: Task) -> None:
        before = self._app.view.tasks.get(task.id)
        self._app.bridge.sink(TaskChanged(task=task, reason=by_hand(before, task)))
        self._host.loop.flush()

    async def model(self, task: Task) -> None:
        """Choose the task's model; a refused value can be corrected."""
        typed: str | None = task.model or ""
        hint = "The model for the next session of this task, such as opus. Leave empty to use the configured model."
        while (
            typed := await self._app.push_screen_wait(
                ValueDialog(f"model for {task.id}", hint, typed or "")
            )
        ) is not None:
            fields = TaskFields(model=typed.strip())
            changed = await attempt(self._app, partial(self._controls.edit_task, task.id, fields))
            if changed is not None:
                self._app.show_message(
                    f"{task.id} will use {typed.strip() or 'the configured model'}."
                )
                return

    async def edit(self, task: Task) -> None:
        """Edit every field; Escape keeps the typed fields until somebody else changes the task."""
        before, typed = self._unsaved.pop(task.id, (None, None))
        save = self._saving(partial(self._controls.edit_task, task.id))
        dialog = EditTask(task, save)
        if typed is not None and before == dialog.before:
            dialog = EditTask(task, save, typed)
        if await self._app.push_screen_wait(dialog) is not None:
            self._app.show_message(f"Saved {task.id}.")
        elif dialog.typed != dialog.before:
            self._unsaved[task.id] = dialog.before, dialog.typed
            self._app.show_message(
                self._app.keys.said("Your draft is kept. Press {edit} to continue.")
            )

    async def add(self) -> None:
        """Add a task; Escape keeps the typed fields."""
        dialog = AddTask(self._saving(self._controls.add_task), self._unsaved_new)
        self._unsaved_new = None
        made = await self._app.push_screen_wait(dialog)
        if made is not None:
            self._show(made)
            self._host.choose(made)
            self._app.show_message(f"Added {made.id}: {one_line(made.title)}")
        elif dialog.typed != dialog.before:
            self._unsaved_new = dialog.typed
            self._app.show_message(
                self._app.keys.said("Your draft is kept. Press {add} to continue.")
            )

    def _saving(self, write: Callable[[TaskFields], Task]) -> Save:
        async def save(fields: TaskFields) -> Task | str:
            try:
                return await asyncio.to_thread(write, fields)
            except RalphError as error:
                return commands_as_key_text(self._app.keys, str(error))

        return save

    async def split(self, task: Task) -> None:
        """Split the task into parts, one per line; Escape keeps the typed text."""
        made: list[Task] = []

        async def write(parts: Sequence[str]) -> str:
            try:
                made.extend(await asyncio.to_thread(self._controls.split_task, task.id, parts))
            except RalphError as error:
                return commands_as_key_text(self._app.keys, str(error))
            return ""

        dialog = SplitTask(
            task.id, self._unsaved_parts.pop(task.id, f"{one_line(task.title)}\n"), write
        )
        before = dialog.draft
        if await self._app.push_screen_wait(dialog) is not None:
            self._app.show_message(f"Split {task.id} into {plural(len(made), 'task')}.")
        elif dialog.draft != before:
            self._unsaved_parts[task.id] = dialog.draft
            self._app.show_message(
                self._app.keys.said("Your draft is kept. Press {split} to continue.")
            )

    async def drop(self, task: Task) -> None:
        answer = await self._app.push_screen_wait(
            Confirm(
                f"Drop {task.id}",
                f'This removes "{one_line(task.title)}" from the plan.',
                (
                    ConfirmChoice("D", "Drop it", "drop", danger=True),
                    ConfirmChoice("k", "Keep it", "keep"),
                ),
            )
        )
        if answer != "drop":
            return
        if await attempt(self._app, partial(self._controls.drop_task, task.id)) is not None:
            self._app.show_message(f"Removed {task.id} from the plan.")

    async def undo(self, task: Task) -> None:
        await undo_work(self._app, task.id, task.id)

    async def move(self, step: int, task: Task) -> None:
        """Move the task by one place. The engine computes the place, because keys may be faster than the disk."""
        if await attempt(self._app, lambda: self._controls.move_task(task.id, step)) is False:
            self._app.show_message(f"{task.id} is already {'first' if step < 0 else 'last'}.")


MOST_ROWS = 1_000
MOST_NAMED = 5

_WHICH = "A plan file of another tool, or a directory of such files, relative to the project. You see a preview first."


class ImportFileDialog(ValueDialog):
    """Asks which file to import."""

    KEYS = "enter preview, esc cancel"

    def __init__(self, hint: str, value: str) -> None:
        super().__init__("Import a plan", hint, value)


class ImportDialog(PreviewDialog):
    """Shows what an import would change."""

    KEYS = "ctrl+y import, esc cancel; {search} search, {copy} copy, {share} export"
    STEM = "import"

    def __init__(self, preview: ImportPreview) -> None:
        super().__init__(
            f"Import {preview.source} ({preview.format})",
            import_parts(preview, MOST_ROWS),
            does_something=preview.changes_plan,
        )


class ImportHandler:
    """Imports another tool's plan into the project's plan."""

    def __init__(self, host: CommandHost) -> None:
        self._app = host.app

    async def import_plan(self) -> None:
        """Ask for a file until one can be read or the person leaves, preview its changes, and import it."""
        make, app = self._app.launch.importer, self._app
        if make is None:
            return
        found = await asyncio.to_thread(foreign_plans, app.launch.root)
        typed: str | None = found[0] if found else ""
        hint = f"{_WHICH}{_named(found)}"
        while (
            typed := await app.push_screen_wait(ImportFileDialog(hint, typed or ""))
        ) is not None:
            if not (name := typed.strip()):
                app.show_message("Enter a file name first, or press esc to cancel.")
                continue
            importer = await asyncio.to_thread(make)
            try:
                preview = await asyncio.to_thread(importer.look, name)
            except RalphError as error:
                message = commands_as_key_text(app.keys, str(error))
                app.show_message(message, error=True)
                hint = message  # a toast disappears, but the person needs the sentence while correcting the name
                continue
            if await app.push_screen_wait(ImportDialog(preview)):
                await self._write(importer, preview)
            return

    async def _write(self, importer: PlanImporter, preview: ImportPreview) -> None:
        done = await attempt(self._app, partial(importer.write, preview))
        if done is not None:
            self._app.foreign_plans = ()
            self._app.show_message(f"Imported {import_done(done)}.")


def _named(found: tuple[str, ...]) -> str:
    if len(found) < 2:
        return ""
    names = ", ".join(one_line(name, 80) for name in found[:MOST_NAMED])
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return f" Found here: {names}{more}."
