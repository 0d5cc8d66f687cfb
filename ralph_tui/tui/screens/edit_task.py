"""Every field of a task that a person may change, changed in place."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from textual import getters
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from ralph_tui.domain.plan import Task
from ralph_tui.domain.text import inert
from ralph_tui.domain.verification import runnable_command
from ralph_tui.tui.render.spans import flat
from ralph_tui.tui.screens.dialog import Dialog
from ralph_tui.tui.screens.writing import editor


@dataclass(frozen=True, slots=True)
class Edit:
    """What changed; None for what did not."""

    description: str | None = None
    criteria: tuple[str, ...] | None = None
    dependencies: tuple[str, ...] | None = None
    priority: int | None = None


class Typed(NamedTuple):
    """The fields as they are typed."""

    description: str
    criteria: str
    dependencies: str
    priority: str


class EditTask(Dialog[Edit | None]):
    """Returns what was changed; `typed` keeps what was written, also after Escape."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+enter", "save", show=False, priority=True),
        Binding("tab", "app.focus_next", show=False, priority=True),
        Binding("shift+tab", "app.focus_previous", show=False, priority=True),
    ]

    KEYS = "ctrl+s save, tab next field, esc keep the draft"

    description = getters.query_one("#description", TextArea)
    criteria = getters.query_one("#criteria", TextArea)
    dependencies = getters.query_one("#dependencies", Input)
    priority = getters.query_one("#priority", Input)

    def __init__(self, task: Task, typed: Typed | None = None) -> None:
        """Change this task; `typed` is what was written before."""
        super().__init__()
        self._task_id = task.id
        self.before = _typed(task)
        self.typed = typed or self.before

    def framed(self) -> Iterable[Widget]:
        """Two editors and two lines."""
        blinks = self.app.animation_level == "full"
        with Vertical(classes="dialog -medium -editing") as frame:
            frame.border_title = Content(flat(f"edit {self._task_id}"))
            yield Static(Content("Description"), classes="section-title")
            yield editor(self.typed.description, "description", blinks=blinks)
            yield Static(Content("Done when (one check per line)"), classes="section-title")
            yield editor(self.typed.criteria, "criteria", blinks=blinks)
            with Horizontal(classes="field"):
                yield Static(Content("Waits for"), classes="section-title")
                yield _line(self.typed.dependencies, "dependencies", blinks=blinks)
            with Horizontal(classes="field"):
                yield Static(Content("Priority"), classes="section-title")
                yield _line(self.typed.priority, "priority", blinks=blinks)

    def on_mount(self) -> None:
        """Type at once."""
        self.description.focus()

    def on_input_submitted(self) -> None:
        """Enter in a line is done with it."""
        self.focus_next()

    def _now(self) -> Typed:
        return Typed(
            self.description.text,
            self.criteria.text,
            self.dependencies.value,
            self.priority.value,
        )

    def action_cancel(self) -> None:
        """Nothing typed is lost."""
        self.typed = self._now()
        super().action_cancel()

    def action_save(self) -> None:
        """Save; this key overtakes those typed just before, so let the editors have them first."""
        self.description.call_later(
            self.criteria.call_later,
            self.dependencies.call_later,
            self.priority.call_later,
            self._save,
        )

    def _save(self) -> None:
        """Say what changed; nothing when nothing did."""
        before = self.before
        now = self.typed = self._now()
        if not now.description.strip():
            self.app.say("A task needs a description.")
            return
        priority = _whole(now.priority)
        if priority is None:
            self.app.say("A priority is a whole number; lower is sooner.")
            self.priority.focus()
            return
        lines = tuple(line.strip() for line in now.criteria.splitlines() if line.strip())
        waits = tuple(part.strip() for part in now.dependencies.split(",") if part.strip())
        same_text = now.description.strip() == before.description.strip()
        edit = Edit(
            None if same_text else now.description.strip(),
            None if now.criteria == before.criteria else lines,
            None if now.dependencies == before.dependencies else waits,
            None if now.priority == before.priority else priority,
        )
        self.dismiss(None if edit == Edit() else edit)


def _whole(text: str) -> int | None:
    try:
        return int(text)
    except ValueError:
        return None


def _line(text: str, name: str, *, blinks: bool) -> Input:
    line = Input(text, compact=True, id=name, select_on_focus=False)
    line.cursor_blink = blinks
    return line


def _typed(task: Task) -> Typed:
    return Typed(
        inert(task.description),
        "\n".join(_lines(task)),
        ", ".join(flat(dep) for dep in task.dependencies),
        str(task.priority),
    )


def _lines(task: Task) -> list[str]:
    """Criteria as they can be typed: a command as itself, prose as it is."""
    return [
        inert(runnable_command(c) or (c if isinstance(c, str) else c.description)).replace(
            "\n", " "
        )
        for c in task.verification_criteria
    ]
