"""The whole of one entry of the stream: input, output, denial, receipt."""

from collections.abc import Iterable

from textual.content import Content
from textual.widget import Widget
from textual.widgets import Static

from ralph_tui.domain.text import inert
from ralph_tui.tui.render.calls import Section, SectionKind
from ralph_tui.tui.screens.reader import Reader
from ralph_tui.tui.timeline.detail import Detail

_DIFF_STYLE = {"+": "$text-success", "-": "$text-error", "@": "$text-accent"}


class ToolDetail(Reader):
    """Sections one below the other; text can be selected with the mouse or copied whole."""

    def __init__(self, detail: Detail) -> None:
        """Show what was prepared from an entry."""
        super().__init__()
        self._detail = detail

    def reader_title(self) -> str:
        """Tool and name."""
        return self._detail.title

    def parts(self) -> Iterable[Widget]:
        """Facts and sections."""
        if self._detail.facts:
            yield Static(Content(inert(self._detail.facts)), classes="facts")
        for section in self._detail.sections:
            yield Static(Content(inert(section.title)), classes="section-title")
            yield Static(section_content(section), classes=f"section -{section.kind}")

    def copy_text(self) -> str:
        """Every section."""
        return inert(self._detail.text)


def section_content(section: Section) -> Content:
    """A section's body; diffs have coloured lines, nothing is parsed."""
    body = inert(section.body).expandtabs(4)
    if section.kind is not SectionKind.DIFF:
        return Content(body)
    lines = (Content.styled(line, _DIFF_STYLE.get(line[:1], "")) for line in body.splitlines())
    return Content("\n").join(lines)
