"""The preview of the task or entry under the cursor. Pure functions, bounded in time."""

from dataclasses import dataclass

from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.sanitize import head, one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.present.sections.task_parts import task_parts
from ralph_tui.present.text.diffs import Diff, read_diff
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone, fold
from ralph_tui.present.timeline.entries import Entry
from ralph_tui.present.timeline.entry_detail import detail_of
from ralph_tui.present.tools.calls import Section, SectionKind

MOST = 100
"""Maximum lines of one section; the detail has all of them."""

_LONGEST = 8_000
"""Maximum characters of one section."""

_KINDS = {SectionKind.ERROR: Tone.BAD, SectionKind.NOTE: Tone.MUTED, SectionKind.COMMAND: Tone.INFO}


@dataclass(frozen=True, slots=True)
class Preview:
    """A title and titled groups of lines."""

    title: str
    parts: tuple[Part, ...]

    def lines(self, width: int) -> list[Line]:
        lines: list[Line] = []
        for part in self.parts:
            lines += [[Span("")]] if lines else []
            lines += [[Span(part.title, Tone.TITLE)]] if part.title else []
            for line in part.lines:
                lines += fold(line, width) if line else [line]
        return lines


def preview_of(selected: Task | Entry, view: LoopView, glyphs: Glyphs) -> Preview:
    if isinstance(selected, Task):
        parts = task_parts(selected, view, None, glyphs)
        return Preview(one_line(f"{selected.id} {selected.title}"), tuple(parts))
    detail = detail_of(selected, glyphs)
    facts = [Part("", [[Span(detail.facts, Tone.MUTED)]])] if detail.facts else []
    sections = (_section_part(section, detail.path, glyphs) for section in detail.sections)
    return Preview(one_line(detail.title), (*facts, *sections))


VIEW_FIELDS = ("tasks", "iterations", "checks", "receipts", "gate_task_id", "task_id", "why")
"""The fields of the view that a task's preview depends on; `task_parts` must not read others."""


def preview_inputs(selected: Task | Entry | None, view: LoopView) -> tuple[object, ...]:
    if isinstance(selected, Task):
        return selected, *(getattr(view, name) for name in VIEW_FIELDS)
    return (selected,)


def _section_part(section: Section, path: str, glyphs: Glyphs) -> Part:
    texts = head(section.body, _LONGEST).splitlines()
    tone = _KINDS.get(section.kind, Tone.TEXT)
    lines: list[Line] = [[Span(text.expandtabs(4), tone)] for text in texts[:MOST]]
    if section.kind is SectionKind.DIFF:
        lines = Diff(read_diff(text.expandtabs(4) for text in texts[:MOST]), path).lines(glyphs)
    if more := len(texts) - MOST:
        lines += [[Span(f"{more:,} more lines in the detail", Tone.MUTED)]] if more > 0 else []
    return Part(section.title, lines)
