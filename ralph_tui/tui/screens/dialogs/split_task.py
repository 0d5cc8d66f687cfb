"""Splits a task into parts, one per line."""

from collections.abc import Awaitable, Callable, Sequence

from textual.content import Content
from textual.widgets import Static, TextArea

from ralph_tui.present.text.spans import flat
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.screens.dialogs.text_input import TextDialog

Refused = str
"""Why the split was refused; empty if it was done."""


class SplitTask(TextDialog):
    """Returns the typed parts; stays open and shows the reason if they are refused."""

    HINT = (
        "One new task per line, in this order. The first inherits the dependencies of the task, "
        "the last its criteria."
    )
    KEYS = "ctrl+s split, esc keep the draft"
    EMPTY = "Enter one task per line first, or press esc to close."

    def __init__(
        self, task_id: str, draft: str, write: Callable[[Sequence[str]], Awaitable[Refused]]
    ) -> None:
        super().__init__(draft)
        self.HEADING = flat(f"Split {task_id}")
        self._write = write
        self._writing = False

    def on_mount(self) -> None:
        """Add a line for errors, because a toast would cover the text."""
        self.query_one(".dialog").mount(Static(id="wrong"), before=".hint")

    def _send(self) -> None:
        text = self.query_one(TextArea).text
        parts = [line.strip() for line in text.splitlines() if line.strip()]
        if not parts:
            self._show_error(self.EMPTY)
        elif not self._writing:
            self._writing = True
            do(self, self._split(parts), "split")

    async def _split(self, parts: Sequence[str]) -> None:
        try:
            why = await self._write(parts)
        finally:
            self._writing = False
        if why:
            self._show_error(why)
        else:
            self.dismiss("\n".join(parts))

    def _show_error(self, why: str) -> None:
        wrong = self.query_one("#wrong", Static)
        wrong.update(Content(flat(why)))
        wrong.display = True
