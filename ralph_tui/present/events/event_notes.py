"""Events that become one note in the stream, as a table."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ralph_tui.domain import events as ev
from ralph_tui.domain.formatting import duration, took
from ralph_tui.domain.labels import ENDS, FAILURES
from ralph_tui.domain.permissions import answer_told
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import DECISIONS, Phase
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.domain.verification.review import criteria_count, evidence_lines
from ralph_tui.domain.verification.verification import GateResult
from ralph_tui.present.text.figures import breaker_counts, clock, in_local, money, plural, tokens
from ralph_tui.present.text.spans import Tone


@dataclass(frozen=True, slots=True)
class Note:
    """The content of a `NoteEntry`, before it has a number."""

    glyph: str
    label: str
    text: str
    tone: Tone = Tone.MUTED
    right: str = ""
    more: str = ""


def question_asked(e: ev.QuestionAsked) -> Note:
    """A question with its options, or a call that needs permission."""
    asked = e.question
    options = "\n".join(f"{o.label}  {o.description}".rstrip() for o in asked.question.options)
    if asked.permission is not None:
        more = f"{asked.permission.argument}\n\n{asked.permission.reason}\n\n{options}"
        return Note("asking", "allow?", asked.question.question, Tone.WARN, more=more)
    return Note("asking", "question", asked.question.question, Tone.WARN, more=options)


def question_answered(e: ev.QuestionAnswered) -> Note:
    """What was answered, and by whom."""
    answer = e.question.answer
    if answer is None:
        return Note("asking", "question", "withdrawn: the session that asked is gone")
    told = answer_told(e.question)
    plain = e.question.permission is None and not answer.declined
    return Note("asking", "answer", told, Tone.INFO if plain else Tone.WARN, f"by {answer.by}")


def uncalled_allowed(e: ev.ToolAllowed) -> Note:
    """What was asked about beside the calls: a host."""
    return Note("ok", "reach", e.part, right=f"allowed by {e.by}" if e.by else "allowed before")


def uncalled_denied(e: ev.ToolDenied) -> Note:
    """What was asked about beside the calls, and denied."""
    by = f"denied by {e.by}" if e.by else "denied"
    return Note("denied", "reach", e.part, Tone.WARN, by, more=f"Rule: {e.rule}\n{e.reason}")


def approval_requested(e: ev.ApprovalRequested) -> Note:
    """What waits for a decision."""
    about = f": {in_local(e.summary, e.time)}" if e.summary else ""
    return Note("asking", "approval", f"of {DECISIONS[e.kind]} is needed{about}", Tone.WARN)


def approval_given(e: ev.ApprovalGiven) -> Note:
    """The decision."""
    verdict = "given" if e.approved else "refused"
    text = f"of {DECISIONS[e.kind]} {verdict}" + (f": {e.reason}" if e.reason else "")
    look = ("ok", Tone.OK) if e.approved else ("failed", Tone.WARN)
    return Note(look[0], "approval", text, look[1], f"by {e.by}" if e.by else "")


def specs_checked(e: ev.SpecsChecked) -> Note:
    """Which specs are whole."""
    good = plural(len(e.valid), "spec")
    if not e.problems:
        return Note("ok", "specs", f"{good} read", Tone.OK, more="\n".join(e.valid))
    wrong = "\n".join(f"{name}: {'; '.join(found)}" for name, found in e.problems.items())
    text = f"{good} read, {len(e.problems)} with problems"
    return Note("warning", "specs", text, Tone.WARN, more=wrong)


def validation_finished(e: ev.ValidationFinished) -> Note:
    """The verdict of a round."""
    look = ("ok", Tone.OK) if e.passed else ("failed", Tone.BAD)
    verdict = "passed" if e.passed else f"failed: {plural(len(e.failures), 'finding')}"
    more = "\n".join((e.summary, *e.failures)).strip()
    return Note(look[0], "validate", f"round {e.round} {verdict}", look[1], more=more)


def limit_wait(e: ev.LimitWait) -> Note:
    """Until when the loop waits."""
    until = f"until {clock(e.until, e.time)}"
    return Note("retry", "waiting", e.message or "for the usage limit", Tone.WARN, until)


_PHASES = frozenset(Phase)
"""What a phase without tasks is worked and checked as."""

_END = {
    ev.LoopStatus.COMPLETE: ("ok", Tone.OK),
    ev.LoopStatus.STOPPED: ("stop", Tone.WARN),
    ev.LoopStatus.USAGE_LIMIT: ("stop", Tone.WARN),
    ev.LoopStatus.INTERRUPTED: ("interrupted", Tone.WARN),
    ev.LoopStatus.ERROR: ("failed", Tone.BAD),
    ev.LoopStatus.WAITING: ("asking", Tone.WARN),
}

_OUTCOME = {
    ev.IterationOutcome.COMPLETE: ("ok", Tone.OK),
    ev.IterationOutcome.INCOMPLETE: ("warning", Tone.WARN),
    ev.IterationOutcome.BLOCKED: ("blocked", Tone.BAD),
    ev.IterationOutcome.HANDED_OFF: ("handoff", Tone.INFO),
    ev.IterationOutcome.FAILED: ("failed", Tone.BAD),
    ev.IterationOutcome.INTERRUPTED: ("interrupted", Tone.WARN),
    ev.IterationOutcome.SKIPPED: ("skipped", Tone.MUTED),
    ev.IterationOutcome.SENT_BACK: ("retry", Tone.WARN),
}

_LEVEL = {
    "info": ("note", Tone.MUTED),
    "warning": ("warning", Tone.WARN),
    "error": ("failed", Tone.BAD),
}


def _loop_started(e: ev.LoopStarted) -> Note:
    bounds = f"at most {plural(e.max_iterations, 'iteration')}" if e.max_iterations else ""
    parts = [f"phase {e.phase}", e.model, bounds]
    return Note("current", "loop started", ", ".join(p for p in parts if p), Tone.INFO)


def _loop_finished(e: ev.LoopFinished) -> Note:
    glyph, tone = _END[e.status]
    right = f"{money(e.cost_usd)}  {took(e.seconds)}"
    return Note(glyph, f"loop {ENDS[e.status]}", e.reason, tone, right, e.hint)


def _plan_loaded(e: ev.PlanLoaded) -> Note:
    size = plural(len(e.tasks), "task")
    who = {"disk": "changed on disk: ", "here": "you changed it: "}.get(e.source, "")
    return Note("note", "plan", f"{who}{size}", Tone.INFO if who else Tone.MUTED)


def _task_changed(e: ev.TaskChanged) -> Note | None:
    blocked = e.task.status is TaskStatus.BLOCKED
    held = e.task.is_held
    if not (e.reason or blocked):
        return None
    word = "held" if held else e.task.status.replace("_", " ")
    why = e.reason or "; ".join(e.task.blockers)
    glyph, tone = ("blocked", Tone.BAD) if blocked else ("note", Tone.MUTED)
    if held:
        glyph, tone = "pause", Tone.WARN
    return Note(glyph, "task", f"{e.task.id} is {word}" + (f": {why}" if why else ""), tone)


def _iteration_finished(e: ev.IterationFinished) -> Note:
    glyph, tone = _OUTCOME[e.outcome]
    files = plural(len(e.files_changed), "file") if e.files_changed else ""
    text = ": ".join(p for p in (e.outcome.replace("_", " "), e.reason) if p)
    right = "  ".join(p for p in (files, money(e.cost_usd), took(e.seconds)) if p)
    more = f"{tokens(e.tokens)} tokens used\n" + "\n".join(e.files_changed)
    return Note(glyph, f"iteration {e.iteration}", text, tone, right, more.strip())


def _session_started(e: ev.SessionStarted) -> Note:
    parts = [e.model, plural(len(e.tools), "tool"), f"CLI {e.cli_version}" if e.cli_version else ""]
    text = f"fresh context, {', '.join(p for p in parts if p)}"
    return Note("note", "session", text, more="\n".join(e.tools))


def _gate_started(e: ev.GateStarted) -> Note:
    running = f"running {plural(len(e.commands), 'check')}"
    text = running if e.task_id in _PHASES else f"{e.task_id} is claimed complete; {running}"
    return Note("verifying", "gate", text, Tone.INFO, more="\n".join((e.notes, *e.commands)))


def _gate_finished(e: ev.GateFinished) -> Note:
    failed, phase = sum(1 for receipt in e.receipts if not receipt.ok), e.task_id in _PHASES
    more = "\n".join(("Criteria in prose, not run:", *e.unchecked)) if e.unchecked else ""
    result = GateResult(task_id=e.task_id, receipts=e.receipts)
    if e.reviewed:
        return Note("note", "gate", f"{result.basis}; a reviewer judges the rest", more=more)
    if e.passed:
        word = "unverified" if e.unverified else "accepted"
        text = result.basis if phase else f"{word}: {e.task_id}, {result.basis}"
        if not e.unverified:
            return Note("ok", "gate", text, Tone.OK, more=more)
        return Note("warning", "gate", text, Tone.WARN, more=more)
    total = plural(len(e.receipts), "check")
    text = f"not yet: {failed} of {total} failed{'' if phase else ', the agent was told'}"
    return Note("failed", "gate", text, Tone.BAD, more=more)


def _review_started(e: ev.ReviewStarted) -> Note:
    text = f"judging {criteria_count(e.criteria)} of {e.task_id}"
    return Note("verifying", "review", text, Tone.INFO, e.model, more="\n".join(e.criteria))


def _review_finished(e: ev.ReviewFinished) -> Note:
    review, cost = e.review, money(e.review.cost_usd)
    more = "\n".join(evidence_lines(review))
    if review.agreed:
        return Note("ok", "review", f"{e.task_id}: {review.told}", Tone.OK, cost, more)
    glyph, tone = ("failed", Tone.BAD) if review.rejected else ("warning", Tone.WARN)
    return Note(glyph, "review", f"{e.task_id}: {review.told}", tone, cost, more)


def _handoff_finished(e: ev.HandoffFinished) -> Note:
    how = "" if e.summarised else " from what ralph knows; the model gave no summary"
    return Note("handoff", "hand-off", f"{e.path} written{how}", Tone.INFO)


def _breaker_changed(e: ev.BreakerChanged) -> Note | None:
    closed, counts = e.breaker.state is BreakerState.CLOSED, breaker_counts(e.breaker)
    if closed and not (e.reason or counts):
        return None
    if closed and counts:  # why is said of the iteration
        return Note("warning", "breaker", counts, Tone.WARN)
    state = e.breaker.state.replace("_", "-")
    text = f"{state}: {e.reason}" if e.reason else state
    if closed:
        return Note("note", "breaker", text)
    tone = Tone.BAD if e.breaker.state is BreakerState.OPEN else Tone.WARN
    return Note("warning", "breaker", text, tone)


def _api_retry(e: ev.ApiRetry) -> Note:
    status = f" ({e.status})" if e.status else ""
    what = e.error or "the model did not answer"
    text = f"{what}{status}; asking again in {duration(e.delay_seconds)}"
    return Note("retry", "waiting", text, Tone.WARN, f"{e.attempt}/{e.max_attempts}")


def _agent_failed(e: ev.AgentFailed) -> Note:
    return Note("failed", FAILURES[e.failure], f"{e.message} {e.hint}".strip(), Tone.BAD)


def _notice(e: ev.Notice) -> Note:
    glyph, tone = _LEVEL[e.level]
    return Note(glyph, "notice" if e.level == "info" else e.level, e.text, tone)


def unfinished(names: Sequence[str]) -> str:
    """What is to be said of files that are not whole, without its full stop."""
    verb = "is" if len(names) == 1 else "are"
    return f"{', '.join(names)} {verb} being written by another program, or cannot be read"


def _files_unfinished(e: ev.FilesUnfinished) -> Note:
    if not e.names:
        return Note("ok", "files", "whole again")
    return Note("note", "files", f"{unfinished(e.names)}; what was there before holds", Tone.INFO)


def _loop_found(e: ev.LoopFound) -> Note:
    where = f"process {e.pid}" + (f" on {e.host}" if e.host else "")
    return Note(
        "current", "attached", f"the loop runs in {where}; quitting leaves it alone", Tone.INFO
    )


def _loop_lost(e: ev.LoopLost) -> Note:
    return Note("interrupted", "detached", f"process {e.pid} does not run the loop any more")


def _pause_requested(e: ev.PauseRequested) -> Note:
    return Note("pause", "pause", "now" if e.now else "after this iteration", Tone.WARN)


def _stop_requested(e: ev.StopRequested) -> Note:
    return Note("stop", "stop", "now" if e.now else "after this iteration", Tone.WARN)


def _limits_changed(e: ev.LimitsChanged) -> Note:
    return Note("note", "limits", f"changed for this run: {e.adjusted.told}", Tone.INFO)


_TABLE: dict[type[ev.EventBase], Callable[[Any], Note | None]] = {
    ev.LoopStarted: _loop_started,
    ev.LoopFinished: _loop_finished,
    ev.PhaseChanged: lambda e: Note("current", "phase", f"{e.phase}: {e.reason}", Tone.INFO),
    ev.PlanLoaded: _plan_loaded,
    ev.TaskChanged: _task_changed,
    ev.IterationFinished: _iteration_finished,
    ev.SessionStarted: _session_started,
    ev.GateStarted: _gate_started,
    ev.GateFinished: _gate_finished,
    ev.ReviewStarted: _review_started,
    ev.ReviewFinished: _review_finished,
    ev.LearningRecorded: lambda e: Note(
        "learned", "learned", f"{e.category.lower()}: {e.text}", Tone.INFO
    ),
    ev.InjectionQueued: lambda e: Note("guidance", "guidance", f"waits: {e.text}", Tone.INFO),
    ev.InjectionConsumed: lambda e: Note(
        "guidance", "guidance", f"given to iteration {e.iteration}", Tone.INFO
    ),
    ev.HandoffStarted: lambda e: Note("handoff", "hand-off", e.reason, Tone.INFO),
    ev.HandoffFinished: _handoff_finished,
    ev.BreakerChanged: _breaker_changed,
    ev.LimitReached: lambda e: Note("warning", "limit", e.message, Tone.WARN),
    ev.ApiRetry: _api_retry,
    ev.AgentFailed: _agent_failed,
    ev.PauseRequested: _pause_requested,
    ev.LoopPaused: lambda _: Note("pause", "paused", "until you resume it", Tone.WARN),
    ev.LoopResumed: lambda _: Note("current", "resumed", "the loop goes on", Tone.INFO),
    ev.StopRequested: _stop_requested,
    ev.LimitsChanged: _limits_changed,
    ev.FilesUnfinished: _files_unfinished,
    ev.Notice: _notice,
    ev.ProjectRead: lambda _: Note("ok", "notice", "the project can be read again", Tone.INFO),
    ev.ProjectUnreadable: lambda e: Note("failed", "error", e.reason, Tone.BAD),
    ev.LoopFound: _loop_found,
    ev.LoopLost: _loop_lost,
    ev.ToolAllowed: uncalled_allowed,
    ev.ToolDenied: uncalled_denied,
    ev.QuestionAsked: question_asked,
    ev.QuestionAnswered: question_answered,
    ev.ApprovalRequested: approval_requested,
    ev.ApprovalGiven: approval_given,
    ev.SpecsChecked: specs_checked,
    ev.ValidationFinished: validation_finished,
    ev.LimitWait: limit_wait,
    ev.AllowanceReported: lambda e: Note(
        "current", "allowance", f"{e.allowance.percent:.0f} % of the {e.allowance.name} window used"
    ),
    ev.LimitWaitEnded: lambda e: Note("current", "limit", e.why or "the wait is over", Tone.INFO),
}


def note_of(event: ev.Event) -> Note | None:
    """The note an event becomes, or None when it is shown another way or not at all."""
    make = _TABLE.get(type(event))
    return make(event) if make else None
