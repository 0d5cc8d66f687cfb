"""Shows what an import would do, and asks whether to do it."""

from collections.abc import Iterable
from typing import ClassVar

from textual import getters
from textual.binding import Binding, BindingType
from textual.containers import Vertical
from textual.content import Content
from textual.widget import Widget

from ralph_tui.domain.plan.import_preview import ImportPreview
from ralph_tui.present.sections.import_parts import import_heading, import_parts
from ralph_tui.present.text.parts import parts_blocks, parts_text
from ralph_tui.present.text.spans import flat
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog
from ralph_tui.tui.widgets.text_view import TextView

MOST_ROWS = 1_000
"""Tasks of each kind that are listed; nobody reads more of them."""


class ImportFileDialog(ValueDialog):
    """Asks which file to import."""

    KEYS = "enter look at it, esc leave"

    def __init__(self, hint: str, value: str) -> None:
        """Begin with the likeliest file."""
        super().__init__("import a plan", hint, value)


class ImportDialog(Dialog[bool]):
    """Returns true when the person wants it; the table scrolls and can be searched."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("y", "decide(True)", show=False),
        Binding("n,q", "decide(False)", show=False),
        Binding("c", "copy", show=False),
    ]
    KEYS = (
        "y import, n leave the plan as it is, esc cancel; {search} search, c copy, {export} export"
    )
    NOTHING = "esc close; {search} search, c copy, {export} export"
    STEM = "import"

    text = getters.query_one(TextView)

    def __init__(self, preview: ImportPreview) -> None:
        """Show this preview."""
        super().__init__()
        self._preview = preview
        self._parts = import_parts(preview, MOST_ROWS)

    def framed(self) -> Iterable[Widget]:
        """Yield the table."""
        with Vertical(classes="dialog -large -approval") as frame:
            frame.border_title = Content(flat(f"import {import_heading(self._preview)}"))
            yield TextView(id="approved")

    def on_mount(self) -> None:
        """Show the table from its beginning."""
        self.text.focus()
        self.text.show_blocks(parts_blocks(self._parts))

    def keys_said(self) -> str:
        """Return the keys; where there is nothing to import, none of them imports."""
        return self.app.keys.said(self.KEYS if self._preview.changes_plan else self.NOTHING)

    def action_decide(self, wanted: bool) -> None:  # noqa: FBT001 - an action takes its arguments by place
        """Return the answer; with a mouse selection, y copies as everywhere and is no yes."""
        if wanted and self.app.marked():
            self.action_copy()
            self.clear_selection()
        else:
            self.dismiss(wanted and self._preview.changes_plan)

    def searched_in(self) -> TextView:
        """Return the table."""
        return self.text

    def copied(self) -> str:
        """Return the whole preview."""
        return parts_text(self._parts)
