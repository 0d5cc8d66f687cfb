"""Shows every key and the meaning of the glyphs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from textual.widgets import Static

from ralph_tui.present.text.key_hints import key_label
from ralph_tui.present.text.spans import Line, Span, Tone, wrap
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.registry import COMMANDS, MOVES, name_of
from ralph_tui.tui.host.widget_host import CommandScreen
from ralph_tui.tui.screens.dialogs.text_reader import ReaderPart, TextReader
from ralph_tui.tui.widgets.styled import StyledLines, WrappedText

KEYS_WIDTH = 15


@dataclass(frozen=True, slots=True)
class KeyRow:
    """One command: its keys, what it does, and why it cannot be used now."""

    keys: str
    text: str
    not_now: str = ""


class KeyTable(WrappedText):
    """A block of rows."""

    def __init__(self, rows: Sequence[KeyRow], *, classes: str | None = None) -> None:
        super().__init__(classes=classes)
        self._rows = rows

    def lines_at(self, width: int) -> Iterable[Line]:
        """Yield each row, with the text beside its keys; a shared reason is shown once, above its rows."""
        reason = ""
        for row in self._rows:
            if row.not_now and row.not_now != reason:
                yield from ([Span(text)] for text in wrap(f"Unavailable: {row.not_now}", width))
            reason = row.not_now
            yield from _lines(row, width - KEYS_WIDTH)


def _lines(row: KeyRow, width: int) -> list[Line]:
    texts = wrap(row.text, width)
    keys = [row.keys, *[""] * (len(texts) - 1)]
    key_tone, tone = (Tone.MUTED, Tone.MUTED) if row.not_now else (Tone.ACCENT, Tone.TEXT)
    return [
        [Span(key.ljust(KEYS_WIDTH), key_tone), Span(text, tone)]
        for key, text in zip(keys, texts, strict=True)
    ]


INTRODUCTION = (
    (
        "the loop",
        "Works on one task at a time, each attempt in a fresh context. Its checks decide when it is done.",
    ),
    ("quitting", "Loses nothing: the loop's state is in .ralph/. Run `ralph` to return."),
    ("{tasks} tasks", "The plan: ready, waiting and completed tasks."),
    (
        "{activity} activity",
        "What the agent does, one line per step. Press {detail} to open a step.",
    ),
    ("{status} status", "Context, cost, breaker and gate."),
    (
        "{iterations} {history} {memory} {why} {settings}",
        "The pages: iterations, history, memory, why, settings.",
    ),
    ("{answer}", "Answer when the header asks for you."),
    ("{pause} {inject} {stop}", "Pause, guide, stop."),
)


class HelpDialog(TextReader):
    """Shows the help, generated from the commands."""

    STEM = "help"

    def reader_title(self) -> str:
        return "help"

    def parts(self) -> Iterable[ReaderPart]:
        """Yield a block per area, then the glyphs."""
        for title, rows in self._areas():
            yield ReaderPart(_title(title))
            yield ReaderPart(KeyTable(rows, classes="section"), len(rows))
        g = self.app.glyphs
        meanings = (
            (g.ok, Tone.OK, "done or passed"),
            (g.failed, Tone.BAD, "failed"),
            (g.current, Tone.ACCENT, "in progress"),
            (g.waiting, Tone.MUTED, "waiting for another task"),
            (g.denied, Tone.WARN, "denied by the guard, or blocked"),
            (g.retry, Tone.WARN, "retried, or rewritten by the guard"),
            (g.handoff, Tone.INFO, "handed off to a fresh context"),
        )
        signs = [[Span(f"{glyph}  ", tone), Span(text)] for glyph, tone, text in meanings]
        yield ReaderPart(_title("Symbols"))
        yield ReaderPart(StyledLines(signs, classes="section"), len(signs))

    def _areas(self) -> list[tuple[str, list[KeyRow]]]:
        screens = reversed(self.app.screen_stack)
        page = next((screen for screen in screens if isinstance(screen, CommandScreen)), None)
        commands = page.page_commands if page else ()
        own = [self._row(c, page.not_now(c.name)) for c in commands if page]
        here = [(f"On this page: {page.NAME}", own)] if page else []
        now, areas = self.app.command_context(), dict[str, list[KeyRow]]()
        for command in COMMANDS:
            areas.setdefault(command.area, []).append(self._row(command, command.disabled(now)))
        areas["Moving"] = [KeyRow(keys, f"{text}.") for keys, text in MOVES]
        rows = [*here, *areas.items()]
        shown = [(title, _by_reason(of)) for title, of in rows]
        said = self.app.keys.said
        introduction = [KeyRow(said(keys), said(text)) for keys, text in INTRODUCTION]
        shown.insert(len(here), ("In one minute", introduction))
        return shown

    def _row(self, command: Command, not_now: str) -> KeyRow:
        own = self.app.keys_of(command)
        keys = " ".join(map(key_label, own)) or f"in {self.app.keys.label(name_of(command))}"
        return KeyRow(keys, self.app.keys.said(command.help), not_now)

    def full_text(self) -> str:
        return "\n\n".join(
            "\n".join([title, *(f"{row.keys}  {row.text}" for row in rows)])
            for title, rows in self._areas()
        )


def _by_reason(rows: Sequence[KeyRow]) -> list[KeyRow]:
    """Sort the rows: usable commands first, the others grouped by reason, so that each reason is shown once."""
    order = list(dict.fromkeys(["", *(row.not_now for row in rows)]))
    return sorted(rows, key=lambda row: order.index(row.not_now))


def _title(text: str) -> Static:
    return Static(text, classes="section-title", markup=False)
