"""Every key and what the signs mean."""

from collections.abc import Iterable

from textual.widget import Widget
from textual.widgets import Static

from ralph_tui.tui.commands import COMMANDS, MOVES, key_label
from ralph_tui.tui.render.spans import Line, Span, Tone, plain
from ralph_tui.tui.screens.reader import Reader
from ralph_tui.tui.widgets.lines import Lines

_KEY = 16


class Help(Reader):
    """Generated from the commands, so it cannot drift."""

    KEYS = "j k scroll, esc closes"

    def reader_title(self) -> str:
        """Fixed."""
        return "help"

    def parts(self) -> Iterable[Widget]:
        """One block per area, then moving, then the signs."""
        for title, lines in self._blocks():
            yield Static(title, classes="section-title", markup=False)
            yield Lines(lines, classes="section")

    def _blocks(self) -> list[tuple[str, list[Line]]]:
        now = self.app.situation()
        blocks: list[tuple[str, list[Line]]] = []
        for area in dict.fromkeys(c.area for c in COMMANDS):
            lines: list[Line] = []
            for command in COMMANDS:
                if command.area != area:
                    continue
                lines.append(_key_line(" ".join(key_label(k) for k in command.keys), command.help))
                if reason := command.disabled(now):
                    lines.append([Span(" " * _KEY + f"not now: {reason}", Tone.FAINT)])
            blocks.append((area, lines))
        blocks.append(("Moving", [_key_line(keys, text + ".") for keys, text in MOVES]))
        blocks.append(("Signs", self._signs()))
        return blocks

    def _signs(self) -> list[Line]:
        g = self.app.glyphs
        return [
            [Span(f"{g.ok} ", Tone.OK), Span("done, passed   "), Span(f"{g.failed} ", Tone.BAD), Span("failed")],
            [Span(f"{g.current} ", Tone.ACCENT), Span("being worked   "), Span(f"{g.denied} ", Tone.WARN), Span("denied or blocked")],
            [Span(f"{g.waiting} ", Tone.MUTED), Span("waiting        "), Span(f"{g.handoff} ", Tone.INFO), Span("handed off to a fresh context")],
        ]  # fmt: skip

    def copy_text(self) -> str:
        """The whole help."""
        return "\n\n".join(
            "\n".join([title, *(plain(line) for line in lines)]) for title, lines in self._blocks()
        )


def _key_line(keys: str, text: str) -> Line:
    return [Span(keys.ljust(_KEY), Tone.ACCENT), Span(text)]
