"""The files that the iteration changed, with the lines added and removed."""

from collections.abc import Sequence

from textual.reactive import reactive

from ralph_tui.tui.render.figures import plural
from ralph_tui.tui.render.spans import Line, Span, Tone, crop_path, row, width_of
from ralph_tui.tui.render.states import Look
from ralph_tui.tui.timeline.touched import FileChange
from ralph_tui.tui.widgets.panel import Panel

MAX_LINES = 8
"""The last ones; the iterations page has them all."""


class FilesPanel(Panel):
    """One line per file; it is the last panel, so that it may grow without moving another."""

    TITLE = "files"

    files: reactive[tuple[FileChange, ...]] = reactive((), layout=True)

    def watch_files(self) -> None:
        """How many is in the border."""
        self.caption()

    def caption(self) -> None:
        """How many were changed."""
        changed = f"{plural(len(self.files), 'file')} changed" if self.files else "none changed"
        self.show_look(Look("note", changed, Tone.MUTED))

    def lines(self, width: int) -> Sequence[Line]:
        """The files changed last, in the order they were first changed."""
        if not self.files:
            return [[Span("no file changed in this iteration", Tone.MUTED)]]
        shown = self.files[-MAX_LINES:]
        more = len(self.files) - len(shown)
        above: list[Line] = [[Span(f"{more:,} more before", Tone.MUTED)]] if more else []
        return [*above, *(self._file(change, width) for change in shown)]

    def _file(self, change: FileChange, width: int) -> Line:
        figures = (
            [Span(f"+{change.added} ", Tone.OK), Span(f"-{change.removed}", Tone.BAD)]
            if change.counted
            else [Span("by a command", Tone.MUTED)]
        )
        room = width - width_of(figures) - 1
        path = crop_path(change.path, room, self.app.glyphs.ellipsis)
        return row([Span(path)], figures, width, self.app.glyphs.ellipsis)
