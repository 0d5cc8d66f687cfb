"""The footer of a page: its own commands, and the way to all others."""

from collections.abc import Sequence

from textual.reactive import reactive

from ralph_tui.tui.commands import Command
from ralph_tui.tui.keys import key_label
from ralph_tui.tui.render.spans import Line, Span, Tone, width_of
from ralph_tui.tui.widgets.links import LinkLine, page_above

_MORE: Line = (Span("^p", Tone.ACCENT), Span(" more", Tone.MUTED))


class PageBar(LinkLine):
    """Whole labels only; the least important go first when the line is short."""

    can_jump = False

    commands: reactive[tuple[Command, ...]] = reactive(())

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """The page's commands by rank, and the palette for the rest."""
        room = width - width_of(_MORE)
        shown: list[tuple[str, Line]] = []
        for command in sorted((c for c in self.commands if c.footer), key=lambda c: c.rank):
            label = page_above(self).label(command)
            if not label:
                continue
            usable = not page_above(self).not_now(command.name)
            line = (
                Span(
                    key_label(self.app.keys_of(command)[0]), Tone.ACCENT if usable else Tone.FAINT
                ),
                Span(f" {label}", Tone.TEXT if usable else Tone.FAINT),
            )
            room -= width_of(line) + len(self.GAP)
            if room < 0:
                break
            shown.append((command.name, line))
        return [*shown, ("palette", _MORE)]

    def follow(self, name: str) -> None:
        """A click is for the page."""
        page_above(self).action_invoke(name)
