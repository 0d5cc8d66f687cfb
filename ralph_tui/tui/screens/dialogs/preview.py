"""Shows what a change would do, as a table that scrolls and can be searched, and asks whether to do it."""

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
from ralph_tui.tui.host.widget_host import Host
from ralph_tui.tui.host.workers import attempt
from ralph_tui.tui.screens.dialogs.dialog import Dialog
from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from ralph_tui.tui.widgets.text_view import TextView


class PreviewDialog(Dialog[bool]):
    """Returns true when the person wants the change."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+y", "decide(True)", show=False),
        Binding("q", "decide(False)", show=False),
    ]
    NOTHING = "esc close; {search} search, {copy} copy, {share} export"

    text = getters.query_one(TextView)

    def __init__(self, title: str, parts: list[Part], *, does_something: bool = True) -> None:
        """Show these parts; both may hold hostile text.

        Args:
            title: What is about to be done.
            parts: What it would change.
            does_something: Whether there is anything to agree to.
        """
        super().__init__()
        self._title = title
        self._parts = parts
        self._does_something = does_something

    def framed(self) -> Iterable[Widget]:
        """Yield the table."""
        with DialogFrame(classes="dialog -large -approval") as frame:
            frame.border_title = Content(flat(self._title))
            yield TextView(id="approved").add_class(SCROLLS)

    def on_mount(self) -> None:
        """Show the table from its beginning."""
        self.text.focus()
        self.text.show_blocks(parts_blocks(self._parts))

    def keys_said(self) -> str:
        """Return the keys; where there is nothing to do, none of them does it."""
        return self.app.keys.said(self.KEYS if self._does_something else self.NOTHING)

    def action_decide(self, wanted: bool) -> None:  # noqa: FBT001 - an action takes its arguments by place
        """Return the answer."""
        self.dismiss(wanted and self._does_something)

    def searched_in(self) -> TextView:
        """Return the table."""
        return self.text

    def copied(self) -> str:
        """Return the whole preview."""
        return parts_text(self._parts)


class UndoDialog(PreviewDialog):
    """Shows what an undo would change."""

    KEYS = (
        "ctrl+y undo, esc leave everything as it is; {search} search, {copy} copy, {share} export"
    )
    STEM = "undo"


MOST_FILES = 1_000
"""Files of an undo that are listed; nobody reads more of them."""


async def undo_work(app: Host, wanted: str, title: str) -> None:
    """Show what an undo of a task or an iteration would change, and do it if the person agrees.

    Args:
        app: The app.
        wanted: The task's id, or the iteration's number.
        title: What the dialog calls it.
    """
    from ralph_tui.present.sections.undo_parts import (  # not before the first paint
        undo_parts,
        undone_told,
    )

    controls = app.launch.controls
    preview = await attempt(app, partial(controls.undo_preview, wanted))
    if preview is None:
        return
    dialog = UndoDialog(f"undo {one_line(title, 60)}", undo_parts(preview, MOST_FILES))
    if not await app.push_screen_wait(dialog):
        return
    undone = await attempt(app, partial(controls.undo, preview))
    if undone is not None:
        app.say(undone_told(undone))
