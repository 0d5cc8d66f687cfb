"""A diff in the colours of its language: one column, or what was beside what is."""

from textual import getters
from textual.content import Content
from textual.geometry import Size
from textual.highlight import guess_language
from textual.reactive import reactive
from textual.widget import Widget

from ralph_tui.tui.host import Host
from ralph_tui.tui.render.diff import Side, paired, sided, texts
from ralph_tui.tui.widgets.code import coloured

_SIGN = {"+": "$text-success bold", "-": "$text-error bold", "@": "$text-accent"}
_BEHIND = {"+": "on $success 12%", "-": "on $error 12%"}


class DiffView(Widget):
    """Says by sign, colour and background what was removed and added."""

    app = getters.app(Host)

    split: reactive[bool] = reactive(bool, layout=True)
    """Side by side."""

    def __init__(self, body: str, path: str, *, classes: str) -> None:
        """Show the lines of a unified diff of the file at `path`; both may be hostile, but inert."""
        super().__init__(classes=classes)
        self._sides = sided(body.splitlines())
        before, after = texts(self._sides)
        self._before, self._after = _coloured(before, path), _coloured(after, path)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Beside each other no line is folded."""
        if self.split:
            return len(paired(self._sides))
        return super().get_content_height(container, viewport, width)

    def render(self) -> Content:
        """All lines."""
        if not self.split:
            return Content("\n").join(self._line(side) for side in self._sides)
        bar = " │ " if self.app.glyphs.unicode else " | "
        width = max(1, (self.content_size.width - len(bar)) // 2)
        rows = (
            Content.assemble(
                self._line(before).truncate(width, ellipsis=True, pad=True),
                (bar, "$text-muted"),
                self._line(after).truncate(width, ellipsis=True),
            )
            for before, after in paired(self._sides)
        )
        return Content("\n").join(rows)

    def _line(self, side: Side) -> Content:
        if not side.sign:
            return Content("")
        if side.sign == "@":
            return Content.styled(side.text, _SIGN["@"])
        colours = self._before if side.sign == "-" else self._after
        known = 0 <= side.number < len(colours)
        text = colours[side.number] if known else Content(side.text)
        line = Content.assemble((f"{side.sign} ", _SIGN.get(side.sign, "")), text)
        behind = "" if self.has_pseudo_class("ansi") else _BEHIND.get(side.sign, "")
        return line.stylize_before(behind) if behind else line


def _coloured(text: str, path: str) -> list[Content]:
    """Each line in the colours of the language that the file's name tells, if it does."""
    language = guess_language(text, path or "x")
    return list(coloured(text, language).split("\n", allow_blank=True))
