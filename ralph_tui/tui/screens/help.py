"""Every key and what the signs mean."""

from collections.abc import Callable, Iterable
from dataclasses import replace

from textual.widget import Widget
from textual.widgets import Static

from ralph_tui.tui.commands import COMMANDS, MOVES, Command
from ralph_tui.tui.keys import key_label
from ralph_tui.tui.palette import page_of
from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.screens.reader import Reader
from ralph_tui.tui.situation import Situation
from ralph_tui.tui.widgets.key_table import KeyRow, KeyTable
from ralph_tui.tui.widgets.lines import Lines


class Help(Reader):
    """Generated from the commands, so it cannot drift."""

    KEYS = "j k scroll, esc closes"

    def reader_title(self) -> str:
        """Fixed."""
        return "help"

    def parts(self) -> Iterable[Widget]:
        """One block per area, then moving, then the signs."""
        for title, rows in self._areas():
            yield Static(title, classes="section-title", markup=False)
            yield KeyTable(rows, classes="section")
        yield Static("Signs", classes="section-title", markup=False)
        yield Lines(self._signs(), classes="section")

    def _areas(self) -> list[tuple[str, list[KeyRow]]]:
        """The keys of the page that is open come first."""
        pages = filter(None, map(page_of, reversed(self.app.screen_stack)))
        page = next(pages, None)
        keys_of = self.app.keys_of
        commands = page.page_commands if page else ()
        own = [_row(replace(c, keys=keys_of(c)), page.not_now(c.name)) for c in commands if page]
        here = [(f"On this page: {page.NAME}", own)] if page else []
        return [*here, *_areas(self.app.situation(), keys_of)]

    def _signs(self) -> list[Line]:
        g = self.app.glyphs
        meanings = (
            (g.ok, Tone.OK, "done or passed"),
            (g.failed, Tone.BAD, "failed"),
            (g.current, Tone.ACCENT, "being worked"),
            (g.waiting, Tone.MUTED, "waiting for another task"),
            (g.denied, Tone.WARN, "denied by the guard, or blocked"),
            (g.retry, Tone.WARN, "asked again, or rewritten by the guard"),
            (g.handoff, Tone.INFO, "handed off to a fresh context"),
        )
        return [[Span(f"{glyph}  ", tone), Span(text)] for glyph, tone, text in meanings]

    def copy_text(self) -> str:
        """The keys."""
        return "\n\n".join(
            "\n".join([title, *(f"{row.keys}  {row.text}" for row in rows)])
            for title, rows in self._areas()
        )


def _areas(
    now: Situation, keys_of: Callable[[Command], tuple[str, ...]]
) -> list[tuple[str, list[KeyRow]]]:
    areas: dict[str, list[KeyRow]] = {}
    for command in COMMANDS:
        row = _row(replace(command, keys=keys_of(command)), command.disabled(now))
        areas.setdefault(command.area, []).append(row)
    areas["Moving"] = [KeyRow(keys, f"{text}.") for keys, text in MOVES]
    return list(areas.items())


def _row(command: Command, not_now: str) -> KeyRow:
    return KeyRow(" ".join(key_label(key) for key in command.keys), command.help, not_now)
