"""Show the guard's log and the breaker's history, with labeled rows. Pure functions."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from ralph_tui.domain.events import BreakerChanged, ToolAllowed
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.run.breaker import BreakerState, CircuitBreaker
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.run_history import CallDecision
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
    allowed = sum(isinstance(ruling.event, ToolAllowed) for ruling in rulings)
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
    number, e = ruling
    iteration = f"iteration {number}" if number else "between iterations"
    by = f" {by_whom(e.by)}" if e.by else ""
    sign, tone, rule, decided, instead = glyphs.denied, Tone.WARN, e.reason, "", ""
    if isinstance(e, ToolAllowed):
        sign, tone, decided = glyphs.ok, Tone.OK, _SCOPES[e.scope] + by
    else:
        instead = e.instead
        rule, decided = ("", f"denied{by}: {rule}") if e.by else (rule, "")
    rows = (
        labelled("evidence", one_line(e.part, 500), Tone.WARN) if e.part else None,
        labelled("rule", rule) if rule else None,
        labelled("decided", decided, tone) if decided else None,
        labelled("next", instead, Tone.ACCENT) if instead else None,
    )
    head = [Span(f"{when(e.time)}  {iteration}  {e.name}", Tone.MUTED)]
    return Part(f"{sign} {e.rule}", [head, *filter(None, rows)])


_NEXT = {
    BreakerState.CLOSED: "Nothing. The breaker is closed, so iterations run.",
    BreakerState.HALF_OPEN: "Wait for the trial iteration. Progress closes the breaker, otherwise it opens again.",
    BreakerState.OPEN: "Fix what failed, then press {why.reset_breaker} to reset the breaker with a reason. A new run resets it, too.",
}


def breaker_view_parts(
    breaker: CircuitBreaker,
    steps: Iterable[BreakerChanged],
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


def _past_states(steps: Iterable[BreakerChanged]) -> list[Line]:
    lines: list[Line] = []
    for step in reversed(list(steps)):
        look = BREAKER[step.breaker.state]
        counters = breaker_counts(step.breaker) or "all counters at zero"
        lines.append(
            [
                Span(f"{when(step.time)}  ", Tone.MUTED),
                Span(f"{look.word.ljust(10)}", look.tone),
                Span(counters + (f"  ({step.reason})" if step.reason else "")),
            ]
        )
    return lines
