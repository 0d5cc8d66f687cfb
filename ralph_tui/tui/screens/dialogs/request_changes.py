"""Asks what should be different: a box to write in, beside the text that it is about.

A comment on a line quotes the line in the box, so that the model reads what it is about and the person can
change or delete it like any text.
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
from ralph_tui.store.typed_texts import CHANGES
from ralph_tui.tui.screens.dialogs.text_input import TextDialog, editor
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from ralph_tui.tui.widgets.text_view import TextView

QUOTE = "> "
"""Begins a quoted line, as in mail and in Markdown."""


class RequestChangesDialog(TextDialog):
    """Asks why specs, plan or result are rejected; shows them, and takes comments on their lines."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (100, "-wide")]  # noqa: RUF012 - as Textual declares it
    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "comment", show=False)]
    KIND = CHANGES
    HINT = "The model gets these words and works on them next."
    EMPTY = "A rejection needs a reason; esc goes back."
    KEYS = "ctrl+s send back, esc keep the draft"
    BESIDE = "ctrl+s send back, tab comment on lines, esc keep the draft"
    ON_TEXT = "enter comment on the line, tab to the box, ctrl+s send back, esc keep the draft"

    def __init__(self, kind: ApprovalKind, draft: str, about: Sequence[LineBlock] = ()) -> None:
        """Ask about the specs, the plan or the result.

        Args:
            kind: What is rejected.
            draft: What was typed before.
            about: The text that is rejected.
        """
        super().__init__(draft)
        self.HEADING = f"{kind}: what should be different?"
        self._lines = [(_quote(block, line), line) for block in about for line in block.lines]
        """Each line, after how it is quoted; empty for a line with no words."""
        self._quoted: frozenset[str] = frozenset()

    def framed(self) -> Iterable[Widget]:
        """Yield the text and the box beside it, or below it where the terminal is narrow."""
        with DialogFrame(classes="dialog -large -changes") as frame:
            frame.border_title = Content(self.HEADING)
            with Container(id="beside", classes=SCROLLS):
                if self._lines:
                    yield TextView(id="about")
                blinks = self.app.animation_level == "full"
                yield editor(self.draft, "writing", self.KIND, blinks=blinks)
            yield Static(Content(self.HINT), classes="hint")

    def on_mount(self) -> None:
        """Show the text; the box has the focus."""
        self._show_lines()

    def keys_said(self) -> str:
        """Return what the keys do in the box, or on the text."""
        if not self._lines:
            return self.app.keys.said(self.KEYS)
        if self._text is not None and self._text.has_focus:
            return self.app.keys.said(self.ON_TEXT)
        return self.app.keys.said(self.BESIDE)

    @property
    def _text(self) -> TextView | None:
        return next(iter(self.query("#about").results(TextView)), None)

    def _show_lines(self) -> None:
        """Show the text again, with the lines that are quoted in color."""
        if (text := self._text) is None:
            return
        blocks = []
        for number, (quote, line) in enumerate(self._lines):
            shown = [Span(plain(line), Tone.ACCENT)] if quote in self._quoted else line
            blocks.append(LineBlock(number if quote else None, [shown]))
        text.show_blocks(blocks, text.cursor)

    def on_descendant_focus(self) -> None:
        """Say what the keys do where the focus is now."""
        self.say_keys()

    def on_text_area_changed(self, event: TextArea.Changed) -> None:
        """Mark the lines that are quoted now."""
        rows = event.text_area.text.splitlines()
        quoted = frozenset(row for row in rows if row.startswith(QUOTE))
        if quoted != self._quoted:
            self._quoted = quoted
            self._show_lines()

    def on_row_list_opened(self) -> None:
        """Treat a double click on a line as Enter."""
        self.action_comment()

    def action_comment(self) -> None:
        """Quote the line under the cursor at the end of the box, and write below it."""
        text = self._text
        if text is None or not isinstance(text.cursor, int):
            return
        box = self.query_one(TextArea)
        gap = "\n\n" if box.text.strip() else ""
        box.load_text(f"{box.text.rstrip()}{gap}{self._lines[text.cursor][0]}\n")
        box.move_cursor(box.document.end)
        box.focus()


def _quote(block: LineBlock, line: Line) -> str:
    """Return how a line is quoted: with the task it belongs to, and without signs before its words."""
    said = plain(line).strip()
    words = said[2:].lstrip() if said[1:2] == " " and not said[0].isalnum() else said
    task = f"{block.key}: " if isinstance(block.key, str) and block.key not in words else ""
    return f"{QUOTE}{task}{words}" if words else ""
