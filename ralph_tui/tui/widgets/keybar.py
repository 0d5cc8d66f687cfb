"""The footer: keys of the commands that matter now, generated from their declaration."""

from collections.abc import Sequence

from textual.reactive import reactive

from ralph_tui.tui.command import Command
from ralph_tui.tui.commands import COMMANDS
from ralph_tui.tui.keys import Keys, key_label
from ralph_tui.tui.render.spans import Line, Span, Tone, width_of
from ralph_tui.tui.situation import Situation
from ralph_tui.tui.widgets.links import LinkLine


def more(keys: Keys) -> Line:
    """The way to all other commands."""
    label = keys.label("palette").replace("ctrl+", "^")
    return (Span(label, Tone.ACCENT), Span(" more", Tone.MUTED))


class KeyBar(LinkLine):
    """Whole labels only; the least important go first when the line is short."""

    can_jump = False

    situation: reactive[Situation | None] = reactive(None)

    def links(self, width: int) -> Sequence[tuple[str, Line]]:
        """The footer's commands by rank, and the palette for the rest."""
        if self.situation is None:
            return []
        palette = more(self.app.keys)
        room = width - width_of(palette)
        shown: list[tuple[str, Line]] = []
        for command in sorted((c for c in COMMANDS if c.footer), key=lambda c: c.rank):
            if not command.footer_label(self.situation):
                continue
            line = self._line(command, self.situation)
            room -= width_of(line) + len(self.GAP)
            if room < 0:
                break
            shown.append((command.name, line))
        return [*shown, ("palette", palette)]

    def _line(self, command: Command, now: Situation) -> Line:
        usable = not command.disabled(now)
        return (
            Span(key_label(self.app.keys_of(command)[0]), Tone.ACCENT if usable else Tone.FAINT),
            Span(f" {command.footer_label(now)}", Tone.TEXT if usable else Tone.FAINT),
        )
