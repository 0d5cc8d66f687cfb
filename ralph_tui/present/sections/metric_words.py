"""Puts the success metrics in words: the figure, what was counted, and a verdict where there is something to judge. Pure."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.view.metrics import Metric
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone

ENOUGH = 10
"""How many must have been counted before a share counts as missing its goal: of three, one is no rate."""


UNKNOWN = "unknown"


class MetricWords(NamedTuple):
    """A metric as both faces show it."""

    value: str
    counted: str
    """Such as `2 of 2 tasks`, or why nothing was counted."""
    verdict: str
    """Empty where there is nothing to judge."""
    met: bool | None
    about: str
    """What is counted, and what is good."""


def metric_words(metric: Metric) -> MetricWords:
    """Put a metric in words."""
    goal = f"Goal: {_goal(metric.target)}." if metric.target else ""
    about = " ".join(filter(None, (metric.definition, metric.good, goal)))
    if metric.value is None:
        return MetricWords(UNKNOWN, metric.unknown, "", None, about)
    counted = f"{metric.numerator:,.0f} of {plural(round(metric.denominator), metric.unit)}"
    met = meets_goal(metric)
    if met is None:
        verdict = "too few to judge" if metric.target else ""
    else:
        verdict = "meets the goal" if met else "misses the goal"
    return MetricWords(f"{100 * metric.value:.0f} %", counted, verdict, met, about)


def meets_goal(metric: Metric) -> bool | None:
    """Tell whether a metric meets its goal; None without a goal, or with too little counted to miss it."""
    if metric.value is None or not metric.target:
        return None
    share, bound = 100 * metric.value, float(re.findall(r"\d+", metric.target)[0])
    if metric.target[0] not in "<>":
        return share >= bound
    met = share < bound if metric.target[0] == "<" else share > bound
    return None if not met and metric.denominator < ENOUGH else met


def _goal(target: str) -> str:
    return target.replace("< ", "below ").replace("> ", "above ")


def metric_parts(metrics: Iterable[Metric], glyphs: Glyphs) -> list[Part]:
    """Show each metric with what was counted, what is good, and the verdict if there is one."""
    return [Part(metric.title, _lines(metric_words(metric), glyphs)) for metric in metrics]


def _lines(words: MetricWords, glyphs: Glyphs) -> list[Line]:
    known = words.value != UNKNOWN
    first = [
        Span(words.value.ljust(9), Tone.TITLE if known else Tone.MUTED),
        Span(words.counted, Tone.TEXT if known else Tone.MUTED),
    ]
    if words.met is not None:
        sign, tone = (glyphs.ok, Tone.OK) if words.met else (glyphs.warning, Tone.WARN)
        first.append(Span(f"   {sign} {words.verdict}", tone))
    elif words.verdict:
        first.append(Span(f"   {words.verdict}", Tone.MUTED))
    return [first, [Span(words.about, Tone.MUTED)]]
