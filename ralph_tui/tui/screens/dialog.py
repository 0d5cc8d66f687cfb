"""What every dialog has: a frame over the dashboard, Escape, and the focus kept inside."""

from typing import ClassVar, TypeVar

from textual import getters
from textual.binding import Binding, BindingType
from textual.screen import ModalScreen

from ralph_tui.tui.commands import BY_NAME
from ralph_tui.tui.host import Host
from ralph_tui.tui.rebinding import bind

Answer = TypeVar("Answer")


class Dialog(ModalScreen[Answer]):
    """A modal screen that Escape closes without an answer."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("escape", "cancel", "Close", show=False)]

    app = getters.app(Host)

    def on_mount(self) -> None:
        """Letters are a dialog's own, so a jump begins with the other keys."""
        keys = (key for key in self.app.keys_of(BY_NAME["jump"]) if len(key) > 1)
        bind(self, [Binding(key, "app.invoke('jump')", show=False) for key in keys])

    def action_cancel(self) -> None:
        """Close without an answer."""
        self.dismiss(None)
