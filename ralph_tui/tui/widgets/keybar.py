"""The footer: keys of the commands that matter now, generated from their declaration."""

from collections.abc import Iterable, Sequence

from textual.reactive import reactive

from ralph_tui.tui.command import Command
from ralph_tui.tui.commands import BY_NAME, COMMANDS, WHEN_DONE, WHEN_EMPTY
from ralph_tui.tui.keys import key_label
from ralph_tui.tui.reasons import is_done, is_empty
from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.situation import Situation
from ralph_tui.tui.widgets.key_line import KeyLine, Link


class KeyBar(KeyLine):
    """Of the dashboard."""

    situation: reactive[Situation | None] = reactive(None)

    def links(self, width: int) -> Sequence[Link]:
        """None before anything is known."""
        return super().links(width) if self.situation is not None else []

    def commands(self) -> Iterable[Link]:
        """Those that matter now."""
        now = self.situation
        if now is None:
            return
        for command in _offered(now):
            if command.footer_label(now):
                yield command.name, self._line(command, now)

    def _line(self, command: Command, now: Situation) -> Line:
        usable = not command.disabled(now)
        return (
            Span(key_label(self.app.keys_of(command)[0]), Tone.ACCENT if usable else Tone.FAINT),
            Span(f" {command.footer_label(now)}", Tone.TEXT if usable else Tone.FAINT),
        )


def _offered(now: Situation) -> list[Command]:
    """By rank; where there is nothing to run, what can be done instead."""
    if is_done(now) or is_empty(now):
        return [BY_NAME[name] for name in (WHEN_DONE if is_done(now) else WHEN_EMPTY)]
    return sorted((c for c in COMMANDS if c.footer), key=lambda c: c.rank)
