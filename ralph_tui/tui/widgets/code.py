"""Code and diffs in the colors of their language; a diff in one column or side by side."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from textual import getters
from textual.content import Content
from textual.geometry import Size
from textual.highlight import HighlightTheme, guess_language, highlight
from textual.reactive import reactive
from textual.widget import Widget

from ralph_tui.present.text.long_text import (
    LINES,
    DiffLine,
    diff_lines,
    diff_rows,
    texts_before_and_after,
)
from ralph_tui.tui.host.widget_host import Host

AT_ONCE = 5_000
"""Characters that are highlighted at once; ten times as many take a tenth of a second."""

_COLOURS = {
    "Token.Comment": "$text-muted italic",
    "Token.Keyword": "$text-accent",
    "Token.Literal.Number": "$text-warning",
    "Token.Literal.String": "$text-success",
    "Token.Name.Class": "$text-primary bold",
    "Token.Name.Decorator": "$text-primary",
    "Token.Name.Function": "$text-primary bold",
}
"""Few colors, so that added and removed lines stay what is seen first in a diff."""


class _Colours(HighlightTheme):
    STYLES = {  # noqa: RUF012 - Textual declares it as an instance variable
        token: _COLOURS[str(token)] for token in HighlightTheme.STYLES if str(token) in _COLOURS
    }


def coloured(text: str, language: str) -> Content:
    """Return inert text in colors; it is never parsed as markup."""
    return highlight(text, language=language, theme=_Colours)


_SIGN = {"+": "$text-success bold", "-": "$text-error bold", "@": "$text-accent"}
_BEHIND = {"+": "on $success 12%", "-": "on $error 12%"}


class ParsedDiff:
    """A unified diff to show; a long one gets its colors later."""

    def __init__(self, body: str, path: str) -> None:
        """Parse the diff of the file at `path`, whose name tells the language; both may be hostile, but inert."""
        self.sides = diff_lines(body.splitlines())
        self.pairs = diff_rows(self.sides)
        self.is_plain = len(body) > AT_ONCE
        """Whether the colors are still to come."""
        self._path = path
        self._before, self._after = texts_before_and_after(self.sides)
        self._colours: tuple[Sequence[Content], Sequence[Content]] = ((), ())
        if not self.is_plain:
            self.colour()

    def colour(self) -> None:
        """Highlight the language; may be called in a thread."""
        before, after = (_lines(text, self._path) for text in (self._before, self._after))
        self._colours = before, after
        self.is_plain = False

    def line(self, side: DiffLine, *, behind: bool) -> Content:
        """Return a line of one column with its sign; with `behind`, its background has a color, too."""
        if not side.sign:
            return Content("")
        if side.sign == "@":
            return Content.styled(side.text, _SIGN["@"])
        colours = self._colours[side.sign != "-"]
        known = 0 <= side.number < len(colours)
        text = colours[side.number] if known else Content(side.text)
        line = Content.assemble((f"{side.sign} ", _SIGN.get(side.sign, "")), text)
        ground = _BEHIND.get(side.sign, "") if behind else ""
        return line.stylize_before(ground) if ground else line

    def views(self, classes: str, *, first: int, split: bool) -> Iterator["DiffView"]:
        """Return widgets that show the diff in pieces, one below the other."""
        most = max(len(self.sides), len(self.pairs))
        for start, end in pairwise([0, *range(first, most, LINES), most]):
            of = classes if end == most else f"{classes} -goes-on"
            yield DiffView(self, slice(start, end), of, split=split)


class DiffView(Widget):
    """Shows by sign, color and background what was removed and added."""

    app = getters.app(Host)

    split: reactive[bool] = reactive(bool, layout=True)
    """Whether the columns are side by side."""

    def __init__(self, diff: ParsedDiff, rows: slice, classes: str, *, split: bool) -> None:
        """Show these rows of a diff."""
        super().__init__(classes=classes)
        self.set_reactive(DiffView.split, split)
        self._sides, self._pairs = diff.sides[rows], diff.pairs[rows]
        self._diff = diff
        self._drawn: tuple[object, Content] | None = None

    @property
    def rows(self) -> int:
        """The least number of rows."""
        return len(self._pairs if self.split else self._sides)

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the number of rows; side by side, no line wraps."""
        if self.split or not self._sides:
            return self.rows
        return super().get_content_height(container, viewport, width)

    def render(self) -> Content:
        """Return all lines, made once for all that they depend on."""
        behind, width = not self.has_pseudo_class("ansi"), self.split and self.content_size.width
        known = (self.split, width, behind, self._diff.is_plain)
        if self._drawn is None or self._drawn[0] != known:
            lines = self._beside(width, behind=behind) if self.split else self._below(behind=behind)
            self._drawn = known, Content("\n").join(lines)
        return self._drawn[1]

    def _below(self, *, behind: bool) -> Iterable[Content]:
        return (self._diff.line(side, behind=behind) for side in self._sides)

    def _beside(self, width: int, *, behind: bool) -> Iterable[Content]:
        bar = " │ " if self.app.glyphs.unicode else " | "
        width = max(1, (width - len(bar)) // 2)
        return (
            Content.assemble(
                self._diff.line(before, behind=behind).truncate(width, ellipsis=True, pad=True),
                (bar, "$text-muted"),
                self._diff.line(after, behind=behind).truncate(width, ellipsis=True),
            )
            for before, after in self._pairs
        )


def _lines(text: str, path: str) -> list[Content]:
    """Return each line in the colors of the file's language, if its name tells one."""
    language = guess_language(text, path or "x")
    return list(coloured(text, language).split("\n", allow_blank=True))
