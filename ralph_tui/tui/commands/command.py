"""What one command is; the declarations are in `commands.py` and `page_commands.py`."""

from collections.abc import Callable
from dataclasses import dataclass

from ralph_tui.tui.commands.availability import Reason, always
from ralph_tui.tui.commands.context import Situation


@dataclass(frozen=True, slots=True)
class Command:
    """One thing a person can do.

    Attributes:
        name: Names the handler in `steering.py` and the binding, so that keys can be remapped.
        keys: As Textual names them; the first is the one that is shown.
        title: For the palette and the help, as "Verb thing".
        help: One sentence.
        area: Groups commands in palette, help and README.
        footer: The short label in the footer, or empty to keep it out.
        rank: Footer order; when the line is too short, the highest ranks go first.
        disabled: Why it cannot be used now.
        label: A footer label that depends on the state.
    """

    name: str
    keys: tuple[str, ...]
    title: str
    help: str
    area: str
    footer: str = ""
    rank: int = 0
    disabled: Reason = always
    label: Callable[[Situation], str] | None = None

    def footer_label(self, now: Situation) -> str:
        """The footer's word for it; empty while another command has its place."""
        return self.label(now) if self.label else self.footer
