"""Asks for changes in a text box beside the rejected text.

A comment on a line quotes the line in the box, so that the model sees what the comment refers to, and the person can
edit or delete the quote like any text.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.containers import Container
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static, TextArea

from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone, plain
from ralph_tui.tui.screens.dialogs.text_input import TextDialog, editor
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from ralph_tui.tui.widgets.text_view import TextView

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
