"""The questions of a batch in one line, and the review; a click goes to one."""

from collections.abc import Sequence

from textual.message import Message

from ralph_tui.tui.render.spans import Line
from ralph_tui.tui.widgets.links import LinkLine


class QuestionTabs(LinkLine):
    """Says which one is wanted."""

    GAP = ""

    class Wanted(Message):
        """Somebody clicked a tab."""

        def __init__(self, at: int) -> None:
            """The place in the batch; the review is the last."""
            super().__init__()
            self.at = at

    def __init__(self) -> None:
        """Nothing is asked yet."""
        super().__init__(classes="tabs")
        self._tabs: Sequence[Line] = ()

    def show_tabs(self, tabs: Sequence[Line]) -> None:
        """Show these."""
        self._tabs = tabs
        self.refresh()

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """All of them; what does not fit is cut."""
        del width
        return [(str(at), tab) for at, tab in enumerate(self._tabs)]

    def follow(self, name: str) -> None:
        """Go there."""
        self.post_message(self.Wanted(int(name)))
