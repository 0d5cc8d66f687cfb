"""The form with every field that a person may set, to edit or add a task."""

import re
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import ClassVar, NamedTuple

from textual import getters
from textual.binding import Binding, BindingType
from textual.containers import Horizontal
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.verification.check_commands import runnable_command
from ralph_tui.engine.control.plan_edits import TaskFields
from ralph_tui.present.text.spans import flat
from ralph_tui.tui.host.widget_host import do
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.screens.dialogs.text_input import editor
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame


class TypedFields(NamedTuple):
    """The fields as typed."""

    description: str = ""
    criteria: str = ""
    dependencies: str = ""
    priority: str = ""
    tokens: str = ""
    model: str = ""


class FieldError(NamedTuple):
    """A field with an invalid value, and the reason."""

    field: str
    why: str


def fields_of(task: Task) -> TypedFields:
    return TypedFields(
        inert(task.description),
        "\n".join(_lines(task)),
        ", ".join(flat(dep) for dep in task.dependencies),
        str(task.priority),
        str(task.estimated_tokens or ""),
        flat(task.model or ""),
    )


def _lines(task: Task) -> list[str]:
    return [
        inert(runnable_command(c) or (c if isinstance(c, str) else c.description)).replace(
            "\n", " "
        )
        for c in task.verification_criteria
    ]


def parse_fields(before: TypedFields, now: TypedFields) -> TaskFields | FieldError:
    """Return the changed fields (None for unchanged ones), or the first invalid field."""
    description = now.description.strip()
    if not description:
        return FieldError("description", "A task needs a description.")
    changed = {name for name in TypedFields._fields if getattr(now, name) != getattr(before, name)}
    priority = _integer(now.priority)
    if priority is None and (before.priority or now.priority.strip()):
        return FieldError("priority", "The priority must be a whole number. Lower runs first.")
    tokens = _tokens(now.tokens)
    if tokens is None:
        return FieldError(
            "tokens", "Tokens must be a whole number, such as 30000 or 30k, or empty."
        )
    lines = tuple(line.strip() for line in now.criteria.splitlines() if line.strip())
    waits = tuple(part.strip() for part in now.dependencies.split(",") if part.strip())
    return TaskFields(
        description=description if description != before.description.strip() else None,
        priority=priority if "priority" in changed else None,
        criteria=lines if "criteria" in changed else None,
        dependencies=waits if "dependencies" in changed else None,
        model=now.model.strip() if "model" in changed else None,
        tokens=tokens if "tokens" in changed else None,
    )


def _integer(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


_TOKENS = re.compile(r"([0-9]{1,9})(k?)", re.ASCII | re.IGNORECASE)


def _tokens(text: str) -> int | None:
    bare = re.sub(r"[\s,_]", "", text)
    if not bare:
        return 0
    found = _TOKENS.fullmatch(bare)
    return int(found[1]) * (1000 if found[2] else 1) if found else None


_IDS = "IDs, separated by commas"
_LINES = (
    (("dependencies", "Depends on", _IDS),),
    (
        ("priority", "Priority", "last"),
        ("tokens", "Tokens", "no estimate"),
        ("model", "Model", "as configured"),
    ),
)
"""The one-line fields by row: name, label, and the meaning of an empty one."""


Save = Callable[[TaskFields], Awaitable[Task | str]]
"""Saves the fields; returns the saved task, or why it cannot be saved."""


class TaskForm(Dialog[Task | None]):
    """Returns the saved task; stays open on an error. After closing, `typed` has the typed fields."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+enter", "save", show=False, priority=True),
        Binding("tab", "app.focus_next", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True),
    ]

    KEYS = "ctrl+s save, tab next field, esc keep the draft"
    FIXED = ""
    """Which field cannot be changed here, and why."""

    description = getters.query_one("#description", TextArea)
    criteria = getters.query_one("#criteria", TextArea)

    def __init__(
        self, heading: str, before: TypedFields, save: Save, typed: TypedFields | None = None
    ) -> None:
        super().__init__()
        self._heading = heading
        self._write = save
        self._writing = False
        self._refused: TypedFields | None = None
        self.before = before
        self.typed = typed or before

    def compose_frame(self) -> Iterable[Widget]:
        blinks = self.app.animation_level == "full"
        with DialogFrame(classes="dialog -medium -editing") as frame:
            frame.border_title = Content(flat(self._heading))
            frame.border_subtitle = Content(self.FIXED)
            yield Static(Content("Description"), classes="section-title")
            yield editor(self.typed.description, "description", blinks=blinks).add_class(SCROLLS)
            yield Static(Content("Done when (one check per line)"), classes="section-title")
            yield editor(self.typed.criteria, "criteria", blinks=blinks).add_class(SCROLLS)
            for fields in _LINES:
                with Horizontal(classes="field"):
                    for name, label, empty in fields:
                        yield Static(Content(label), classes="section-title")
                        line = Input(
                            getattr(self.typed, name),
                            empty,
                            compact=True,
                            id=name,
                            select_on_focus=False,
                        )
                        line.cursor_blink = blinks
                        yield line
            yield Static(id="wrong")

    def on_mount(self) -> None:
        self.description.focus()

    def on_input_changed(self) -> None:
        self._check()

    def on_text_area_changed(self) -> None:
        self._check()

    def _check(self) -> None:
        now = self._now()
        if now == self._refused:
            return  # a late change event for fields that were refused already
        found = parse_fields(self.before, now)
        if isinstance(found, FieldError) and getattr(now, found.field) != getattr(
            self.before, found.field
        ):
            self._show_error(found.why)
        else:
            self.query_one("#wrong").display = False

    def on_input_submitted(self) -> None:
        self.focus_next()

    def _now(self) -> TypedFields:
        lines = {
            line.id: line.value for line in self.query(Input) if line.id in TypedFields._fields
        }
        return TypedFields(self.description.text, self.criteria.text)._replace(**lines)

    def action_cancel(self) -> None:
        self.typed = self._now()
        super().action_cancel()

    def action_save(self) -> None:
        """Save once the fields have handled the keys typed before."""
        save: Callable[[], object] = self._save
        for field in self.query("TextArea, Input").results(Widget):
            save = partial(field.call_later, save)
        save()

    def _save(self) -> None:
        self.typed = self._now()
        found = parse_fields(self.before, self.typed)
        if self._writing:
            return
        if isinstance(found, FieldError):
            self._show_error(found.why)
            self.query_one(f"#{found.field}").focus()
        elif found == TaskFields():
            self.dismiss(None)
        else:
            self._writing = True
            do(self, self._save_fields(found), "save")

    async def _save_fields(self, fields: TaskFields) -> None:
        try:
            made = await self._write(fields)
        finally:
            self._writing = False
        if isinstance(made, str):
            self._show_error(made)
        else:
            self.dismiss(made)

    def _show_error(self, why: str) -> None:
        self._refused = self._now()
        self.query_one("#wrong", Static).update(Content(flat(why)))
        self.query_one("#wrong").display = True


class EditTask(TaskForm):
    """Edits a task."""

    FIXED = "The ID cannot be changed."

    def __init__(self, task: Task, save: Save, typed: TypedFields | None = None) -> None:
        super().__init__(f"Edit {task.id}", fields_of(task), save, typed)


class AddTask(TaskForm):
    """Adds a task."""

    KEYS = "ctrl+s add, tab next field, esc keep the draft"

    def __init__(self, save: Save, typed: TypedFields | None = None) -> None:
        super().__init__("Add a task", TypedFields(), save, typed)
