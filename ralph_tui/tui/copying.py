"""What a dialog shows, as text for the clipboard or a file."""

from collections.abc import Iterator

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Input, TextArea

from ralph_tui.domain.sanitize import inert
from ralph_tui.tui.render.spans import plain
from ralph_tui.tui.widgets.rows import RowsView


def text_of(shown: Widget) -> str:
    """Everything in sight in it, from top to bottom; inert."""
    return "\n".join(inert(text).rstrip() for text in _texts(shown))


def _texts(shown: Widget) -> Iterator[str]:
    if not shown.display:
        return
    if isinstance(shown, RowsView):
        rows = (shown.row_line(y, shown.row_width) for y in range(shown.row_count()))
        yield from (plain(row) for row in rows)
    elif isinstance(shown, TextArea):
        yield shown.text
    elif isinstance(shown, Input):
        yield shown.value
    elif shown.children:
        for child in shown.children:
            yield from _texts(child)
    elif isinstance(content := shown.render(), Content):
        yield content.plain
