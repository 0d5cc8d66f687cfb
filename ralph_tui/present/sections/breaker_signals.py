"""Show the breaker's signals with their counts and thresholds, in the panel and in detail. Pure functions."""

from collections.abc import Iterable

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker, Signal
from ralph_tui.present.sections.bars import bar, dots, level_tone
from ralph_tui.present.text.figures import limit, money
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone, crop

MAIN = ("failures", "stagnation")

NEAR = 0.8
"""The share of the cost limit from which the cost is shown."""

_NAME, _COUNT, _OF = 15, 7, 10
_FIGURES = _NAME + _COUNT + _OF


def breaker_lines(breaker: CircuitBreaker, width: int, glyphs: Glyphs) -> list[Line]:
    """Return the lines of the main signals, and of the other signal that is closest to its threshold.

    The cost has its own panel, so it is shown here only if it is close to the limit.
    """
    signals = [s for s in breaker.signals() if s.name != "cost" or _share(s) >= NEAR]
    others = counting(s for s in signals if s.name not in MAIN)
    lines = [signal_line(s, width, glyphs) for s in signals if s.name in MAIN]
    if not others:
        quiet = plural(len(signals) - len(MAIN), "other signal")
        return [*lines, [Span(f"{quiet} quiet", Tone.MUTED)]]
    more = [Span(f" +{len(others) - 1}", Tone.MUTED)] if len(others) > 1 else []
    room = width - sum(len(span.text) for span in more)
    return [*lines, [*signal_line(others[0], room, glyphs), *more]]


def counting(signals: Iterable[Signal]) -> list[Signal]:
    found = (signal for signal in signals if signal.count and signal.threshold)
    return sorted(found, key=_share, reverse=True)


def _share(signal: Signal) -> float:
    return signal.count / signal.threshold if signal.threshold else 0.0


def signal_line(signal: Signal, width: int, glyphs: Glyphs) -> Line:
    """Draw one signal: name, count, threshold, and a gauge in the remaining room."""
    name = Span(signal.name.ljust(_NAME), Tone.MUTED)
    if not signal.threshold:
        return [name, Span("    off", Tone.MUTED)]
    share, room = _share(signal), width - _FIGURES
    tone = Tone.BAD if share >= 1 else Tone.WARN if share >= 0.6 else Tone.TEXT
    if signal.name == "cost":
        count, most = money(signal.count), limit(signal.threshold)
        gauge = bar(share, room, level_tone(share), glyphs) if room > 3 else []
    else:
        count, most = f"{signal.count:.0f}", f"{signal.threshold:.0f}"
        gauge = dots(signal.count, signal.threshold, glyphs, most=min(10, max(0, room)))
    figures = [Span(count.rjust(_COUNT), tone), Span(f" of {most}".ljust(_OF), Tone.MUTED)]
    return crop([name, *figures, *gauge], width, glyphs.ellipsis)


_MEANS = {
    BreakerState.CLOSED: "Closed: iterations run.",
    BreakerState.HALF_OPEN: "Half-open: one trial iteration decides.",
    BreakerState.OPEN: "Open: the loop stopped itself before more was spent.",
}


def breaker_parts(breaker: CircuitBreaker, glyphs: Glyphs) -> list[Part]:
    """Return the breaker's state, and every signal with its evidence, those closest to their threshold first."""
    state: list[Line] = [[Span(_MEANS[breaker.state])]]
    if breaker.reset_reason:
        state.append([Span(f"Last reset: {breaker.reset_reason}", Tone.MUTED)])
    signals = breaker.signals()
    advanced = counting(signals)
    quiet = [signal for signal in signals if signal not in advanced]
    parts = [Part("State", state)]
    if advanced:
        lines: list[Line] = []
        for signal in advanced:
            lines.append(signal_line(signal, _FIGURES + 10, glyphs))
            evidence = filter(None, signal.evidence)
            lines += [[Span(f"  {glyphs.note} ", Tone.MUTED), Span(text)] for text in evidence]
        parts.append(Part("Counting", lines))
    if quiet:
        parts.append(Part("Quiet", [signal_line(s, _FIGURES + 10, glyphs) for s in quiet]))
    return parts
