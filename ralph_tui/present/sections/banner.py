"""Writes the banner above the panes: before a run, how to start; after one, how it went. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ralph_tui.domain.events import LoopFinished, LoopStatus, Notice
from ralph_tui.domain.formatting import duration, plural
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import LoopView, RunState
from ralph_tui.present.board.board_rows import (
    LOOK_BACK,
    NO_PLAN,
    next_task,
    nothing_ready,
    sizes_of,
    why_not_build,
)
from ralph_tui.present.events.event_sentences import unfinished
from ralph_tui.present.events.run_result import result_facts
from ralph_tui.present.text.figures import breaker_counts, clock, in_local
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.key_hints import Keys, commands_as_keys, hint
from ralph_tui.present.text.spans import Line, Span, Tone, flow, wrap
from ralph_tui.present.text.status_labels import RUN, UNREADABLE, Look


@dataclass(frozen=True, slots=True)
class Banner:
    """A state, a headline and paragraphs."""

    look: Look
    headline: str
    advice: Line
    figures: str
    facts: Mapping[str, str] = field(default_factory=dict)
    """What a run came to, by label."""
    told: tuple[Line, ...] = ()
    """Lines that the activity has too, for a screen without it."""

    def lines(self, width: int, *, alone: bool = False) -> list[Line]:
        """Fold the paragraphs to a width; `alone` adds what the activity says where that is out of sight."""
        return [
            *([Span(text, Tone.TITLE)] for text in wrap(self.headline, width)),
            *(line for label, text in self.facts.items() for line in _fact(label, text, width)),
            *flow(self.advice, width),
            *([Span(text, Tone.MUTED)] for text in wrap(self.figures, width) if text),
            *(piece for line in self.told if alone for piece in flow(line, width, indent=2)),
        ]


_LABEL = 10
"""Columns of a fact's label."""


def _fact(label: str, text: str, width: int) -> list[Line]:
    lines = wrap(text, max(10, width - _LABEL))
    return [
        [Span(f"{'' if number else label:<{_LABEL}}", Tone.MUTED), Span(line)]
        for number, line in enumerate(lines)
    ]


_ENDED = {LoopStatus.COMPLETE: RunState.COMPLETE, LoopStatus.ERROR: RunState.FAILED}


def banner_of(
    view: LoopView,
    finished: LoopFinished | None,
    request: str | None,
    *,
    glyphs: Glyphs,
    keys: Keys,
    plans: Sequence[str] = (),
) -> Banner | None:
    """Say what a person can do while nothing runs.

    Args:
        view: The loop as it is known.
        finished: How the last run ended, where this screen saw it.
        request: What was asked for and is not done yet; None while that is not known.
        glyphs: The signs to draw with.
        keys: The keys that the banner names.
        plans: Files of other tools that could be imported.

    Returns:
        The banner, or None while the loop runs.
    """
    if finished is not None:
        again = finished.status is not LoopStatus.COMPLETE and not why_not_build(view, request)
        return _outcome(view, finished, keys, again=again)
    if view.run_state is RunState.LOST:
        headline = f"Disconnected: {view.detail}."
        return Banner(RUN[RunState.LOST], headline, hint(keys, _LOST), "")
    if view.run_state is not RunState.IDLE:
        return None
    if view.unworkable:
        advice = [Span(one_line(view.unworkable, 1_000))]
        return Banner(_BROKEN, "The plan cannot be built as it is.", advice, _CORRECT)
    if view.tasks:
        return _ready(view, glyphs, keys)
    if request:
        return _asked_for(request, keys)
    return _importable(plans, keys) if plans else _no_plan(keys)


def trouble_banner(view: LoopView) -> Banner:
    """Say what cannot be read, and that ralph keeps trying."""
    plan = _PLAN in view.trouble
    look = _BROKEN if plan else UNREADABLE
    what = "plan cannot be read, so nothing can be built" if plan else "project cannot be read now"
    older = "What is shown was read before. " if view.is_known else ""
    return Banner(look, f"The {what}.", [Span(one_line(view.trouble, 1_000))], f"{older}{_AGAIN}")


def unfinished_banner(view: LoopView) -> Banner:
    """Say which file is being written; nothing is wrong with it yet."""
    return Banner(_WRITTEN, f"{unfinished(view.unfinished)}.", [Span(_BEFORE)], "")


_WRITTEN = Look("note", "a file is being written", Tone.INFO)
_BEFORE = "You still see the last complete version. This goes away as soon as the file is whole."

_PLAN = "implementation_plan.json"
_BROKEN = Look("failed", "broken plan", Tone.BAD)
_CORRECT = "Correct .ralph/implementation_plan.json; what is saved there shows here at once."
_AGAIN = "ralph continues as soon as it can be read."


MOST_FINDINGS = 3


def with_findings(
    banner: Banner | None, found: Sequence[Notice], glyphs: Glyphs, keys: Keys
) -> Banner | None:
    """Add what was found before a run: who works within which limits, and what is wrong.

    Args:
        banner: The banner to add to; None stays None.
        found: The notices, the most important first; at most `MOST_FINDINGS` are shown.
        glyphs: The signs to draw with.
        keys: The keys that the banner names.
    """
    if banner is None or not found:
        return banner
    lines = [_finding(notice, glyphs) for notice in found[:MOST_FINDINGS]]
    if more := len(found) - MOST_FINDINGS:
        rest = hint(keys, "{more} more in the activity: {activity}", Tone.MUTED, more=str(more))
        lines += [rest] if more > 0 else []
    return replace(banner, told=tuple(lines))


def _finding(notice: Notice, glyphs: Glyphs) -> Line:
    if notice.level == "info":
        return [Span(notice.text, Tone.MUTED)]
    tone = Tone.BAD if notice.level == "error" else Tone.WARN
    glyph = glyphs.failed if notice.level == "error" else glyphs.warning
    return [Span(f"{glyph} ", tone), Span(notice.text, tone)]


def waiting_banner(view: LoopView, now: datetime, keys: Keys) -> Banner | None:
    """Say what the loop waits for and how long; None while it works."""
    if view.limit_until is not None:
        return Banner(
            RUN[RunState.LIMITED],
            f"Continues automatically {_in_and_at(view.limit_until, now)}.",
            hint(keys, _LIMITED),
            view.detail,
        )
    cooled = view.breaker.half_open_at
    if cooled is None or not view.breaker.is_cooling:
        return None
    return Banner(
        Look("failed", "breaker open", Tone.BAD),
        f"One iteration is tried automatically {_in_and_at(cooled, now)}.",
        hint(keys, _COOLING),
        breaker_counts(view.breaker),
    )


def _in_and_at(until: datetime, now: datetime) -> str:
    left = duration(max(0.0, (until - now).total_seconds()))
    return f"in {left}, at {clock(until, now)}"


_LIMITED = "Nothing is spent and no iteration is counted. Press {hurry} to try now, {stop} to stop."

_COOLING = (
    "Nothing is spent until then. Press {hurry} to try now, {answer} to decide, {why} to see why and to "
    "reset it, {stop} to stop."
)

_LOST = (
    "What it did is safe in .ralph/. Press {build} to continue from there; a task left half done goes back "
    "to the board. Another loop that starts here appears automatically."
)


def _asked_for(request: str, keys: Keys) -> Banner:
    headline = f"Asked for: {one_line(request, 300)}"
    advice = hint(
        keys,
        "There is no plan yet. Press {build} to continue, {request} to ask for something else.",
    )
    return Banner(Look("idle", "ready", Tone.INFO), headline, advice, "")


def _importable(plans: Sequence[str], keys: Keys) -> Banner:
    """Offer the plan of another tool that is there."""
    one = "is a plan of another tool"
    several = f"and {plural(len(plans) - 1, 'other file')} are plans of other tools"
    advice = hint(
        keys,
        "{file} {are}. Press {import_plan} to see what an import would do, or {request} to say what to build.",
        file=one_line(plans[0], 200),
        are=one if len(plans) == 1 else several,
    )
    return Banner(Look("idle", "no tasks yet", Tone.WARN), NO_PLAN, advice, "")


def _no_plan(keys: Keys) -> Banner:
    advice = hint(
        keys,
        "Press {request} and say what to build, or {add} to add a task. Tasks that are written into "
        ".ralph/implementation_plan.json (ralph init makes one) appear here once it is saved.",
    )
    look = Look("idle", "no tasks yet", Tone.WARN)
    return Banner(look, NO_PLAN, advice, "")


def _ready(view: LoopView, glyphs: Glyphs, keys: Keys) -> Banner:
    sizes = sizes_of(view.tasks.values())
    counts = f" {glyphs.between} ".join(f"{n:,} {group}" for group, n in sizes.items() if n)
    following = next_task(view.tasks.values())
    if view.finished:
        return Banner(RUN[RunState.COMPLETE], _FINISHED, hint(keys, _MORE), counts)
    if following is None:
        headline, todo = nothing_ready(sizes)
        return Banner(Look("idle", "idle", Tone.WARN), headline, hint(keys, todo), counts)
    headline = f"Ready to build: next is {following.id}, {following.title}"
    advice = hint(keys, "Press {build} to start. Nothing is spent before that.")
    return Banner(Look("idle", "ready", Tone.INFO), headline, advice, counts)


_FINISHED = "Finished: what was asked for is built and validated."
_MORE = (
    "Press {request} to ask for more, {iterations} to see what was changed, {memory} for the specs and the "
    "report, {history} for what it took."
)


def _sentence(text: str) -> str:
    """Turn words that end a line elsewhere into a headline."""
    ends = text.endswith((".", "!", "?", "…"))
    return f"{text[:1].upper()}{text[1:]}{'' if ends or not text else '.'}"


_LOOK = "{detail} to look at an entry, {quit} to leave."


def _outcome(view: LoopView, e: LoopFinished, keys: Keys, *, again: bool) -> Banner:
    look = RUN[_ENDED.get(e.status, RunState.STOPPED)]
    begin = "{build} to start again, " if again else ""
    built = e.status is LoopStatus.COMPLETE and 0 < e.tasks_total == e.tasks_complete
    todo = f"{LOOK_BACK} {{quit}} leaves." if built else f"Press {begin}{_LOOK}"
    advice = hint(keys, todo)
    return Banner(
        look,
        _sentence(in_local(e.reason, e.time)),
        [*commands_as_keys(keys, in_local(f"{e.hint} ".lstrip(), e.time)), *advice],
        "",
        result_facts(view.tasks.values(), e),
    )
