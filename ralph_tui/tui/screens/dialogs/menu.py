"""The menu of what can be done with a task. Each entry has its own letter."""

from collections.abc import Iterable

from ralph_tui.domain.plan.plan import Task
from ralph_tui.tui.commands.availability import CommandContext
from ralph_tui.tui.commands.registry import COMMANDS
from ralph_tui.tui.screens.dialogs.confirm import Confirm, ConfirmChoice

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
