"""Defines what a command is; the commands themselves are in `registry.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ralph_tui.tui.commands.availability import CommandContext, Reason, always


class Leads(Enum):
    """Where a command leads, which decides what happens to keys typed right after its own."""

    NOWHERE = "nowhere"
    """Nothing opens; the keys run commands at once."""
    FIELD = "field"
    """A text field gets the focus; the keys wait, and only a field receives them."""
    DIALOG = "dialog"
    """A dialog opens, one at a time; the keys wait, and only a field in it receives them."""
    VIEW = "view"
    """A screen opens, one at a time; the keys wait, and run commands of that screen."""
    PLACE = "place"
    """The focus moves; the keys wait, and run commands of the place that then has the focus."""

    @property
    def opens(self) -> bool:
        return self in (Leads.DIALOG, Leads.VIEW)

    @property
    def keeps_keys(self) -> bool:
        return self in (Leads.VIEW, Leads.PLACE)


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can do.

    Attributes:
        name: The name of its handler (`handlers/table.py`) and its binding, so that keys can be remapped.
        keys: Textual's key names; the first is shown. A command without keys is found in the menu of `within`.
        title: The title in the palette and the help, as "Verb thing".
        help: What it does, in one sentence.
        area: Groups commands in palette, help and docs/keys.md.
        footer: The short label in the footer; empty to leave it out.
        rank: The order in the footer; where the line is too short, the highest ranks are left out first.
        disabled: Returns why it cannot be used now.
        label: Returns a footer label that depends on the state.
        leads: Where it leads, which decides about keys typed right after its own.
        on_pages: Whether it works on a page as it does on the dashboard.
        within: The command whose menu offers it, if it has no key of its own.
        letter: Its letter in the menu of a task; empty for commands that are not in it.
    """

    name: str
    keys: tuple[str, ...]
    title: str
    help: str
    area: str
    footer: str = ""
    rank: int = 0
    disabled: Reason = always
    label: Callable[[CommandContext], str] | None = None
    leads: Leads = Leads.NOWHERE
    on_pages: bool = False
    within: str = ""
    letter: str = ""

    def footer_label(self, now: CommandContext) -> str:
        return self.label(now) if self.label else self.footer
