"""The banner above the panes: how to start before a run, and how the run went after it. Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from ralph_tui.domain.events import LoopFinished, Notice
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import DECISIONS
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import LoopView, RunState
from ralph_tui.domain.view.reducer import END_STATES
from ralph_tui.present.board.board_rows import (
    LOOK_BACK,
    NO_PLAN,
    group_sizes,
    next_task,
    nothing_ready,
    why_not_build,
)
from ralph_tui.present.events.event_sentences import unfinished
from ralph_tui.present.events.run_result import result_facts
from ralph_tui.present.text.figures import breaker_counts, in_and_at, in_local
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.key_hints import Keys, commands_as_keys, hint
from ralph_tui.present.text.spans import Line, Span, Tone, flow, wrap
from ralph_tui.present.text.status_labels import RUN, UNREADABLE, Look


@dataclass(frozen=True, slots=True)
class Banner:
    """The content of the banner: a state, a headline and paragraphs."""

    look: Look
    headline: str
    advice: Line
    figures: str
    facts: Mapping[str, str] = field(default_factory=dict)
    """The result of a run, by label."""
    findings: tuple[Line, ...] = ()
    """Lines that the activity also shows, for screens without it."""

    def lines(self, width: int, *, alone: bool = False) -> list[Line]:
        """Return the content folded to a width; `alone` adds the findings, for a screen without the activity."""
        label_width = max((9, *map(len, self.facts))) + 1
        return [
            *([Span(text, Tone.TITLE)] for text in wrap(self.headline, width)),
            *(
                [Span(f"{'' if number else label:<{label_width}}", Tone.MUTED), Span(line)]
                for label, text in self.facts.items()
                for number, line in enumerate(wrap(text, max(10, width - label_width)))
            ),
            *flow(self.advice, width),
            *([Span(text, Tone.MUTED)] for text in wrap(self.figures, width) if text),
            *(piece for line in self.findings if alone for piece in flow(line, width, indent=2)),
        ]


def banner_of(
    view: LoopView,
    finished: LoopFinished | None,
    request: str | None,
    *,
    glyphs: Glyphs,
    keys: Keys,
    plans: Sequence[str] = (),
) -> Banner | None:
    """Return the banner that says what a person can do while nothing runs, or None while the loop runs."""
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
        return Banner(_BROKEN, "The plan cannot be built as it is.", advice, _CORRECT_PLAN)
    if view.awaits is not None:
        look = Look("asking", "waiting for you", Tone.WARN)
        headline = f"Ralph needs your approval of {DECISIONS[view.awaits]}."
        advice = hint(keys, "Press {build} to see it and decide. Nothing is spent until then.")
        return Banner(look, headline, advice, "")
    return _ready(view, glyphs, keys) if view.tasks else _without_plan(request, plans, keys)


def _without_plan(request: str | None, plans: Sequence[str], keys: Keys) -> Banner:
    if request:
        headline = f"Request: {one_line(request, 300)}"
        advice = hint(
            keys,
            "There is no plan yet. Press {build} to continue, or {request} to change the request.",
        )
        return Banner(Look("idle", "ready", Tone.INFO), headline, advice, "")
    if plans:
        others = plural(len(plans) - 1, "other file")
        advice = hint(
            keys,
            "{file} {are}. Press {import_plan} to preview the import, or {request} to describe what to build.",
            file=one_line(plans[0], 200),
            are=f"and {others} are plans of other tools"
            if len(plans) > 1
            else "is a plan of another tool",
        )
    else:
        advice = hint(
            keys,
            "Press {request} to describe what to build, or {add} to add a task. Tasks that you save in "
            ".ralph/implementation_plan.json (created by ralph init) appear here.",
        )
    return Banner(Look("idle", "no tasks yet", Tone.WARN), NO_PLAN, advice, "")


def trouble_banner(view: LoopView) -> Banner:
    is_plan = _PLAN_FILE in view.trouble
    look = _BROKEN if is_plan else UNREADABLE
    what = (
        "plan cannot be read, so nothing can be built"
        if is_plan
        else "project cannot be read right now"
    )
    older = "Showing the last version that could be read. " if view.is_known else ""
    return Banner(
        look, f"The {what}.", [Span(one_line(view.trouble, 1_000))], f"{older}{_KEEPS_TRYING}"
    )


def unfinished_banner(view: LoopView) -> Banner:
    return Banner(
        _BEING_WRITTEN, f"{unfinished(view.unfinished)}.", [Span(_LAST_VERSION_SHOWN)], ""
    )


_BEING_WRITTEN = Look("note", "a file is being written", Tone.INFO)
_LAST_VERSION_SHOWN = (
    "You still see the last complete version. This message disappears once the file is complete."
)

_PLAN_FILE = "implementation_plan.json"
_BROKEN = Look("failed", "broken plan", Tone.BAD)
_CORRECT_PLAN = "Correct .ralph/implementation_plan.json. Saved changes appear here at once."
_KEEPS_TRYING = "Continues automatically once it can be read."


MOST_FINDINGS = 3


def with_findings(
    banner: Banner | None, found: Sequence[Notice], glyphs: Glyphs, keys: Keys
) -> Banner | None:
    """Return the banner with the notices from before a run, such as limits and problems."""
    if banner is None or not found:
        return banner
    lines = [_finding_line(notice, glyphs) for notice in found[:MOST_FINDINGS]]
    if more := len(found) - MOST_FINDINGS:
        rest = hint(keys, "{more} more in the activity: {activity}", Tone.MUTED, more=str(more))
        lines += [rest] if more > 0 else []
    return replace(banner, findings=tuple(lines))


def _finding_line(notice: Notice, glyphs: Glyphs) -> Line:
    if notice.level == "info":
        return [Span(notice.text, Tone.MUTED)]
    tone = Tone.BAD if notice.level == "error" else Tone.WARN
    glyph = glyphs.failed if notice.level == "error" else glyphs.warning
    return [Span(f"{glyph} ", tone), Span(notice.text, tone)]


def waiting_banner(view: LoopView, now: datetime, keys: Keys) -> Banner | None:
    """Return the banner that says what the loop waits for and how long, or None while it works."""
    if view.limit_until is not None:
        return Banner(
            RUN[RunState.LIMITED],
            f"Resumes automatically {in_and_at(view.limit_until, now)}.",
            hint(keys, _LIMITED),
            view.detail,
        )
    cooled = view.breaker.half_open_at
    if cooled is None or not view.breaker.is_cooling:
        return None
    return Banner(
        Look("failed", "breaker open", Tone.BAD),
        f"Retrying once, automatically, {in_and_at(cooled, now)}.",
        hint(keys, _COOLING),
        breaker_counts(view.breaker),
    )


_LIMITED = "Waiting costs nothing and does not count as an iteration. Press {hurry} to retry now, {stop} to stop."

_COOLING = (
    "Nothing is spent until then. Press {hurry} to retry now, {answer} to decide, {why} to see why or reset "
    "the breaker, {stop} to stop."
)

_LOST = (
    "Its work is saved in .ralph/. Press {build} to continue. An unfinished task returns to the queue. If "
    "another loop starts here, it appears automatically."
)


def _ready(view: LoopView, glyphs: Glyphs, keys: Keys) -> Banner:
    sizes = group_sizes(view.tasks.values())
    counts = f" {glyphs.between} ".join(f"{n:,} {group}" for group, n in sizes.items() if n)
    following = next_task(view.tasks.values())
    if view.finished and view.last is not None and view.last.exit_code == 0:
        return _outcome(view, view.last, keys, again=False)
    if view.finished:
        return Banner(RUN[RunState.COMPLETE], _FINISHED, hint(keys, _AFTER_FINISH), counts)
    if following is None:
        headline, todo = nothing_ready(sizes)
        return Banner(Look("idle", "idle", Tone.WARN), headline, hint(keys, todo), counts)
    headline = f"Ready to build. Next: {following.id}, {following.title}"
    advice = hint(keys, "Press {build} to start. Nothing is spent until then.")
    return Banner(Look("idle", "ready", Tone.INFO), headline, advice, counts)


_FINISHED = "Finished. The request is built and validated."
_AFTER_FINISH = (
    "Press {request} for a new request, {iterations} for changes, {memory} for the specs and the report, "
    "{history} for costs."
)


_LOOK_AND_LEAVE = "{detail} to see an entry, {quit} to quit."


def _outcome(view: LoopView, e: LoopFinished, keys: Keys, *, again: bool) -> Banner:
    look = RUN[END_STATES.get(e.status, RunState.STOPPED)]
    begin = "{build} to start again, " if again else ""
    built = e.status is LoopStatus.COMPLETE and 0 < e.tasks_total == e.tasks_complete
    todo = f"{LOOK_BACK}, {{quit}} to quit." if built else f"Press {begin}{_LOOK_AND_LEAVE}"
    advice = hint(keys, todo)
    reason, facts = in_local(e.reason, e.time), result_facts(view.tasks.values(), e)
    dot = "" if not reason or reason.endswith((".", "!", "?", "…")) else "."
    return Banner(
        look,
        f"{reason[:1].upper()}{reason[1:]}{dot}",
        [*commands_as_keys(keys, in_local(f"{e.hint} ".lstrip(), e.time)), *advice],
        "",
        {name: text for name, text in facts.items() if name != "Next"},  # the advice says it
    )
