"""Show what an import would do: a table of tasks, the imported commands, and remarks. Pure functions."""

from collections.abc import Sequence
from typing import TypeVar

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.import_preview import (
    ImportChange,
    ImportedCommand,
    ImportPreview,
    ImportRow,
)
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone, flat

T = TypeVar("T")

_TONES = {
    ImportChange.NEW: Tone.OK,
    ImportChange.CHANGED: Tone.WARN,
    ImportChange.SAME: Tone.MUTED,
    ImportChange.GONE: Tone.WARN,
    ImportChange.LEFT_OUT: Tone.MUTED,
}
_CHANGE_WIDTH = max(len(change.value) for change in ImportChange) + 2
_MOST_ID = 40


def import_done(preview: ImportPreview) -> str:
    new, changed = preview.counts[ImportChange.NEW], preview.counts[ImportChange.CHANGED]
    words = [plural(new, "new task")] if new else []
    words += [f"{changed:,} changed" if new else plural(changed, "changed task")] if changed else []
    return ", ".join(words)


def import_parts(preview: ImportPreview, most: int = 0) -> list[Part]:
    """Return the tables of a preview, with at most `most` rows for each kind of change; 0 for all."""
    counts = preview.counts
    words = [f"{counts[change]:,} {change.value}" for change in ImportChange if counts[change]]
    parts = [Part(f"Tasks  {', '.join(words) or 'no tasks'}", _rows(preview, most))]
    for title, is_refused in (
        ("Commands  criteria that ralph will run", False),
        ("Refused commands  kept as words, never run", True),
    ):
        if commands := [one for one in preview.commands if one.is_refused is is_refused]:
            lines = [line for command in _cut(commands, most) for line in _command(command)]
            parts.append(Part(title, [*lines, *_more(len(commands), most)]))
    if preview.remarks:
        lines = [[Span(flat(remark))] for remark in _cut(preview.remarks, most)]
        parts.append(Part("Remarks", [*lines, *_more(len(preview.remarks), most)]))
    return parts


def _rows(preview: ImportPreview, most: int) -> list[Line]:
    width = min(_MOST_ID, max((len(flat(row.id)) for row in preview.rows), default=0)) + 2
    lines: list[Line] = []
    for change in ImportChange:
        rows = [row for row in preview.rows if row.change is change]
        lines += [_row(row, width) for row in _cut(rows, most)]
        lines += _more(len(rows), most)
    return lines


def _row(row: ImportRow, width: int) -> Line:
    tone = _TONES[row.change]
    detail = f"  ({flat(row.detail)})" if row.detail else ""
    quiet = Tone.MUTED if tone is Tone.MUTED else Tone.TEXT
    return [
        Span(row.change.value.ljust(_CHANGE_WIDTH), tone),
        Span(f"{flat(row.id).ljust(width - 2)}  ", Tone.MUTED),
        Span(f"{flat(row.title)}{detail}", quiet),
    ]


def _command(command: ImportedCommand) -> list[Line]:
    tone = Tone.BAD if command.is_refused else Tone.TEXT
    name = Span(f"{flat(command.task_id)}  ", Tone.MUTED)
    asked = "asked about before it runs" if command.verdict == "ask" else ""
    about = flat(command.reason) if command.is_refused else asked
    first: Line = [name, Span("$ ", tone), Span(flat(command.command), tone)]
    return [first, [Span("    "), Span(about, Tone.MUTED)]] if about else [first]


def _cut(items: Sequence[T], most: int) -> Sequence[T]:
    return items[:most] if most else items


def _more(count: int, most: int) -> list[Line]:
    left = count - most if most else 0
    return [[Span(f"and {left:,} more", Tone.MUTED)]] if left > 0 else []
