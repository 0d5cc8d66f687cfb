"""Menus: what can be done with a task, and with what is shown. Each entry has its own letter."""

from collections.abc import Iterable

from ralph_tui.domain.plan.plan import Task
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.context import CommandContext
from ralph_tui.tui.commands.registry import BY_NAME
from ralph_tui.tui.screens.dialogs.confirm import Confirm, ConfirmChoice

DETAILS = "details"
"""The entry that shows the task; the others are commands."""

TASK_LETTERS = {
    "edit": "e",
    "skip": "s",
    "retry": "t",
    "hold": "h",
    "model": "m",
    "split": "S",
    "sooner": "shift+up",
    "later": "shift+down",
    "undo": "u",
    "drop": "D",
}
"""The commands about a task, in the order of the menu, with their letters there."""

SHARE_LETTERS = {"copy": "y", "copy_all": "Y", "export": "E"}
"""What can be done with a text, with the letters of the menu."""


class Menu(Confirm):
    """Offers commands; one that is not available is dimmed, with the reason beside it."""

    KEYS = "enter choose, up down move, esc close"
    WIDTH = "-medium"


class TaskMenu(Menu):
    """Returns the name of the command to run on a task."""

    def __init__(self, task: Task, now: CommandContext) -> None:
        """Offer what can be done with the task now."""
        entries = [ConfirmChoice("v", "Details", DETAILS), *_entries(task, now)]
        super().__init__(f"task {task.id}", task.title, entries)


def _entries(task: Task, now: CommandContext) -> Iterable[ConfirmChoice]:
    labels = {"hold": "Release" if task.held else "Hold", "retry": "Retry"}
    labels |= {"sooner": "Move up", "later": "Move down", "model": "Choose the model"}
    for name, letter in TASK_LETTERS.items():
        command: Command = BY_NAME[name]
        label = labels.get(name, command.title.removesuffix(" task"))
        # A row has no room for what to do about it, and the title names the task.
        reason = (
            command.disabled(now)
            .partition("; ")[0]
            .replace(f"Task {task.id} ", "It ", 1)
            .rstrip(".")
        )
        yield ConfirmChoice(letter, label, name, not_now=reason)


class ShareMenu(Menu):
    """Returns what to do with the text that is shown."""

    def __init__(self, what: str) -> None:
        """Offer to copy or export `what`."""
        choices = (
            ConfirmChoice(SHARE_LETTERS["copy"], "Copy the selection", "copy"),
            ConfirmChoice(SHARE_LETTERS["copy_all"], "Copy everything", "copy_all"),
            ConfirmChoice(SHARE_LETTERS["export"], "Write to a file in .ralph/exports", "export"),
        )
        super().__init__("copy or export", what, choices)
