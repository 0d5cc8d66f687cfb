"""Shows what a change would do, as a table that can be scrolled and searched, and asks whether to make it."""

from collections.abc import Iterable
from functools import partial
from typing import ClassVar

from textual import getters
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget

from ralph_tui.domain.sanitize import one_line
from ralph_tui.present.text.parts import Part, parts_blocks, parts_text
from ralph_tui.present.text.spans import flat
from ralph_tui.tui.host.widget_host import Host, attempt
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from ralph_tui.tui.widgets.text_view import TextView


class PreviewDialog(Dialog[bool]):
    """Returns True if the person accepts the change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+y", "decide(True)", show=False),
        Binding("q", "decide(False)", show=False),
    ]
    NOTHING = "esc close; {search} search, {copy} copy, {share} export"

    text = getters.query_one(TextView)

    def __init__(self, title: str, parts: list[Part], *, does_something: bool = True) -> None:
        super().__init__()
        self._title = title
        self._parts = parts
        self._does_something = does_something

    def compose_frame(self) -> Iterable[Widget]:
        with DialogFrame(classes="dialog -large -approval") as frame:
            frame.border_title = Content(flat(self._title))
            yield TextView(id="approved").add_class(SCROLLS)

    def on_mount(self) -> None:
        self.text.focus()
        self.text.show_blocks(parts_blocks(self._parts))

    def footer_text(self) -> str:
        return self.app.keys.said(self.KEYS if self._does_something else self.NOTHING)

    def action_decide(self, wanted: bool) -> None:  # noqa: FBT001 - actions take positional arguments
        self.dismiss(wanted and self._does_something)

    def search_target(self) -> TextView:
        return self.text

    def full_text(self) -> str:
        return parts_text(self._parts)


class UndoDialog(PreviewDialog):
    """Shows what an undo would change."""

    KEYS = "ctrl+y undo, esc cancel; {search} search, {copy} copy, {share} export"
    STEM = "undo"


MOST_FILES = 1_000


async def undo_work(app: Host, wanted: str, title: str) -> None:
    """Preview what undoing a task or an iteration would change, and undo it if the person agrees."""
    from ralph_tui.present.sections.undo_parts import (  # not before the first paint
        undo_parts,
        undone_text,
    )

    controls = app.launch.controls
    preview = await attempt(app, partial(controls.undo_preview, wanted))
    if preview is None:
        return
    dialog = UndoDialog(f"Undo {one_line(title, 60)}", undo_parts(preview, MOST_FILES))
    if not await app.push_screen_wait(dialog):
        return
    undone = await attempt(app, partial(controls.undo, preview))
    if undone is not None:
        app.show_message(undone_text(undone))
