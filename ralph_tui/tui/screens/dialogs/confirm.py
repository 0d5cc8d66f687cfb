"""Asks a question with a few answers, each with its key, such as what to do with a task."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Button, Static

from ralph_tui.domain.plan.plan import Task
from ralph_tui.present.text.key_hints import key_label
from ralph_tui.present.text.spans import flat
from ralph_tui.tui.commands.availability import CommandContext
from ralph_tui.tui.commands.registry import COMMANDS
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.terminal.private import bind


@dataclass(frozen=True, slots=True)
class ConfirmChoice:
    """One answer: its key, its label, and the value that the dialog returns."""

    key: str
    label: str
    value: str
    danger: bool = False
    not_now: str = ""
    """Why it cannot be chosen now; empty if it can."""


class Confirm(Dialog[str]):
    """Returns the chosen value, or None for Escape, which is always harmless."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k,left,h", "app.focus_previous", show=False),
        Binding("down,j,right,l", "app.focus_next", show=False),
    ]

    KEYS = "enter choose, up down move, esc go back"
    """Only arrows, because an answer may have j or k as its key."""
    WIDTH = "-small"

    def __init__(
        self,
        title: str,
        question: str,
        choices: Sequence[ConfirmChoice],
        *,
        moot: Callable[[], str] = str,
    ) -> None:
        """Ask a question. Title and question may contain hostile text.

        Args:
            moot: Returns why the question no longer applies, or an empty string while it does.
        """
        super().__init__()
        self._moot = moot
        self._title = flat(title)
        self._question = flat(question)
        self._choices = tuple(choices)

    def compose_frame(self) -> Iterable[Widget]:
        with Vertical(classes=f"dialog {self.WIDTH}") as frame:
            frame.border_title = Content(self._title)
            yield Static(Content(self._question), classes="question")
            width = max(len(key_label(choice.key)) for choice in self._choices)
            for choice in self._choices:
                why = f"   {flat(choice.not_now)}" if choice.not_now else ""
                key = key_label(choice.key).ljust(width)
                label = Content(f"{key}   {flat(choice.label)}{why}")
                yield Button(
                    label,
                    id=choice.value,
                    classes="choice -danger" if choice.danger else "choice",
                    disabled=bool(choice.not_now),
                )

    def on_mount(self) -> None:
        # A choice's key overrides a movement key, since movement also has the arrows.
        keys = enumerate(choice.key for choice in self._choices)
        bind(self, [Binding(key, f"pick({number})", show=False) for number, key in keys])
        self.watch(self.app, "view", self._follow, init=True)

    def _follow(self) -> None:
        if why := self._moot():
            self.app.show_message(why)
            self.dismiss(None)

    def action_pick(self, number: int) -> None:
        choice = self._choices[number]
        if choice.not_now:
            self.app.show_message(choice.not_now)
        else:
            self.dismiss(choice.value)

    def on_button_pressed(self, event: Button.Pressed) -> None:
        self.dismiss(event.button.id)


DETAILS = "details"
"""The entry that shows the task; all others are commands."""


class TaskMenu(Confirm):
    """Returns the name of the command to run on a task; unavailable ones are dimmed, with the reason."""

    KEYS = "enter choose, up down move, esc close"
    WIDTH = "-medium"

    def __init__(self, task: Task, now: CommandContext) -> None:
        entries = [ConfirmChoice("v", "Details", DETAILS), *_entries(task, now)]
        super().__init__(f"task {task.id}", task.title, entries)


def _entries(task: Task, now: CommandContext) -> Iterable[ConfirmChoice]:
    labels = {"hold": "Release" if task.held else "Hold", "retry": "Retry"}
    labels |= {"sooner": "Move up", "later": "Move down", "model": "Choose the model"}
    for command in COMMANDS:
        if not command.letter:
            continue
        label = labels.get(command.name, command.title.removesuffix(" task"))
        # A row has no room for the advice in a reason, and the title already names the task.
        reason = (
            command.disabled(now)
            .partition(". ")[0]
            .replace(f"Task {task.id} ", "It ", 1)
            .rstrip(".")
        )
        yield ConfirmChoice(command.letter, label, command.name, not_now=reason)
