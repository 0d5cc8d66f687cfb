"""Define how states look in every part of the screen: sign, word and tone."""

from typing import NamedTuple

from ralph_tui.domain.outcomes import IterationOutcome, LoopStatus
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.domain.run.context_budget import Zone
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.verification.verification import ReceiptStatus
from ralph_tui.domain.view.loop_view import LoadState, LoopView, RunState
from ralph_tui.present.text.spans import Tone


class Look(NamedTuple):
    """The name of a sign, a word and a tone."""

    glyph: str
    word: str
    tone: Tone


RUN: dict[RunState, Look] = {
    RunState.IDLE: Look("idle", "idle", Tone.MUTED),
    RunState.STARTING: Look("running", "starting", Tone.INFO),
    RunState.RUNNING: Look("running", "running", Tone.OK),
    RunState.VERIFYING: Look("verifying", "verifying", Tone.INFO),
    RunState.HANDING_OFF: Look("handoff", "handing off", Tone.INFO),
    RunState.RETRYING: Look("retry", "retrying", Tone.WARN),
    RunState.WAITING: Look("asking", "waiting for you", Tone.WARN),
    RunState.LIMITED: Look("retry", "usage limit", Tone.WARN),
    RunState.PAUSING: Look("pause", "pausing", Tone.WARN),
    RunState.PAUSED: Look("pause", "paused", Tone.WARN),
    RunState.STOPPING: Look("stop", "stopping", Tone.WARN),
    RunState.COMPLETE: Look("ok", "complete", Tone.OK),
    RunState.STOPPED: Look("stop", "stopped", Tone.WARN),
    RunState.FAILED: Look("failed", "failed", Tone.BAD),
    RunState.LOST: Look("interrupted", "disconnected", Tone.BAD),
}

END: dict[LoopStatus, Look] = {
    LoopStatus.COMPLETE: Look("ok", "complete", Tone.OK),
    LoopStatus.STOPPED: Look("stop", "stopped", Tone.WARN),
    LoopStatus.USAGE_LIMIT: Look("stop", "usage limit", Tone.WARN),
    LoopStatus.WAITING: Look("asking", "waiting for approval", Tone.WARN),
    LoopStatus.ERROR: Look("failed", "failed", Tone.BAD),
    LoopStatus.INTERRUPTED: Look("interrupted", "interrupted", Tone.WARN),
}
"""How a run ended."""

OPENING = Look("idle", "opening", Tone.MUTED)
UNREADABLE = Look("failed", "unreadable", Tone.BAD)


def look_of(view: LoopView) -> Look:
    """Return the look of the loop's state; "opening" until the project is read."""
    if view.trouble:
        return UNREADABLE
    unread = view.sight is LoadState.NOTHING and view.run_state is RunState.IDLE
    if unread or view.sight is LoadState.PAST:
        return OPENING
    asks = bool(view.questions) or view.approval is not None
    if asks and view.run_state in (RunState.PAUSING, RunState.STOPPING):
        return RUN[RunState.WAITING]  # the iteration cannot end until the person answers
    done = view.finished and view.run_state is RunState.IDLE
    return RUN[RunState.COMPLETE if done else view.run_state]


def reading(view: LoopView) -> str:
    if view.sight is LoadState.PAST:
        return f"reading the run so far: {view.caught_up} %"
    return "reading the project"


BUSY = frozenset(
    {
        RunState.STARTING,
        RunState.RUNNING,
        RunState.VERIFYING,
        RunState.HANDING_OFF,
        RunState.PAUSING,
        RunState.STOPPING,
    }
)
"""States in which the spinner turns."""

ZONE: dict[Zone, Look] = {
    Zone.UNDER: Look("no_dot", "plenty left", Tone.OK),
    Zone.SMART: Look("dot", "smart zone", Tone.INFO),
    Zone.DANGER: Look("warning", "hand-off due", Tone.WARN),
    Zone.OVER: Look("failed", "over the limit", Tone.BAD),
}

BREAKER: dict[BreakerState, Look] = {
    BreakerState.CLOSED: Look("ok", "closed", Tone.OK),
    BreakerState.HALF_OPEN: Look("warning", "half-open", Tone.WARN),
    BreakerState.OPEN: Look("failed", "open", Tone.BAD),
}

ITERATION: dict[IterationOutcome | None, Look] = {
    IterationOutcome.COMPLETE: Look("ok", "complete", Tone.OK),
    IterationOutcome.INCOMPLETE: Look("warning", "incomplete", Tone.WARN),
    IterationOutcome.BLOCKED: Look("blocked", "blocked", Tone.BAD),
    IterationOutcome.HANDED_OFF: Look("handoff", "handed off", Tone.INFO),
    IterationOutcome.FAILED: Look("failed", "failed", Tone.BAD),
    IterationOutcome.INTERRUPTED: Look("interrupted", "interrupted", Tone.WARN),
    IterationOutcome.SKIPPED: Look("skipped", "skipped", Tone.MUTED),
    IterationOutcome.SENT_BACK: Look("retry", "sent back", Tone.WARN),
    None: Look("interrupted", "cut off", Tone.WARN),
}

RECEIPT: dict[ReceiptStatus, Look] = {
    ReceiptStatus.PASSED: Look("ok", "passed", Tone.OK),
    ReceiptStatus.FAILED: Look("failed", "failed", Tone.BAD),
    ReceiptStatus.TIMED_OUT: Look("failed", "timed out", Tone.BAD),
    ReceiptStatus.DENIED: Look("denied", "denied", Tone.WARN),
    ReceiptStatus.SKIPPED: Look("skipped", "skipped", Tone.MUTED),
    ReceiptStatus.RED_BEFORE: Look("warning", "already failing", Tone.WARN),
}


STEP: dict[StepOutcome, Look] = {
    StepOutcome.DONE: Look("ok", "done", Tone.OK),
    StepOutcome.FAILED: Look("failed", "failed", Tone.BAD),
    StepOutcome.SKIPPED: Look("skipped", "skipped", Tone.WARN),
    StepOutcome.INTERRUPTED: Look("interrupted", "interrupted", Tone.WARN),
}
