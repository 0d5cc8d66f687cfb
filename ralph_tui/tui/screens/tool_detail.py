"""The whole of one entry of the stream: input, output, denial, receipt."""

from collections.abc import Iterable
from typing import ClassVar

from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from ralph_tui.domain.text import inert
from ralph_tui.tui.render.calls import Section, SectionKind
from ralph_tui.tui.screens.reader import Reader
from ralph_tui.tui.timeline.detail import Detail
from ralph_tui.tui.widgets.diff_view import DiffView


class ToolDetail(Reader):
    """Sections one below the other; text can be selected with the mouse or copied whole."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("v", "turn", show=False)]

    def __init__(self, detail: Detail) -> None:
        """Show what was prepared from an entry."""
        super().__init__()
        self._detail = detail

    @property
    def has_diff(self) -> bool:
        """Whether something was changed."""
        return any(section.kind is SectionKind.DIFF for section in self._detail.sections)

    def reader_title(self) -> str:
        """Tool and name."""
        return self._detail.title

    def keys_said(self) -> str:
        """A diff can be turned."""
        keys = super().keys_said()
        turn = (
            "one column" if any(shown.split for shown in self.query(DiffView)) else "side by side"
        )
        return f"v {turn}, {keys}" if self.has_diff else keys

    def parts(self) -> Iterable[Widget]:
        """Facts and sections."""
        if self._detail.facts:
            yield Static(Content(inert(self._detail.facts)), classes="facts")
        for section in self._detail.sections:
            yield Static(Content(inert(section.title)), classes="section-title")
            yield self._body(section)

    def _body(self, section: Section) -> Widget:
        body, classes = inert(section.body).expandtabs(4), f"section -{section.kind}"
        if section.kind is SectionKind.DIFF:
            return DiffView(body, self._path(), classes=classes)
        return Static(Content(body), classes=classes)

    def _path(self) -> str:
        """Of the file that was changed, whose name tells the language."""
        return next((s.body for s in self._detail.sections if s.title == "File"), "")

    def action_turn(self) -> None:
        """One column, or side by side."""
        if not self.has_diff:
            self.app.say("There is no diff to turn.")
        for shown in self.query(DiffView):
            shown.split = not shown.split
        self.say_keys()

    def copied(self) -> str:
        """Every section."""
        return inert(self._detail.text)
