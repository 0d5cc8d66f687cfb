"""Shows the guard's log and the breaker's past, and draws the rows of evidence. Pure functions."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.run_history import BreakerStep, Ruled
from ralph_tui.present.sections.breaker_signals import breaker_parts
from ralph_tui.present.text.figures import breaker_counts, clock, when
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.key_hints import Keys, hint
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.text.status_labels import BREAKER


def labelled(name: str, text: str, tone: Tone = Tone.TEXT) -> Line:
    """Draw a row that begins with its name: rule, evidence, next."""
    return [Span(name.ljust(10), Tone.MUTED), Span(text, tone)]


def next_step(keys: Keys, text: str, **values: str) -> Line:
    """Draw what to do, with the keys that do it here."""
    return [Span("next".ljust(10), Tone.MUTED), *hint(keys, text, Tone.ACCENT, **values)]


def cooling(breaker: CircuitBreaker, now: datetime) -> list[Line]:
    """Say when an open breaker lets one iteration try again automatically."""
    if breaker.half_open_at is None or not breaker.is_cooling:
        return []
    left = duration(max(0.0, (breaker.half_open_at - now).total_seconds()))
    text = f"one iteration is tried automatically in {left}, at {clock(breaker.half_open_at, now)}"
    return [labelled("cool-down", text, Tone.WARN)]


def guard_parts(rulings: Sequence[Ruled], glyphs: Glyphs) -> list[Part]:
    """Show the guard's log, newest first: what was denied, and what a person was asked about."""
    if not rulings:
        nothing: Line = [Span("The guard has refused nothing here.", Tone.MUTED)]
        return [Part("Guard log", [nothing])]
    allowed = sum(1 for ruled in rulings if ruled.scope is not None)
    said = [plural(len(rulings) - allowed, "denial")]
    said += [f"{allowed} allowed when asked"] if allowed else []
    parts = [Part(f"Guard log: {', '.join(said)}, newest first", [])]
    parts += [_ruled(ruled, glyphs) for ruled in reversed(rulings)]
    return parts


_SCOPES = {
    "once": "allowed once",
    "session": "allowed for the session",
    "again": "allowed for the session before",
}


def _ruled(ruled: Ruled, glyphs: Glyphs) -> Part:
    iteration = f"iteration {ruled.iteration}" if ruled.iteration else "between iterations"
    by = f" by {ruled.by}" if ruled.by else ""
    tone, rule, decided = Tone.WARN, ruled.reason, ""
    if ruled.scope is not None:
        tone, decided = Tone.OK, _SCOPES[ruled.scope] + by
    elif ruled.by:
        rule, decided = "", f"denied{by}: {ruled.reason}"
    lines = [
        [Span(f"{when(ruled.at)}  {iteration}  {ruled.tool}", Tone.MUTED)],
        labelled("evidence", one_line(ruled.part, 500), Tone.WARN) if ruled.part else None,
        labelled("rule", rule) if rule else None,
        labelled("decided", decided, tone) if decided else None,
        labelled("next", ruled.instead, Tone.ACCENT) if ruled.instead else None,
    ]
    sign = glyphs.denied if ruled.scope is None else glyphs.ok
    return Part(f"{sign} {ruled.rule}", [line for line in lines if line is not None])


_NEXT = {
    BreakerState.CLOSED: "Nothing: it holds back no iteration.",
    BreakerState.HALF_OPEN: "Wait for the one iteration that may try: progress closes it, else it opens again.",
    BreakerState.OPEN: "Fix what failed. Then {why.reset_breaker} resets it with your reason, or a new run does.",
}


def breaker_view_parts(
    breaker: CircuitBreaker,
    steps: Iterable[BreakerStep],
    now: datetime,
    glyphs: Glyphs,
    keys: Keys,
) -> list[Part]:
    """Show the breaker now with its evidence, what comes next, and how it came to this.

    Args:
        breaker: The breaker as it is now.
        steps: Its changes, oldest first.
        now: The time, for what is left of a cool-down.
        glyphs: The signs to draw with.
        keys: The keys that the text names.
    """
    look = BREAKER[breaker.state]
    head: list[Line] = [
        [Span(f"{getattr(glyphs, look.glyph)} {look.word}", look.tone)],
        next_step(keys, _NEXT[breaker.state]),
        *(cooling(breaker, now) or [labelled("cool-down", _NOT_COOLING)]),
    ]
    parts = [Part("The circuit breaker", head), *breaker_parts(breaker, glyphs)]
    told = _told(steps)
    if told:
        parts.append(Part("How it came to this, newest first", told))
    return parts


_NOT_COOLING = "none runs: it begins when an open breaker waits for a person, circuit_breaker.cooldown_minutes long"


def _told(steps: Iterable[BreakerStep]) -> list[Line]:
    lines: list[Line] = []
    for step in reversed(list(steps)):
        look = BREAKER[step.breaker.state]
        counters = breaker_counts(step.breaker) or "nothing counts"
        lines.append(
            [
                Span(f"{when(step.at)}  ", Tone.MUTED),
                Span(f"{look.word.ljust(10)}", look.tone),
                Span(counters + (f"  ({step.reason})" if step.reason else "")),
            ]
        )
    return lines
