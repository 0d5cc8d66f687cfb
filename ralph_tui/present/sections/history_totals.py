"""Show the totals of all runs, and the metrics in words. Pure functions."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.forecast import Forecast, forecast
from ralph_tui.domain.view.metrics import Metric
from ralph_tui.domain.view.run_history import RunHistory
from ralph_tui.present.text.figures import money, tokens
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.key_hints import Keys, hint
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone, crop

ENOUGH = 10
"""The minimum denominator for a metric to miss its goal; smaller samples say too little."""


UNKNOWN = "unknown"


def totals(
    chronicle: RunHistory, left: Forecast, width: int, glyphs: Glyphs, keys: Keys
) -> list[Line]:
    its = chronicle.iterations
    if not its:
        return [
            hint(keys, "No iterations yet. Press {build} to start the loop.", Tone.TITLE),
            [],
        ]
    spent = [
        plural(len(chronicle.runs), "run"),
        plural(len(its), "iteration"),
        money(sum(it.cost_usd for it in its)),
        f"{tokens(sum(it.tokens for it in its))} tokens",
        duration(chronicle.seconds),
    ]
    first: Line = [Span(f" {glyphs.between} ".join(spent), Tone.TITLE)]
    if left.open_tasks and left.finished:
        eta = f"{plural(left.open_tasks, 'task')} left, about {duration(left.seconds)} and {money(left.cost_usd)}"
    else:
        eta = f"{plural(left.open_tasks, 'task')} left" if left.open_tasks else "nothing left"
    second: Line = [Span(eta, Tone.INFO), Span(f"  {left.basis}", Tone.MUTED)]
    if not left.open_tasks and not any(it.phase is Phase.BUILDING for it in its):
        second = [Span("estimating…", Tone.MUTED)]
    return [crop(first, width, glyphs.ellipsis), crop(second, width, glyphs.ellipsis)]


def forecast_of(chronicle: RunHistory, open_tasks: int | None) -> Forecast:
    """Return the forecast from the attempts so far. None uses the open tasks after the last iteration."""
    its = chronicle.iterations
    attempts = [it for it in its if it.phase is Phase.BUILDING]
    known = its[-1].open_tasks if its else 0
    return forecast(attempts, known if open_tasks is None else open_tasks)


class MetricWords(NamedTuple):
    """A metric in words, as both faces show it."""

    value: str
    counted: str
    """The counts, such as `2 of 2 tasks`, or why nothing was counted."""
    verdict: str
    """Whether the goal is met, in words; empty without counts."""
    met: bool | None
    about: str
    """The definition of the metric and its goal."""


def metric_words(metric: Metric) -> MetricWords:
    goal = metric.target.replace("< ", "below ").replace("> ", "above ")
    about = f"{metric.definition} Goal: {goal}."
    if metric.value is None:
        return MetricWords(UNKNOWN, metric.unknown, "", None, about)
    counted = f"{metric.numerator:,.0f} of {plural(round(metric.denominator), metric.unit)}"
    met = meets_goal(metric)
    verdict = "too few to judge"
    if met is not None:
        verdict = "meets the goal" if met else "misses the goal"
    return MetricWords(f"{100 * metric.value:.0f} %", counted, verdict, met, about)


def meets_goal(metric: Metric) -> bool | None:
    """Return whether a metric meets its goal, or None with too few counts to miss it."""
    if metric.value is None:
        return None
    sign, bound = metric.target[0], float(re.findall(r"\d+", metric.target)[0])
    share = 100 * metric.value
    met = share < bound if sign == "<" else share > bound if sign == ">" else share >= bound
    return met if met or sign not in "<>" or metric.denominator >= ENOUGH else None


def metric_parts(metrics: Iterable[Metric], glyphs: Glyphs) -> list[Part]:
    return [Part(metric.title, _metric_lines(metric_words(metric), glyphs)) for metric in metrics]


def _metric_lines(words: MetricWords, glyphs: Glyphs) -> list[Line]:
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
