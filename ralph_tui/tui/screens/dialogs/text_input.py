"""Dialogs with text input: guidance, feedback, a request, the parts of a task, a value."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import ClassVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from ralph_tui.present.text.spans import flat
from ralph_tui.tui.host.widget_host import do
from ralph_tui.tui.screens.dialogs.dialog import Dialog


class TextDialog(Dialog[str]):
    """Returns a multi-line text; after Escape, `draft` has the typed text."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+enter", "send", "Send", show=False, priority=True)
    ]
    HEADING = ""
    HINT = ""
    KEYS = "ctrl+s send, esc keep the draft"
    EMPTY = ""
    MAY_BE_EMPTY = False

    def __init__(self, draft: str = "") -> None:
        super().__init__()
        self.draft = draft

    def compose_frame(self) -> Iterable[Widget]:
        with Vertical(classes="dialog -medium") as frame:
            frame.border_title = Content(self.HEADING)
            yield editor(self.draft, "writing", blinks=self.app.animation_level == "full")
            yield Static(Content(self.HINT), classes="hint")

    def on_mount(self) -> None:
        area = self.query_one(TextArea)
        area.focus()
        area.move_cursor(area.document.end)

    def dismiss(self, result: str | None = None) -> AwaitComplete:
        self.draft = self.query_one(TextArea).text
        return super().dismiss(result)

    def action_send(self) -> None:
        self.query_one(TextArea).call_later(self._send)

    def _send(self) -> None:
        text = self.query_one(TextArea).text.strip()
        if text or self.MAY_BE_EMPTY:
            self.dismiss(text)
        else:
            self.app.show_message(self.EMPTY)


def editor(text: str, name: str, *, blinks: bool) -> TextArea:
    area = TextArea(text, id=name, classes="editor", show_line_numbers=False, soft_wrap=True)
    area.cursor_blink = blinks
    return area


class GuidanceDialog(TextDialog):
    """Asks for guidance; afterwards, `now` is whether to send it to the running agent or the next iteration."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "send_now", "Send now", show=False, priority=True)
    ]
    HEADING = "guidance"
    HINT = "The next iteration receives it once. Sent now, the agent receives it with its next tool result."
    EMPTY = "Type your guidance first, or press esc to close."

    def __init__(self, draft: str = "", *, runs: bool = True) -> None:
        super().__init__(draft)
        self.now = False
        self._runs = runs

    def footer_text(self) -> str:
        now = ", ctrl+n send now" if self._runs else ""
        return f"ctrl+s send to the next iteration{now}, esc keep the draft"

    def action_send_now(self) -> None:
        if not self._runs:
            self.app.show_message(
                "No loop is running. Press ctrl+s to send it to the next iteration."
            )
            return
        self.now = True
        self.action_send()


class ReplanDialog(TextDialog):
    """Asks for feedback for a new plan, which may be empty."""

    HEADING = "Replan: what should change?"
    HINT = (
        "Open tasks are replaced, and completed ones stay. The old plan is archived in .ralph/session_history. "
        "Without feedback, ralph replans from the specs. You approve the new plan first."
    )
    KEYS = "ctrl+s replan, esc keep the draft"
    MAY_BE_EMPTY = True


class RequestDialog(TextDialog):
    """Asks what to build."""

    HEADING = "What should Ralph build?"
    HINT = (
        "Ralph asks about anything unclear, writes specs and a plan for your approval, builds task by "
        "task and verifies the result. Nothing is spent until you send this."
    )
    KEYS = "ctrl+s start, esc keep the draft"
    EMPTY = "Describe what to build first, or press esc to close."


class SplitTask(TextDialog):
    """Returns the typed parts, one per line; stays open if `write` returns why they are refused."""

    HINT = (
        "One new task per line, in this order. The first inherits the dependencies of the task, "
        "the last its criteria."
    )
    KEYS = "ctrl+s split, esc keep the draft"
    EMPTY = "Enter one task per line first, or press esc to close."

    def __init__(
        self, task_id: str, draft: str, write: Callable[[Sequence[str]], Awaitable[str]]
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


class ValueDialog(Dialog[str | None]):
    """Returns a one-line value."""

    KEYS = "enter save, esc cancel"

    def __init__(self, title: str, hint: str, value: str) -> None:
        super().__init__()
        self._title = title
        self._hint = hint
        self._value = value

    def compose_frame(self) -> Iterable[Widget]:
        with Vertical(classes="dialog -medium") as frame:
            frame.border_title = Content(flat(self._title))
            area = Input(self._value, compact=True, classes="value")
            area.cursor_blink = self.app.animation_level == "full"
            yield area
            yield Static(Content(flat(self._hint)), classes="hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.dismiss(event.value)
