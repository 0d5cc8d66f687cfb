"""Draw entries as lines. Problems and the model's messages wrap; other entries take one line."""

from collections.abc import Iterable
from functools import lru_cache

from ralph_tui.domain.formatting import took
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.present.events.event_sentences import by_whom
from ralph_tui.present.text.glyphs import UNICODE, Glyphs
from ralph_tui.present.text.markdown import hanging, markdown_lines
from ralph_tui.present.text.spans import (
    EXPORT_WIDTH,
    Line,
    Span,
    Tone,
    crop,
    flow,
    plain,
    row,
    wrap,
)
from ralph_tui.present.text.status_labels import RECEIPT
from ralph_tui.present.timeline.entries import (
    CallEntry,
    CheckEntry,
    Entry,
    HeadingEntry,
    NoteEntry,
    TextEntry,
)
from ralph_tui.present.tools.calls import LOOK_OF_CALL, CallState
from ralph_tui.present.tools.inline_diff import inline_height, inline_line
from ralph_tui.present.tools.renderers import renderer_for

INDENT = 2
LABEL = 7

WORD = 7

FOLD = 18
"""Cells for the number of lines that a verdict hides, reserved so that folding does not wrap the text again."""

DURATION = 7

MAX_TEXT_LINES = 60


def height(entry: Entry, width: int) -> int:
    if isinstance(entry, HeadingEntry):
        return 2 if entry.number else 1
    if isinstance(entry, NoteEntry):
        return len(_note_texts(entry, width))
    if isinstance(entry, CallEntry):
        return 1 + inline_height(entry.call)
    if not isinstance(entry, TextEntry):
        return 1
    text = entry.text
    fits = len(text) <= width - INDENT * (entry.depth + 1) and text.isascii()
    if fits and text.isprintable() and text[:1].isalpha():
        return 1
    return len(text_lines(entry, width, UNICODE))


def entries_text(entries: Iterable[Entry], glyphs: Glyphs) -> str:
    rows = (
        plain(line(entry, index, EXPORT_WIDTH, glyphs)).rstrip()
        for entry in entries
        for index in range(height(entry, EXPORT_WIDTH))
    )
    return "\n".join(rows) + "\n"


def line(entry: Entry, index: int, width: int, glyphs: Glyphs) -> Line:
    if isinstance(entry, TextEntry):
        lines = text_lines(entry, width, glyphs)
        bullet = f"{glyphs.text} " if index == 0 else "  "
        text = lines[index] if index < len(lines) else []
        return [Span(" " * INDENT * entry.depth + bullet, Tone.ACCENT), *text]
    if isinstance(entry, CallEntry):
        if not index:
            return _call(entry, width, glyphs)
        indent = INDENT * entry.depth
        change = inline_line(entry.call, index - 1, max(1, width - indent), glyphs)
        return [Span(" " * indent), *change]
    if isinstance(entry, HeadingEntry):
        above = index < height(entry, width) - 1  # an empty line separates iterations
        return [] if above else _heading(entry, width, glyphs)
    if isinstance(entry, CheckEntry):
        return _check(entry, width, glyphs)
    label = entry.label.ljust(LABEL)
    texts = _note_texts(entry, width)
    if index:
        below = texts[index] if index < len(texts) else ""  # the width may have changed
        return [Span(" " * (len(label) + 3)), Span(below)]
    left = [
        Span(f"{getattr(glyphs, entry.glyph)} ", entry.tone),
        Span(f"{label} ", entry.tone),
        Span(texts[0], Tone.MUTED if entry.tone in (Tone.MUTED, Tone.INFO) else Tone.TEXT),
    ]
    return row(left, [Span(entry.right, Tone.MUTED)] if entry.right else [], width)


MAX_NOTE_LINES = 6


@lru_cache(maxsize=512)
def _note_texts(entry: NoteEntry, width: int) -> tuple[str, ...]:
    if entry.tone not in (Tone.BAD, Tone.WARN):
        return (entry.text,)
    right = FOLD if entry.hides else len(entry.right) + 1 if entry.right else 0
    room = width - max(LABEL, len(entry.label)) - 3 - right
    texts = wrap(entry.text, max(12, room))
    if len(texts) > MAX_NOTE_LINES:
        texts = [*texts[: MAX_NOTE_LINES - 1], f"{texts[MAX_NOTE_LINES - 1]} …"]
    return tuple(texts)


@lru_cache(maxsize=512)
def text_lines(entry: TextEntry, width: int, glyphs: Glyphs) -> tuple[Line, ...]:
    """Return an entry's Markdown folded to the width, cut to `MAX_TEXT_LINES` lines.

    The number of lines does not depend on the signs, because each sign is one cell wide.
    """
    room = max(1, width - INDENT * (entry.depth + 1))
    lines = [
        piece
        for line in markdown_lines(entry.text, glyphs)
        for piece in flow(line, room, hanging(line))
    ]
    if len(lines) <= MAX_TEXT_LINES:
        return tuple(lines)
    more = len(lines) - MAX_TEXT_LINES + 1
    return (*lines[: MAX_TEXT_LINES - 1], [Span(f"… {more} more lines; Enter shows them")])


def _call(entry: CallEntry, width: int, glyphs: Glyphs) -> Line:
    call = entry.call
    renderer = renderer_for(call)
    look = LOOK_OF_CALL[call.state]
    note, note_tone = renderer.note(call), Tone.MUTED
    if call.denial:
        note, note_tone = f"rule {call.denial.rule}", Tone.WARN
    elif call.state is CallState.FAILED:
        note_tone = Tone.BAD
    elif call.allowance and not note:
        note = f"allowed {by_whom(call.allowance.by)}" if call.allowance.by else "allowed before"
    elif call.rewrite:
        note = f"{glyphs.retry} rewritten  {note}".rstrip()
    # Shorter durations are meaningless.
    shortest = {CallState.RUNNING: 1.0, CallState.INTERRUPTED: 0.05}
    brief = call.seconds < shortest.get(call.state, 0.0)
    lasted = " " * DURATION if brief else took(call.seconds).rjust(DURATION)
    left = [
        Span(" " * INDENT * entry.depth),
        Span(f"{getattr(glyphs, look.glyph)} ", look.tone),
        Span(f"{renderer.verb.ljust(LABEL)} ", Tone.INFO),
        Span(_first_line(renderer.argument(call))),
    ]
    word_tone = Tone.MUTED if call.state is CallState.OK else look.tone
    right = _fitted_note(note, note_tone, width)
    if call.state is CallState.WAITING:  # the word also takes the column of the duration
        word, lasted = look.word.ljust(WORD + DURATION), ""
    else:
        word = look.word.ljust(WORD)
    right += [Span(word, word_tone), Span(lasted, Tone.MUTED)]
    return row(left, right, width)


def _fitted_note(text: str, tone: Tone, width: int) -> list[Span]:
    """Return a note cut so that the outcome and the duration after it always fit."""
    if not text or width < 60:
        return []
    return [*crop([Span(text, tone)], width // 2 - 16), Span("  ")]


def _first_line(text: str) -> str:
    first, _, rest = text[:2_000].strip().partition("\n")
    return f"{first} …" if rest.strip() else first


def _heading(entry: HeadingEntry, width: int, glyphs: Glyphs) -> Line:
    right = [Span(f" {entry.right} ", Tone.WARN)] if entry.right else []
    left = [Span(f"{glyphs.line * 2} ", Tone.FAINT), Span(entry.title, Tone.TITLE)]
    fitted = row(left, right, width)
    return [
        Span(f" {glyphs.line * (len(text) - 1)}", Tone.FAINT)
        if not text.strip() and len(text) > 1
        else Span(text, tone)
        for text, tone in fitted
    ]


def _check(entry: CheckEntry, width: int, glyphs: Glyphs) -> Line:
    receipt = entry.receipt
    look = RECEIPT[receipt.status]
    left = [
        Span(" " * INDENT),
        Span(f"{getattr(glyphs, look.glyph)} ", look.tone),
        Span("check  ", Tone.MUTED),
        Span(receipt.command),
    ]
    word_tone = Tone.MUTED if receipt.status is ReceiptStatus.PASSED else look.tone
    note = receipt_note(receipt)
    lasted = "" if receipt.status is ReceiptStatus.SKIPPED else took(receipt.seconds)
    right = _fitted_note(note, word_tone, width)
    right += [
        Span(look.word.ljust(WORD), word_tone),
        Span(lasted.rjust(DURATION), Tone.MUTED),
    ]
    return row(left, right, width)


def receipt_note(receipt: Receipt) -> str:
    if receipt.reason:
        return receipt.reason
    return f"exit {receipt.exit_code}" if receipt.exit_code else ""
