"""Draw shares and counters as bars and dots in cells. Pure functions."""

from collections.abc import Sequence
from itertools import groupby

from ralph_tui.domain.events import IterationFinished
from ralph_tui.domain.run.context_budget import ContextBudget
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.spans import Line, Span, Tone, width_of
from ralph_tui.present.text.status_labels import ZONE


def bar(share: float, width: int, tone: Tone, glyphs: Glyphs) -> list[Span]:
    """Draw a share from 0 to 1 as filled cells. A share above zero fills at least one."""
    share = min(1.0, max(0.0, share))
    filled = round(share * width)
    if share > 0:
        filled = max(1, filled)
    return [Span(glyphs.bar * filled, tone), Span(glyphs.bar_track * (width - filled), Tone.FAINT)]


def dots(count: float, threshold: float, glyphs: Glyphs, most: int = 10) -> list[Span]:
    """Draw a counter as at most `most` dots, because exact figures are shown beside them."""
    size = min(most, int(threshold))
    filled = min(size, int(count))
    tone = Tone.MUTED if not filled else Tone.BAD if filled >= size else Tone.WARN
    return [Span(glyphs.dot * filled, tone), Span(glyphs.no_dot * (size - filled), Tone.FAINT)]


def level_tone(share: float) -> Tone:
    return Tone.BAD if share >= 1 else Tone.WARN if share >= 0.8 else Tone.OK


def context_bar(
    budget: ContextBudget,
    zone: tuple[int, int],
    width: int,
    glyphs: Glyphs,
    past: Sequence[IterationFinished] = (),
) -> list[Line]:
    """Draw the use of the context window and the smart zone, in percent, as a bar with a scale and a legend below it."""
    marks = (budget.budget_percent, budget.handoff_threshold_percent, budget.interrupt_percent)
    used = _cell(min(100.0, budget.percent), width)
    if budget.current_usage:
        used = max(1, used)
    low, high = _cell(zone[0], width), _cell(zone[1], width)
    tone = ZONE[budget.zone].tone
    cells = [
        Span(glyphs.full, tone)
        if x < used
        else Span(glyphs.zone, Tone.INFO)
        if low <= x < high
        else Span(glyphs.track, Tone.FAINT)
        for x in range(width)
    ]
    scale = _scale((zone[0], *marks), width, glyphs)
    room = len(scale) - len(scale.lstrip()) - 1
    before = spark(past, budget.total_capacity, room - len(_SPARK_LABEL), glyphs)
    spans = [Span(_SPARK_LABEL, Tone.MUTED), *before] if before else []
    scaled = [*spans, Span(scale[width_of(spans) :], Tone.MUTED)]
    return [_merged(cells), scaled, *_legend(zone[0], marks, width)]


def _legend(smart: int, marks: tuple[int, int, int], width: int) -> list[Line]:
    words = ("smart zone", "hand-off", "wrap-up note", "turn interrupted")
    parts = [f"{mark} {word}" for mark, word in zip((smart, *marks), words, strict=True)]
    whole = "  ".join(parts)
    if len(whole) <= width:
        return [[Span(whole, Tone.MUTED)]]
    return [[Span("  ".join(pair)[:width], Tone.MUTED)] for pair in (parts[:2], parts[2:])]


_SPARK_LABEL = "before "


def spark(
    past: Sequence[IterationFinished], capacity: int, width: int, glyphs: Glyphs
) -> list[Span]:
    """Draw the context use at the end of each of the last iterations, with hand-offs highlighted."""
    shown = past[-width:] if width > 0 and capacity else ()
    top = len(glyphs.levels) - 1
    return [
        Span(
            glyphs.levels[min(top, it.context_tokens * len(glyphs.levels) // capacity)],
            Tone.WARN if it.handoff else Tone.INFO,
        )
        for it in shown
    ]


def _cell(percent: float, width: int) -> int:
    return min(width, round(percent * width / 100))


def _merged(cells: list[Span]) -> Line:
    groups = groupby(cells, key=lambda span: span.tone)
    return [Span("".join(span.text for span in spans), tone) for tone, spans in groups]


def _scale(marks: tuple[int, ...], width: int, glyphs: Glyphs) -> str:
    line = [" "] * width
    free_from = 0
    for mark in sorted(set(marks)):
        at = min(width - 1, _cell(mark, width))
        label = f"{glyphs.tick}{mark}"
        if at < free_from:
            continue
        if at + len(label) > width:
            label = glyphs.tick
        line[at : at + len(label)] = label
        free_from = at + len(label) + 1
    return "".join(line[:width])
