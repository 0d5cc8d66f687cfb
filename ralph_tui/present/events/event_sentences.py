"""Put each event into one sentence, for both the stream and the log.

The stream on the screen has a column for the label. The log has no columns and shows `line`, or the label followed
by the text.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ralph_tui.domain import events as ev
from ralph_tui.domain.formatting import FAILURES, duration, plural, took
from ralph_tui.domain.permissions import answer_text
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import DECISIONS, Phase
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.review import criteria_count, evidence_lines
from ralph_tui.domain.verification.verification import GateResult
from ralph_tui.present.text.figures import breaker_counts, clock, in_local, money, stamp, tokens
from ralph_tui.present.text.spans import Tone
from ralph_tui.present.text.status_labels import BREAKER, END, ITERATION, STEP
from ralph_tui.present.tools.renderers import option_texts


@dataclass(frozen=True, slots=True)
class Sentence:
    """An event in words.

    Attributes:
        glyph: The name of a field of `Glyphs`.
        label: The subject, in a word or two.
        right: Figures, or who did it, for the end of the line.
        more: Details, possibly on several lines.
        line: The line of the log, if label and text together do not read well.
    """

    glyph: str
    label: str
    text: str
    tone: Tone = Tone.MUTED
    right: str = ""
    more: str = ""
    line: str = ""


_PHASES = frozenset(Phase)
"""The task ids in events of phases without tasks."""

_WHEN = {True: "now", False: "after this iteration"}

_LEVEL = {
    "info": ("note", Tone.MUTED),
    "warning": ("warning", Tone.WARN),
    "error": ("failed", Tone.BAD),
}


def by_whom(by: str) -> str:
    return _WHERE.get(by, f"by {by}" if by else "")


_WHERE = {
    "screen": "on the screen",
    "terminal": "at the terminal",
    "command": "with a command",
    "file": "from the answers file",
    "demo": "automatically (demo)",
}


def _loop_started(e: ev.LoopStarted) -> Sentence:
    bounds = f"at most {plural(e.max_iterations, 'iteration')}" if e.max_iterations else ""
    more = "\n".join(part for part in (e.model, bounds) if part)
    return Sentence("current", "loop started", _BEGINS[e.phase], Tone.INFO, more=more)


_BEGINS = {
    Phase.DISCOVERY: "reading your project, then asking you what is unclear",
    Phase.PLANNING: "splitting the specs into tasks for your approval",
    Phase.BUILDING: "building the plan, one task at a time",
    Phase.VALIDATION: "running all checks, then comparing the result with the specs",
}
"""What a run does first and what it will ask the person, by phase."""


def _loop_finished(e: ev.LoopFinished) -> Sentence:
    look, right = END[e.status], f"{money(e.cost_usd)}  {took(e.seconds)}"
    return Sentence(look.glyph, f"loop {look.word}", e.reason, look.tone, right, e.hint)


def _plan_loaded(e: ev.PlanLoaded) -> Sentence | None:
    if not e.tasks and e.source == "start":
        return None  # before planning, the empty plan is no news
    size = plural(len(e.tasks), "task")
    who = "changed on disk: " if e.source == "disk" else ""
    done = sum(1 for task in e.tasks if task.status is TaskStatus.COMPLETE)
    changed = " changed on disk" if e.source == "disk" else ""
    line = f"plan{changed}: {size}, {done} complete"
    return Sentence("note", "plan", f"{who}{size}", Tone.INFO if who else Tone.MUTED, line=line)


def _task_changed(e: ev.TaskChanged) -> Sentence | None:
    task = e.task
    if not (e.reason or task.status is TaskStatus.BLOCKED) or e.reason == ev.PLANNED:
        return None  # the approval reports how many tasks are planned
    why = e.reason or "; ".join(task.blockers)
    glyph, tone = "note", Tone.MUTED
    if task.is_held:
        glyph, tone = "pause", Tone.WARN
    elif task.status is TaskStatus.BLOCKED:
        glyph, tone = "blocked", Tone.BAD
    return Sentence(
        glyph, "task", f"{task.id} is {task.status_word}" + (f": {why}" if why else ""), tone
    )


def _iteration_finished(e: ev.IterationFinished) -> Sentence:
    look = ITERATION[e.outcome]
    files = plural(len(e.files_changed), "file") if e.files_changed else ""
    text = ": ".join(p for p in (look.word, e.reason) if p)
    right = "  ".join(p for p in (files, money(e.cost_usd), took(e.seconds)) if p)
    more = f"{tokens(e.tokens)} tokens used\n" + "\n".join(e.files_changed)
    return Sentence(look.glyph, f"iteration {e.iteration}", text, look.tone, right, more.strip())


def _session_started(e: ev.SessionStarted) -> Sentence:
    cli = f"CLI {e.cli_version}" if e.cli_version else ""
    about = ", ".join(p for p in (e.model, plural(len(e.tools), "tool"), cli) if p)
    line = f"session with {e.model or 'the default model'}" + (f", {cli}" if cli else "")
    more = "\n".join(e.tools)
    return Sentence("note", "session", f"fresh context, {about}", more=more, line=line)


def _gate_started(e: ev.GateStarted) -> Sentence:
    checks, more = plural(len(e.commands), "check"), "\n".join((e.notes, *e.commands))
    text = f"running {checks}" if e.task_id in _PHASES else f"verifying {e.task_id} ({checks})"
    return Sentence(
        "verifying", "gate", text, Tone.INFO, more=more, line=_with_task_id(e.task_id, text)
    )


def _gate_finished(e: ev.GateFinished) -> Sentence:
    about = "" if e.task_id in _PHASES else f"{e.task_id}, "
    basis = GateResult(task_id=e.task_id, receipts=e.receipts).basis
    if e.reviewed:
        glyph, tone, text = "note", Tone.MUTED, f"{basis}, reviewing the rest"
    elif e.passed:
        glyph, tone = ("warning", Tone.WARN) if e.unverified else ("ok", Tone.OK)
        word = "unverified" if e.unverified else "accepted"
        text = f"{word}: {about}{basis}" if about else basis
    else:
        failed = sum(1 for receipt in e.receipts if not receipt.ok)
        glyph, tone = "failed", Tone.BAD
        text = f"rejected: {about}{failed} of {plural(len(e.receipts), 'check')} failed"
    more = "\n".join(("Criteria in prose, not run:", *e.unchecked)) if e.unchecked else ""
    return Sentence(glyph, "gate", text, tone, more=more, line=_with_task_id(e.task_id, text))


def _with_task_id(task_id: str, text: str) -> str:
    return text if task_id in text else f"{task_id}: {text}"


def _review_started(e: ev.ReviewStarted) -> Sentence:
    about, more = f"{criteria_count(e.criteria)} of {e.task_id}", "\n".join(e.criteria)
    line = f"reviewing {about}" + (f" ({e.model})" if e.model else "")
    return Sentence("verifying", "review", f"reviewing {about}", Tone.INFO, e.model, more, line)


def _review_finished(e: ev.ReviewFinished) -> Sentence:
    review, cost = e.review, money(e.review.cost_usd)
    text, more = f"{e.task_id}: {review.result_text}", "\n".join(evidence_lines(review))
    glyph, tone = ("failed", Tone.BAD) if review.rejected else ("warning", Tone.WARN)
    if review.agreed:
        glyph, tone = "ok", Tone.OK
    return Sentence(glyph, "review", text, tone, cost, more, f"{text}, {cost}")


def _work_committed(e: ev.WorkCommitted) -> Sentence:
    text = f"{e.commit[:10]} {e.subject}" + (f" (on {e.branch})" if e.branch else "")
    right = f"{plural(e.files, 'file')}  +{e.additions} -{e.deletions}"
    return Sentence("ok", "commit", text, Tone.OK, right, f"{e.commit}\n{', '.join(e.task_ids)}")


def _repository_changed(e: ev.RepositoryChanged) -> Sentence:
    where = f" on {e.branch}" if e.branch else ""
    parts = [f"The repository changed: {e.summary}"] if e.summary and not e.commits else []
    if e.commits:
        parts.append(f"You committed {e.commits[0]}{where}")
        if len(e.commits) > 1:
            parts[0] = f"You made {len(e.commits)} commits{where}; the last: {e.commits[0]}"
        if e.summary:
            parts.append(f"Also, {e.summary}")
    text = ". ".join([*parts, "The run continues."])
    return Sentence("note", "repository", text, Tone.INFO, more="\n".join(e.commits), line=text)


def _step_started(e: ev.StepStarted) -> Sentence:
    again = f", attempt {e.attempt}" if e.attempt > 1 else ""
    what = f": {one_line(e.what, 200)}" if e.what not in (e.step, e.kind) else ""
    text = f"{e.step}{again}{what}"
    return Sentence("current", "step", text, Tone.INFO, more=f"Type: {e.kind}")


def _step_finished(e: ev.StepFinished) -> Sentence:
    look = STEP[e.outcome]
    text = f"{e.step} {look.word}" + (f": {one_line(e.reason, 400)}" if e.reason else "")
    if e.again_in is not None:
        text += f", retrying in {duration(e.again_in)}" if e.again_in else ", retrying"
    cost = money(e.cost_usd) if e.cost_usd else ""
    lasted = took(e.seconds) if e.outcome is not StepOutcome.SKIPPED else ""
    right = "  ".join(part for part in (cost, lasted) if part)
    tone = Tone.WARN if e.again_in is not None else look.tone
    sandbox = "In the sandbox." if e.sandboxed else ""
    more = "\n".join(part for part in (e.what, sandbox, e.tail.strip()) if part)
    return Sentence(look.glyph, "step", text, tone, right, more)


def _work_undone(e: ev.WorkUndone) -> Sentence:
    numbers = ", ".join(map(str, e.iterations))
    about = f" (iteration {numbers})" if len(e.iterations) == 1 else f" (iterations {numbers})"
    text = f"{e.task_id} was undone by you{about if numbers else ''}"
    line = text + (f", in commit {e.commit[:10]}" if e.commit else "")
    right = plural(len(e.files), "file")
    return Sentence("retry", "undo", text, Tone.WARN, right, "\n".join(e.files), line)


def _learning_recorded(e: ev.LearningRecorded) -> Sentence:
    kind = e.category.lower()
    line = f"learned ({kind}): {e.text}"
    return Sentence("learned", "learned", f"{kind}: {e.text}", Tone.INFO, line=line)


def _handoff_finished(e: ev.HandoffFinished) -> Sentence:
    how = "" if e.summarised else " from ralph's records, because the model gave no summary"
    text = f"{e.path} written{how}"
    return Sentence("handoff", "hand-off", text, Tone.INFO, line=f"handed off: {text}")


def _breaker_changed(e: ev.BreakerChanged) -> Sentence | None:
    closed, counts = e.breaker.state is BreakerState.CLOSED, breaker_counts(e.breaker)
    if closed and not (e.reason or counts):
        return None
    if closed and counts:  # the iteration's own sentence has the reason
        return Sentence("warning", "breaker", counts, Tone.WARN)
    state = BREAKER[e.breaker.state].word
    text = f"{state}: {e.reason}" if e.reason else state
    if closed:
        return Sentence("note", "breaker", text)
    tone = Tone.BAD if e.breaker.state is BreakerState.OPEN else Tone.WARN
    return Sentence("warning", "breaker", text, tone)


def _api_retry(e: ev.ApiRetry) -> Sentence:
    status = f" ({e.status})" if e.status else ""
    what = e.error or "the model did not answer"
    text = f"{what}{status}, retrying in {duration(e.delay_seconds)}"
    count = f"{e.attempt}/{e.max_attempts}"
    return Sentence("retry", "waiting", text, Tone.WARN, count, line=f"{text} ({count})")


def _agent_failed(e: ev.AgentFailed) -> Sentence:
    text = f"{e.message} {e.hint}".strip()
    return Sentence("failed", FAILURES[e.failure], text, Tone.BAD, line=text)


def _notice(e: ev.Notice) -> Sentence:
    glyph, tone = _LEVEL[e.level]
    if e.level == "info":
        return Sentence(glyph, "notice", e.text, tone, line=e.text)
    return Sentence(glyph, e.level, e.text, tone, line=f"{e.level}: {e.text}")


def unfinished(names: Sequence[str]) -> str:
    verb = "is" if len(names) == 1 else "are"
    return f"{', '.join(names)} {verb} being written by another program, or cannot be read"


def _files_unfinished(e: ev.FilesUnfinished) -> Sentence:
    if not e.names:
        return Sentence("ok", "files", "complete again")
    text = f"{unfinished(e.names)}. Using the last valid version."
    return Sentence("note", "files", text, Tone.INFO, line=text)


def _loop_found(e: ev.LoopFound) -> Sentence:
    where = f"process {e.pid}" + (f" on {e.host}" if e.host else "")
    return Sentence(
        "current", "attached", f"the loop runs in {where} and continues when you quit", Tone.INFO
    )


def _question_asked(e: ev.QuestionAsked) -> Sentence:
    asked = e.question
    options = "\n".join(option_texts(asked.question))
    if asked.permission is not None:
        more = f"{asked.permission.argument}\n\n{asked.permission.reason}\n\n{options}"
        return Sentence("asking", "allow?", asked.question.question, Tone.WARN, more=more)
    header = asked.question.header
    return Sentence("asking", "question", asked.question.question, Tone.WARN, header, options)


def _question_answered(e: ev.QuestionAnswered) -> Sentence:
    asked, answer = e.question.question, e.question.answer
    about = one_line(asked.header or asked.question, 80)
    if answer is None:
        text = "withdrawn, because the session that asked has ended"
        return Sentence("asking", "question", text, line=f"{about}: {text}")
    is_plain = e.question.permission is None and not answer.declined
    text, by = answer_text(e.question), by_whom(answer.by)
    tone = Tone.INFO if is_plain else Tone.WARN
    return Sentence("asking", "answer", text, tone, by, line=f"{about}: {text} ({by})")


def _host_denied(e: ev.ToolDenied) -> Sentence:
    by = f"denied {by_whom(e.by)}".strip()
    return Sentence("denied", "reach", e.part, Tone.WARN, by, more=f"Rule: {e.rule}\n{e.reason}")


def _approval_requested(e: ev.ApprovalRequested) -> Sentence:
    text = f"{DECISIONS[e.kind]}: {e.summary}" if e.summary else DECISIONS[e.kind]
    line = f"waiting for your approval of {text}"
    return Sentence("asking", "approval", in_local(text, e.time), Tone.WARN, line=line)


def _approval_given(e: ev.ApprovalGiven) -> Sentence:
    text = f"{DECISIONS[e.kind]}: {e.reason}" if e.reason else DECISIONS[e.kind]
    glyph, label, tone = (
        ("ok", "approved", Tone.OK) if e.approved else ("failed", "rejected", Tone.WARN)
    )
    return Sentence(glyph, label, text, tone, by_whom(e.by))


def _nobody_answered(e: ev.NobodyAnswered) -> Sentence:
    line = f"no answer within {duration(e.seconds)}: {e.about}"
    return Sentence(
        "stop", "no answer", f"{e.about}, within {duration(e.seconds)}", Tone.WARN, line=line
    )


def _specs_checked(e: ev.SpecsChecked) -> Sentence:
    good = plural(len(e.valid), "spec")
    if not e.problems:
        text, more = f"{good} read", "\n".join(e.valid)
        return Sentence("ok", "specs", text, Tone.OK, more=more, line=text)
    wrong = "\n".join(f"{name}: {'; '.join(found)}" for name, found in e.problems.items())
    text = f"{good} read, {len(e.problems)} with problems"
    return Sentence("warning", "specs", text, Tone.WARN, more=wrong, line=text)


def _validation_finished(e: ev.ValidationFinished) -> Sentence:
    look = ("ok", Tone.OK) if e.passed else ("failed", Tone.BAD)
    verdict = "passed" if e.passed else f"failed: {plural(len(e.failures), 'finding')}"
    text, more = f"round {e.round} {verdict}", "\n".join((e.summary, *e.failures)).strip()
    return Sentence(look[0], "validate", text, look[1], more=more, line=f"validation {text}")


def _limit_wait(e: ev.LimitWait) -> Sentence:
    text, until = e.message or "for the usage limit", f"until {clock(e.until, e.time)}"
    line = f"waiting until {stamp(e.until)}" + (f": {e.message}" if e.message else "")
    return Sentence("retry", "waiting", text, Tone.WARN, until, line=line)


def _without_label(glyph: str, label: str, text: str, tone: Tone = Tone.MUTED) -> Sentence:
    return Sentence(glyph, label, text, tone, line=text)


SENTENCES: Mapping[type[ev.Event], Callable[[Any], Sentence | None]] = {
    ev.LoopStarted: _loop_started,
    ev.LoopFinished: _loop_finished,
    ev.PhaseChanged: lambda e: Sentence("current", "phase", f"{e.phase}: {e.reason}", Tone.INFO),
    ev.PlanLoaded: _plan_loaded,
    ev.TaskChanged: _task_changed,
    ev.IterationFinished: _iteration_finished,
    ev.SessionStarted: _session_started,
    ev.GateStarted: _gate_started,
    ev.GateFinished: _gate_finished,
    ev.ReviewStarted: _review_started,
    ev.ReviewFinished: _review_finished,
    ev.WorkCommitted: _work_committed,
    ev.RepositoryChanged: _repository_changed,
    ev.StepStarted: _step_started,
    ev.StepFinished: _step_finished,
    ev.WorkUndone: _work_undone,
    ev.LearningRecorded: _learning_recorded,
    ev.InjectionQueued: lambda e: Sentence("guidance", "guidance", f"queued: {e.text}", Tone.INFO),
    ev.InjectionConsumed: lambda e: Sentence(
        "guidance", "guidance", f"delivered to iteration {e.iteration}", Tone.INFO
    ),
    ev.HandoffStarted: lambda e: Sentence(
        "handoff", "hand-off", e.reason, Tone.INFO, line=f"handing off: {e.reason}"
    ),
    ev.HandoffFinished: _handoff_finished,
    ev.BreakerChanged: _breaker_changed,
    ev.LimitReached: lambda e: _without_label("warning", "limit", e.message, Tone.WARN),
    ev.ApiRetry: _api_retry,
    ev.AgentFailed: _agent_failed,
    ev.PauseRequested: lambda e: Sentence("pause", "pause", _WHEN[e.now], Tone.WARN),
    ev.StopRequested: lambda e: Sentence("stop", "stop", _WHEN[e.now], Tone.WARN),
    ev.LoopPaused: lambda _: Sentence(
        "pause",
        "paused",
        "until you resume",
        Tone.WARN,
        line="paused; run `ralph resume` to continue",
    ),
    ev.LoopResumed: lambda _: Sentence(
        "current", "resumed", "the loop continues", Tone.INFO, line="resumed"
    ),
    ev.LimitsChanged: lambda e: Sentence(
        "note", "limits", f"changed for this run: {e.adjusted.summary}", Tone.INFO
    ),
    ev.FilesUnfinished: _files_unfinished,
    ev.Notice: _notice,
    ev.ProjectRead: lambda _: Sentence("ok", "notice", "the project can be read again", Tone.INFO),
    ev.ProjectUnreadable: lambda e: Sentence("failed", "error", e.reason, Tone.BAD),
    ev.LoopFound: _loop_found,
    ev.LoopLost: lambda e: Sentence(
        "interrupted", "detached", f"process {e.pid} no longer runs the loop"
    ),
    ev.ToolAllowed: lambda e: Sentence(
        "ok", "reach", e.part, right=f"allowed {by_whom(e.by)}" if e.by else "allowed before"
    ),
    ev.ToolDenied: _host_denied,
    ev.QuestionAsked: _question_asked,
    ev.QuestionAnswered: _question_answered,
    ev.ApprovalRequested: _approval_requested,
    ev.ApprovalGiven: _approval_given,
    ev.NobodyAnswered: _nobody_answered,
    ev.SpecsChecked: _specs_checked,
    ev.ValidationFinished: _validation_finished,
    ev.LimitWait: _limit_wait,
    ev.LimitWaitEnded: lambda e: _without_label(
        "current", "limit", e.why or "the wait is over", Tone.INFO
    ),
    ev.AllowanceReported: lambda e: _without_label(
        "current", "allowance", f"{e.allowance.percent:.0f} % of the {e.allowance.name} window used"
    ),
}
"""The function that words each type of event. Other types are shown another way, or not at all."""


def sentence_of(event: ev.Event) -> Sentence | None:
    make = SENTENCES.get(type(event))
    return make(event) if make else None
