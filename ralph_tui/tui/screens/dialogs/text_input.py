"""Dialogs with text input: guidance, feedback, changes, a request, the parts of a task, a value."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import ClassVar

from textual.await_complete import AwaitComplete
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, Static, TextArea

from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone, flat, plain
from ralph_tui.tui.host.widget_host import do
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from ralph_tui.tui.widgets.text_view import TextView


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


_NOUNS = {ApprovalKind.VALIDATION: "result"}
"""What is rejected, where the name of the kind does not say so."""

QUOTE = "> "
"""Starts a quoted line, as in mail and Markdown."""


class RequestChangesDialog(TextDialog):
    """Asks why the specs, the plan or the result is rejected; shows the text and takes comments on its lines."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "comment", show=False)]
    HINT = "The model receives this feedback next."
    EMPTY = "Describe the changes first, or press esc to go back."
    KEYS = "ctrl+s send, esc keep the draft"
    BESIDE = "ctrl+s send, tab comment on lines, esc keep the draft"
    ON_TEXT = "enter comment on the line, tab to the text box, ctrl+s send, esc keep the draft"

    def __init__(self, kind: ApprovalKind, draft: str, about: Sequence[LineBlock] = ()) -> None:
        super().__init__(draft)
        self.HEADING = f"Request changes to the {_NOUNS.get(kind, kind)}"
        self._lines = [(_quote(block, line), line) for block in about for line in block.lines]
        """Each line with its quote, which is empty for a line without words."""
        self._quoted: frozenset[str] = frozenset()

    def compose_frame(self) -> Iterable[Widget]:
        with DialogFrame(classes="dialog -large -changes") as frame:
            frame.border_title = Content(self.HEADING)
            with Container(id="beside", classes=SCROLLS):
                if self._lines:
                    yield TextView(id="about")
                blinks = self.app.animation_level == "full"
                yield editor(self.draft, "writing", blinks=blinks)
            yield Static(Content(self.HINT), classes="hint")

    def on_mount(self) -> None:
        self._show_lines()

    def footer_text(self) -> str:
        if not self._lines:
            return self.app.keys.said(self.KEYS)
        if self._text is not None and self._text.has_focus:
            return self.app.keys.said(self.ON_TEXT)
        return self.app.keys.said(self.BESIDE)

    @property
    def _text(self) -> TextView | None:
        return next(iter(self.query("#about").results(TextView)), None)

    def _show_lines(self) -> None:
        if (text := self._text) is None:
            return
        blocks = []
        for number, (quote, line) in enumerate(self._lines):
            shown = [Span(plain(line), Tone.ACCENT)] if quote in self._quoted else line
            blocks.append(LineBlock(number if quote else None, [shown]))
        text.show_blocks(blocks, text.cursor)

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        rows = event.text_area.text.splitlines()
        quoted = frozenset(row for row in rows if row.startswith(QUOTE))
        if quoted != self._quoted:
            self._quoted = quoted
            self._show_lines()

    def on_row_list_opened(self) -> None:
        self.action_comment()

    def action_comment(self) -> None:
        """Append the line under the cursor to the box as a quote, and focus the box."""
        text = self._text
        if text is None or not isinstance(text.cursor, int):
            return
        box = self.query_one(TextArea)
        gap = "\n\n" if box.text.strip() else ""
        box.load_text(f"{box.text.rstrip()}{gap}{self._lines[text.cursor][0]}\n")
        box.move_cursor(box.document.end)
        box.focus()


def _quote(block: LineBlock, line: Line) -> str:
    text = plain(line).strip()
    words = text[2:].lstrip() if text[1:2] == " " and not text[0].isalnum() else text
    task = f"{block.key}: " if isinstance(block.key, str) and block.key not in words else ""
    return f"{QUOTE}{task}{words}" if words else ""
