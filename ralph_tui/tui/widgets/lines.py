"""Toned lines that wrap, for dialogs."""

from collections.abc import Sequence

from textual.content import Content

from ralph_tui.tui.render.spans import Line
from ralph_tui.tui.widgets.toned import Toned


class Lines(Toned):
    """A fixed block of lines."""

    def __init__(
        self,
        lines: Sequence[Line],
        *,
        id: str | None = None,  # noqa: A002 - Textual's own name for it
        classes: str | None = None,
    ) -> None:
        """Show these lines."""
        super().__init__(id=id, classes=classes)
        self._lines = lines

    def show_lines(self, lines: Sequence[Line]) -> None:
        """Show others instead."""
        self._lines = lines
        self.refresh(layout=True)

    def render(self) -> Content:
        """The lines; long ones wrap."""
        return self.content(self._lines)
