"""A task's description and criteria, changed in place."""

from dataclasses import dataclass
from typing import ClassVar

from textual import getters
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import Static, TextArea

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


class EditTask(Dialog[Edit | None]):
    """Returns what was changed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+enter", "save", show=False, priority=True),
        Binding("tab", "app.focus_next", show=False, priority=True),
    ]

    description = getters.query_one("#description", TextArea)
    criteria = getters.query_one("#criteria", TextArea)

    def __init__(self, task: Task) -> None:
        """Change this task."""
        super().__init__()
        self._task_id = task.id
        self._before = (inert(task.description), "\n".join(_lines(task)))

    def compose(self) -> ComposeResult:
        """Two editors."""
        blinks = self.app.animation_level == "full"
        with Vertical(classes="dialog -medium") as frame:
            frame.border_title = Content(flat(f"edit {self._task_id}"))
            frame.border_subtitle = Content("ctrl+s saves, tab the other field, esc leaves")
            yield Static(Content("Description"), classes="section-title")
            yield editor(self._before[0], "description", blinks=blinks)
            yield Static(Content("Done when (one check per line)"), classes="section-title")
            yield editor(self._before[1], "criteria", blinks=blinks)

    def on_mount(self) -> None:
        """Type at once."""
        self.description.focus()

    def action_save(self) -> None:
        """Save; this key overtakes those typed just before, so let the editors have them first."""
        self.description.call_later(self.criteria.call_later, self._save)

    def _save(self) -> None:
        """Say what changed; nothing when nothing did."""
        description, criteria = self.description.text.strip(), self.criteria.text
        if not description:
            self.app.say("A task needs a description.")
            return
        lines = tuple(line.strip() for line in criteria.splitlines() if line.strip())
        edit = Edit(
            None if description == self._before[0].strip() else description,
            None if criteria == self._before[1] else lines,
        )
        self.dismiss(None if edit == Edit() else edit)


def _lines(task: Task) -> list[str]:
    """Criteria as they can be typed: a command as itself, prose as it is."""
    return [
        inert(runnable_command(c) or (c if isinstance(c, str) else c.description)).replace(
            "\n", " "
        )
        for c in task.verification_criteria
    ]
