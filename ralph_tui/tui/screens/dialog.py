"""What every dialog has: a frame over the dashboard, Escape, and the focus kept inside."""

from typing import ClassVar, TypeVar

from textual import getters
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ralph_tui.tui.host import Host

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A modal screen that Escape closes without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Close", show=False)]

    app = getters.app(Host)

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)
