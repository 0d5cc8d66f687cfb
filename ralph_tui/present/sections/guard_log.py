"""Show the guard's log and the breaker's history, with labeled rows. Pure functions."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.run_history import BreakerChange, CallDecision
from ralph_tui.present.events.event_sentences import by_whom
from ralph_tui.present.sections.breaker_signals import breaker_parts
from ralph_tui.present.text.figures import breaker_counts, in_and_at, when
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.key_hints import Keys, hint
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.text.status_labels import BREAKER


def labelled(name: str, text: str, tone: Tone = Tone.TEXT) -> Line:
    return [Span(name.ljust(10), Tone.MUTED), Span(text, tone)]


def next_step(keys: Keys, text: str, **values: str) -> Line:
    return [Span("next".ljust(10), Tone.MUTED), *hint(keys, text, Tone.ACCENT, **values)]


def cooling(breaker: CircuitBreaker, now: datetime) -> list[Line]:
    """Return a row that says when an open breaker allows a trial iteration, or nothing."""
    if breaker.half_open_at is None or not breaker.is_cooling:
        return []
    text = f"retrying once, automatically, {in_and_at(breaker.half_open_at, now)}"
    return [labelled("cool-down", text, Tone.WARN)]


def guard_parts(rulings: Sequence[CallDecision], glyphs: Glyphs) -> list[Part]:
    if not rulings:
        nothing: Line = [Span("The guard has not denied any call.", Tone.MUTED)]
        return [Part("Guard log", [nothing])]
    allowed = sum(1 for ruling in rulings if ruling.scope is not None)
    counts = [plural(len(rulings) - allowed, "denial")]
    counts += [f"{allowed} allowed on request"] if allowed else []
    parts = [Part(f"Guard log: {', '.join(counts)}, newest first", [])]
    parts += [_decision_part(ruling, glyphs) for ruling in reversed(rulings)]
    return parts


_SCOPES = {
    "once": "allowed once",
    "session": "allowed for the session",
    "again": "allowed earlier for the session",
}


def _decision_part(ruling: CallDecision, glyphs: Glyphs) -> Part:
    iteration = f"iteration {ruling.iteration}" if ruling.iteration else "between iterations"
    by = f" {by_whom(ruling.by)}" if ruling.by else ""
    tone, rule, decided = Tone.WARN, ruling.reason, ""
    if ruling.scope is not None:
        tone, decided = Tone.OK, _SCOPES[ruling.scope] + by
    elif ruling.by:
        rule, decided = "", f"denied{by}: {ruling.reason}"
    lines = [
        [Span(f"{when(ruling.at)}  {iteration}  {ruling.tool}", Tone.MUTED)],
        labelled("evidence", one_line(ruling.part, 500), Tone.WARN) if ruling.part else None,
        labelled("rule", rule) if rule else None,
        labelled("decided", decided, tone) if decided else None,
        labelled("next", ruling.instead, Tone.ACCENT) if ruling.instead else None,
    ]
    sign = glyphs.denied if ruling.scope is None else glyphs.ok
    return Part(f"{sign} {ruling.rule}", [line for line in lines if line is not None])


_NEXT = {
    BreakerState.CLOSED: "Nothing. The breaker is closed, so iterations run.",
    BreakerState.HALF_OPEN: "Wait for the trial iteration. Progress closes the breaker, otherwise it opens again.",
    BreakerState.OPEN: "Fix what failed, then press {why.reset_breaker} to reset the breaker with a reason. A new run resets it, too.",
}


def breaker_view_parts(
    breaker: CircuitBreaker,
    steps: Iterable[BreakerChange],
    now: datetime,
    glyphs: Glyphs,
    keys: Keys,
) -> list[Part]:
    look = BREAKER[breaker.state]
    head: list[Line] = [
        [Span(f"{getattr(glyphs, look.glyph)} {look.word}", look.tone)],
        next_step(keys, _NEXT[breaker.state]),
        *(cooling(breaker, now) or [labelled("cool-down", _NOT_COOLING)]),
    ]
    parts = [Part("The circuit breaker", head), *breaker_parts(breaker, glyphs)]
    past = _past_states(steps)
    if past:
        parts.append(Part("History, newest first", past))
    return parts


_NOT_COOLING = (
    "none. It starts when an open breaker waits for you (circuit_breaker.cooldown_minutes)"
)


def _past_states(steps: Iterable[BreakerChange]) -> list[Line]:
    lines: list[Line] = []
    for step in reversed(list(steps)):
        look = BREAKER[step.breaker.state]
        counters = breaker_counts(step.breaker) or "all counters at zero"
        lines.append(
            [
                Span(f"{when(step.at)}  ", Tone.MUTED),
                Span(f"{look.word.ljust(10)}", look.tone),
                Span(counters + (f"  ({step.reason})" if step.reason else "")),
            ]
        )
    return lines
