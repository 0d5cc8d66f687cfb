"""What the frame above the panes says: before a run, how to start; after one, how it went."""

from dataclasses import dataclass
from datetime import datetime

from ralph_tui.domain.events import LoopFinished, LoopStatus
from ralph_tui.domain.plan import Task
from ralph_tui.domain.text import one_line
from ralph_tui.domain.view import LoopView, RunState
from ralph_tui.tui.glyphs import Glyphs
from ralph_tui.tui.render.board import Group, complete_ids, group_of
from ralph_tui.tui.render.figures import clock, money, plural
from ralph_tui.tui.render.spans import Line, Span, Tone, wrap
from ralph_tui.tui.render.states import RUN, Look


@dataclass(frozen=True, slots=True)
class Banner:
    """A title with its look, and paragraphs."""

    look: Look
    headline: str
    advice: str
    figures: str

    def lines(self, width: int) -> list[Line]:
        """The paragraphs at a width."""
        return [
            *([Span(text, Tone.TITLE)] for text in wrap(self.headline, width)),
            *([Span(text)] for text in wrap(self.advice, width)),
            *([Span(text, Tone.MUTED)] for text in wrap(self.figures, width) if text),
        ]


_ENDED = {LoopStatus.COMPLETE: RunState.COMPLETE, LoopStatus.ERROR: RunState.FAILED}


def banner_of(
    view: LoopView, finished: LoopFinished | None, request: str, *, glyphs: Glyphs
) -> Banner | None:
    """What to say while nothing runs."""
    if finished is not None:
        return _outcome(finished, glyphs)
    if view.run_state is RunState.LOST:
        return Banner(RUN[RunState.LOST], f"Disconnected: {view.detail}.", _LOST, "")
    if view.run_state is not RunState.IDLE:
        return None
    if view.tasks:
        return _ready(view, glyphs)
    return _asked_for(request) if request else _NO_PLAN


def limit_banner(view: LoopView, now: datetime) -> Banner | None:
    """What the loop waits for and how long, or None while it works."""
    if view.limit_until is None:
        return None
    left = clock((view.limit_until - now).total_seconds())
    at = view.limit_until.astimezone()
    return Banner(
        RUN[RunState.LIMITED],
        f"Goes on by itself in {left}, at {at:%H:%M}.",
        "Nothing is spent and no iteration is counted. Press w to try now, x to stop.",
        view.detail,
    )


_LOST = (
    "What it did is safe in .ralph/. Press b to go on from there; a task left half done goes back to "
    "the board. Another loop that starts here is shown by itself."
)


def _asked_for(request: str) -> Banner:
    headline = f"Asked for: {one_line(request, 300)}"
    advice = "There is no plan yet. Press b to go on, n to ask for something else."
    return Banner(Look("idle", "ready", Tone.INFO), headline, advice, "")


_NO_PLAN = Banner(
    Look("idle", "no tasks yet", Tone.WARN),
    "There is no plan to build.",
    "Press n and say what to build. Or put tasks into .ralph/implementation_plan.json "
    "(ralph init makes one); they appear here as soon as the file is saved.",
    "",
)


def _ready(view: LoopView, glyphs: Glyphs) -> Banner:
    done = complete_ids(view.tasks.values())
    sizes = dict.fromkeys(Group, 0)
    for task in view.tasks.values():
        sizes[group_of(task, done)] += 1
    counts = f" {glyphs.between} ".join(f"{n:,} {group}" for group, n in sizes.items() if n)
    following = _next(view, done)
    if following is None:
        headline = (
            "Every task is complete."
            if sizes[Group.DONE] == len(view.tasks)
            else ("No task is ready: what is left is blocked or waits for something that is.")
        )
        return Banner(Look("idle", "idle", Tone.WARN), headline, _STUCK, counts)
    headline = f"Ready to build: next is {following.id}, {following.title}"
    advice = "Press b to start. Nothing is spent before that."
    return Banner(Look("idle", "ready", Tone.INFO), headline, advice, counts)


_STUCK = "Edit the plan, or select a blocked task and press t to try it again."


def _next(view: LoopView, done: frozenset[str]) -> Task | None:
    ready = (t for t in view.tasks.values() if group_of(t, done) in (Group.READY, Group.WORKING))
    return min(ready, key=lambda task: task.priority, default=None)


def _outcome(e: LoopFinished, glyphs: Glyphs) -> Banner:
    look = RUN[_ENDED.get(e.status, RunState.STOPPED)]
    again = "" if e.status is LoopStatus.COMPLETE else "b to start again, "
    keys = f"Press {again}enter to look at an entry, q to leave."
    figures = [
        f"{e.tasks_complete} of {plural(e.tasks_total, 'task')} complete" if e.tasks_total else "",
        plural(e.iterations, "iteration"),
        money(e.cost_usd),
        clock(e.seconds),
        f"exit {e.exit_code}",
    ]
    between = f" {glyphs.between} ".join(f for f in figures if f)
    return Banner(look, e.reason, f"{e.hint} {keys}".strip(), between)
