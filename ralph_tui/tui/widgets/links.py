"""A line of words that run commands when clicked."""

from collections.abc import Sequence

from textual import events
from textual.content import Content
from textual.message import Message

from ralph_tui.present.text.spans import Line, Span, width_of
from ralph_tui.tui.widgets.styled import StyledWidget


class LinkLine(StyledWidget):
    """A line of links that can be clicked."""

    GAP = "  "

    class Followed(Message):
        """Posted when a link was clicked."""

        def __init__(self, name: str) -> None:
            super().__init__()
            self.name = name

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        raise NotImplementedError

    def render(self) -> Content:
        spans: list[Span] = []
        for _, line in self.links(self.content_size.width):
            spans += [Span(self.GAP), *line] if spans else line
        return self.content([spans])

    def on_click(self, event: events.Click) -> None:
        offset = event.get_content_offset(self)
        start = 0
        for name, line in self.links(self.content_size.width):
            end = start + width_of(line)
            if offset is not None and start <= offset.x < end:
                self.follow(name)
                break
            start = end + len(self.GAP)

    def follow(self, name: str) -> None:
        self.post_message(self.Followed(name))
