"""Defines what a command is; the commands themselves are in `registry.py`."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from ralph_tui.tui.commands.availability import Reason, always
from ralph_tui.tui.commands.context import CommandContext


class Leads(Enum):
    """Where a command leads, which decides what becomes of keys typed right after its own."""

    NOWHERE = "nowhere"
    """The keys are commands at once."""
    FIELD = "field"
    """The keys wait, and only a field to type in gets them."""
    DIALOG = "dialog"
    """A dialog opens, one at a time; the keys wait, and only a field in it gets them."""
    VIEW = "view"
    """A screen opens, one at a time; the keys wait and are commands of that screen."""
    PLACE = "place"
    """The keys wait and are commands of the place that has the focus then."""

    @property
    def opens(self) -> bool:
        """Whether a screen opens: only one does at a time."""
        return self in (Leads.DIALOG, Leads.VIEW)

    @property
    def keeps_keys(self) -> bool:
        """Whether keys that were typed ahead are still commands."""
        return self in (Leads.VIEW, Leads.PLACE)


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can do.

    Attributes:
        name: Of its handler (`handlers/table.py`) and its binding, so that keys can be remapped.
        keys: As Textual names them; the first is the one that is shown. Without one, `within` leads to it.
        title: For the palette and the help, as "Verb thing".
        help: One sentence.
        area: Groups commands in palette, help and docs/keys.md.
        footer: The short label in the footer, or empty to keep it out.
        rank: Footer order; when the line is too short, the highest ranks go first.
        disabled: Why it cannot be used now.
        label: A footer label that depends on the state.
        leads: Where it leads, for the keys that are typed right after its own.
        on_pages: Whether it works on a page as it does on the dashboard.
        within: The command that offers it in its menu, for one without a key of its own.
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

    def footer_label(self, now: CommandContext) -> str:
        """Return the footer's word for it; empty while another command has its place."""
        return self.label(now) if self.label else self.footer
