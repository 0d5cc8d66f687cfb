"""Dialogs to type in: guidance, a reason, a request, a value."""

from collections.abc import Iterable
from typing import ClassVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from ralph_tui.present.text.spans import flat
from ralph_tui.store.typed_texts import CHANGES, GUIDANCE, REQUEST
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.widgets.file_completion import WritingBox
from ralph_tui.tui.widgets.text_recall import keep_text


class TextDialog(Dialog[str]):
    """Returns a text of many lines; after Escape, `draft` has what was typed."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s,ctrl+enter", "send", "Send", show=False, priority=True)
    ]
    HEADING = ""
    HINT = ""
    KEYS = "ctrl+s send, esc keep the draft"
    EMPTY = ""
    MAY_BE_EMPTY = False
    KIND = ""
    """Of the texts that `up` recalls; without one nothing is kept."""

    def __init__(self, draft: str = "") -> None:
        """Begin with what was typed before."""
        super().__init__()
        self.draft = draft

    def framed(self) -> Iterable[Widget]:
        """Yield an editor and a hint."""
        with Vertical(classes="dialog -medium") as frame:
            frame.border_title = Content(self.HEADING)
            yield editor(
                self.draft, "writing", self.KIND, blinks=self.app.animation_level == "full"
            )
            yield Static(Content(self.HINT), classes="hint")

    def on_mount(self) -> None:
        """Focus the editor, at the end of the draft."""
        area = self.query_one(TextArea)
        area.focus()
        area.move_cursor(area.document.end)

    def dismiss(self, result: str | None = None) -> AwaitComplete:
        """Keep the draft, and close."""
        self.draft = self.query_one(TextArea).text
        if self.KIND and result:
            keep_text(self.app, self.KIND, result)
        return super().dismiss(result)

    def action_send(self) -> None:
        """Send, after the editor has handled the keys typed just before."""
        self.query_one(TextArea).call_later(self._send)

    def _send(self) -> None:
        text = self.query_one(TextArea).text.strip()
        if text or self.MAY_BE_EMPTY:
            self.dismiss(text)
        else:
            self.app.say(self.EMPTY)


def editor(text: str, name: str, kind: str = "", *, blinks: bool) -> WritingBox:
    """Return a plain editor.

    Args:
        text: What is in it.
        name: Its id.
        kind: Of the texts it recalls; empty for none.
        blinks: Whether the cursor does.
    """
    area = WritingBox(text, name, kind)
    area.cursor_blink = blinks
    return area


class GuidanceDialog(TextDialog):
    """Asks for guidance; `now` says whether it is for the agent at work or for the next iteration."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+n", "send_now", "Send now", show=False, priority=True)
    ]
    HEADING = "guidance"
    KIND = GUIDANCE
    HINT = "Sent to the next iteration, once, or to the agent now, with its next tool result."
    EMPTY = "Write some guidance first, or press esc to leave."

    def __init__(self, draft: str = "", *, runs: bool = True) -> None:
        """Begin with what was typed before.

        Args:
            draft: What was typed before.
            runs: Whether an agent could get it now.
        """
        super().__init__(draft)
        self.now = False
        self._runs = runs

    def keys_said(self) -> str:
        """Return the keys; without a loop only the next iteration can get it."""
        now = ", ctrl+n send now" if self._runs else ""
        return f"ctrl+s send to the next iteration{now}, esc keep the draft"

    def action_send_now(self) -> None:
        """Send to the agent at work."""
        if not self._runs:
            self.app.say("No loop is running, so only the next iteration can get it: ctrl+s.")
            return
        self.now = True
        self.action_send()


class UrgentGuidanceDialog(GuidanceDialog):
    """Asks for guidance for the agent at work."""

    HEADING = "guidance for the agent now"
    HINT = "The agent gets it with its next tool result, or the next iteration does."

    def keys_said(self) -> str:
        """Return the keys."""
        return self.app.keys.said("ctrl+s send now, esc keep the draft")

    def action_send(self) -> None:
        """Send to the agent at work."""
        self.now = True
        super().action_send()


class ReplanDialog(TextDialog):
    """Asks for feedback for a new plan; no feedback is an answer, too."""

    HEADING = "plan again: what should be different?"
    KIND = CHANGES
    HINT = (
        "The open tasks are replaced; what is complete stays, and the plan before is kept in "
        ".ralph/session_history. Without a word it is made again from the specs. You approve it first."
    )
    KEYS = "ctrl+s plan again, esc keep the draft"
    MAY_BE_EMPTY = True


class RequestDialog(TextDialog):
    """Asks what to build."""

    HEADING = "What shall Ralph build?"
    KIND = REQUEST
    HINT = (
        "Ralph asks what is unclear, writes specs and a plan for you to approve, builds it task by "
        "task and checks the result. Nothing is spent before you send."
    )
    KEYS = "ctrl+s start, esc keep the draft"
    EMPTY = "Say what to build first, or press esc to leave."


class ValueDialog(Dialog[str | None]):
    """Returns a value of one line."""

    KEYS = "enter keep, esc leave it as it is"

    def __init__(self, title: str, hint: str, value: str) -> None:
        """Begin with the current value."""
        super().__init__()
        self._title = title
        self._hint = hint
        self._value = value

    def framed(self) -> Iterable[Widget]:
        """Yield the value and a hint."""
        with Vertical(classes="dialog -medium") as frame:
            frame.border_title = Content(flat(self._title))
            area = Input(self._value, compact=True, classes="value")
            area.cursor_blink = self.app.animation_level == "full"
            yield area
            yield Static(Content(flat(self._hint)), classes="hint")

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Return the value."""
        self.dismiss(event.value)
