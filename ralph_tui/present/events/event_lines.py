"""Events as readable lines: a fold that tells a run to somebody who reads a log.

The screen's signs and figures are used here too, so a tool call looks the same in both.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Permission
from ralph_tui.domain.formatting import took
from ralph_tui.domain.labels import ENDS
from ralph_tui.domain.permissions import answer_told, ruling_of
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import DECISIONS, Phase
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.verification.review import criteria_count, evidence_lines
from ralph_tui.domain.verification.verification import GateResult, Receipt, ReceiptStatus
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.present.events.event_notes import unfinished
from ralph_tui.present.text.figures import breaker_counts, money, plural, tokens
from ralph_tui.present.text.glyphs import UNICODE, Glyphs
from ralph_tui.present.text.status_labels import BREAKER
from ralph_tui.present.tools.calls import STATE_OF, Call
from ralph_tui.present.tools.renderers import renderer_for

LIMIT = 600
"""Most characters of one line."""


class Line(NamedTuple):
    """One line of text, already inert; `tone` is a Rich style and may be lost without harm."""

    text: str
    tone: str = ""
    indent: int = 0

    def __str__(self) -> str:
        return "  " * self.indent + self.text


def line(text: str, tone: str = "", indent: int = 0) -> Line:
    """A line from text that may come from a model, a tool or a file."""
    return Line(one_line(text, LIMIT), tone, indent)


SHOWN_FAILURES = 10


def question_lines(signs: Glyphs, asked: AskedQuestion) -> Iterator[Line]:
    """A question with its numbered options."""
    question = asked.question
    header = f" ({question.header})" if question.header else ""
    several = ", several may be chosen" if question.multi_select else ""
    yield line(
        f"{signs.asking} {asked.phase} asks{header}: {question.question}{several}", "bold cyan"
    )
    if asked.permission is not None:
        yield from _permission(asked.permission)
    for number, option in enumerate(question.options, 1):
        about = f" {signs.between} {option.description}" if option.description else ""
        yield line(f"{number}. {option.label}{about}", "", 2)


def _permission(wanted: Permission) -> Iterator[Line]:
    """The whole call, however long, and why it is asked about."""
    yield line("runs:" if wanted.asked else "the whole of it:", "dim", 2)
    yield from (Line(inert(text), "", 3) for text in wanted.argument.splitlines())
    if wanted.asked:
        yield line("as the agent wrote it:", "dim", 2)
        yield from (Line(inert(text), "", 3) for text in wanted.asked.splitlines())
    if wanted.reason:
        yield line(f"because {wanted.reason} ({wanted.rule})", "dim", 2)


def question_asked(signs: Glyphs, e: ev.QuestionAsked) -> Iterator[Line]:
    """A question, and how to answer it from anywhere."""
    yield from question_lines(signs, e.question)
    if e.question.is_open:
        yield line(f"answer from anywhere: ralph answer {e.question.id} TEXT", "dim", 2)


def question_answered(signs: Glyphs, e: ev.QuestionAnswered) -> Iterator[Line]:
    """What was answered, and by whom."""
    about = one_line(e.question.question.header or e.question.question.question, 80)
    answer = e.question.answer
    if answer is None:
        yield line(
            f"{signs.asking} {about}: withdrawn, the session that asked is gone", "yellow", 1
        )
        return
    told = f"{about}: {answer_told(e.question)} (by {answer.by})"
    ruling = ruling_of(answer) if e.question.permission else None
    if answer.declined or (ruling is not None and not ruling.allowed):
        yield line(f"{signs.asking} {told}", "yellow", 1)
    else:
        yield line(f"{signs.ok} {told}", "green", 1)


def approval_requested(signs: Glyphs, e: ev.ApprovalRequested) -> Iterator[Line]:
    """What waits for a decision, and how to make it from anywhere."""
    summary = f": {e.summary}" if e.summary else ""
    yield line(
        f"{signs.asking} your approval of {DECISIONS[e.kind]} is needed{summary}", "bold cyan"
    )
    yield line("decide from anywhere: ralph approve, or ralph reject --reason TEXT", "dim", 2)


def approval_given(signs: Glyphs, e: ev.ApprovalGiven) -> Iterator[Line]:
    """The decision."""
    sign, word, tone = (
        (signs.ok, "approved", "green") if e.approved else (signs.failed, "rejected", "yellow")
    )
    by = f" (by {e.by})" if e.by else ""
    why = f": {e.reason}" if e.reason else ""
    yield line(f"{sign} {word}: {DECISIONS[e.kind]}{by}{why}", tone)


def specs_checked(signs: Glyphs, e: ev.SpecsChecked) -> Iterator[Line]:
    """Which specs are whole, and what the others lack."""
    if e.valid:
        yield line(f"{signs.ok} {plural(len(e.valid), 'spec')} whole: {', '.join(e.valid)}", "", 1)
    for name, problems in e.problems.items():
        yield line(f"{signs.failed} specs/{name} lacks {'; '.join(problems)}", "yellow", 1)


def validation_finished(signs: Glyphs, e: ev.ValidationFinished) -> Iterator[Line]:
    """The verdict, and what is left to do."""
    if e.passed:
        said = f": {e.summary}" if e.summary else ""
        yield line(f"{signs.ok} validation round {e.round} passed{said}", "bold green")
        return
    found = plural(len(e.failures), "thing")
    yield line(f"{signs.failed} validation round {e.round} found {found} to do", "bold yellow")
    for failure in e.failures[:SHOWN_FAILURES]:
        yield line(f"{signs.failed} {failure}", "yellow", 1)
    if (more := len(e.failures) - SHOWN_FAILURES) > 0:
        yield line(f"and {more} more; see .ralph/validation_report.json", "yellow", 1)


def limit_wait(signs: Glyphs, e: ev.LimitWait) -> Iterator[Line]:
    """Until when the loop waits, and how not to."""
    said = f": {e.message.rstrip('.')}" if e.message else ""
    yield line(
        f"{signs.pause} waiting until {e.until:%Y-%m-%d %H:%M:%S} UTC{said} "
        f"{signs.between} `ralph retry` tries again now",
        "yellow",
    )


def limit_wait_ended(signs: Glyphs, e: ev.LimitWaitEnded) -> Iterator[Line]:
    """Why the wait is over."""
    yield line(f"{signs.running} {e.why or 'the wait is over'}", "bold")


def allowance_reported(signs: Glyphs, e: ev.AllowanceReported) -> Iterator[Line]:
    """How much of a subscription's window is used."""
    text = f"{e.allowance.percent:.0f} % of the {e.allowance.name} allowance is used"
    yield line(f"{signs.between} {text}", "dim", 1)


_PHASES = frozenset(phase.value for phase in Phase)


def subject(task_id: str) -> str:
    """What an iteration is about: a task, or a phase that has none."""
    return task_id if task_id in _PHASES else f"task {task_id}"


def gate_started(signs: Glyphs, e: ev.GateStarted) -> Iterator[Line]:
    """A claim, or the checks a validation begins with."""
    checks = plural(len(e.commands), "check")
    claim = "" if e.task_id in _PHASES else " is claimed complete"
    yield line(f"{signs.verifying} {subject(e.task_id)}{claim}, {checks} to run", "cyan", 1)


def gate_checked(signs: Glyphs, e: ev.GateChecked) -> Iterator[Line]:
    """One command's receipt."""
    receipt = e.receipt
    not_passed = {ReceiptStatus.SKIPPED: signs.skipped, ReceiptStatus.RED_BEFORE: signs.warning}
    sign = not_passed.get(receipt.status, signs.ok)
    text = f"{sign if receipt.ok else signs.failed} {receipt.command} {signs.between} "
    yield line(f"{text}{_outcome(receipt)}", "" if receipt.ok else "yellow", 2)


def _outcome(receipt: Receipt) -> str:
    word = receipt.status.value.replace("_", " ")
    code = f", exit {receipt.exit_code}" if receipt.exit_code else ""
    counted = f", {receipt.counts.text}" if receipt.counts else ""
    told = receipt.reason == f"exit status {receipt.exit_code}"
    why = f": {one_line(receipt.reason, 240)}" if receipt.reason and not told else ""
    return f"{word}{code}, {took(receipt.seconds)}{counted}{why}"


def gate_finished(signs: Glyphs, e: ev.GateFinished) -> Iterator[Line]:
    """The verdict of all checks."""
    about, phase = subject(e.task_id), e.task_id in _PHASES
    result = GateResult(task_id=e.task_id, receipts=e.receipts)
    if e.reviewed:
        yield line(f"{signs.note} {about}: {result.basis}; a reviewer judges the rest", "", 1)
        return
    if e.unverified:
        word = f"{result.basis}" if phase else f"is unverified: {result.basis}"
        yield line(f"{signs.warning} {about}{':' * phase} {word}", "yellow", 1)
        return
    if e.passed:
        word = f"{result.basis}" if phase else f"is verified: {result.basis}"
        yield line(f"{signs.ok} {about}{':' * phase} {word}", "green", 1)
        return
    failed = ", ".join(one_line(r.command, 80) for r in e.receipts if not r.ok)
    word = "" if phase else " is not complete yet,"
    yield line(f"{signs.failed} {about}{':' * phase}{word} failed: {failed}", "yellow", 1)


def review_started(signs: Glyphs, e: ev.ReviewStarted) -> Iterator[Line]:
    """A reviewer begins."""
    model = f" ({e.model})" if e.model else ""
    yield line(f"{signs.verifying} reviewing {criteria_count(e.criteria)}{model}", "cyan", 1)


def review_finished(signs: Glyphs, e: ev.ReviewFinished) -> Iterator[Line]:
    """The reviewer's verdicts with their evidence."""
    review = e.review
    sign, tone = (signs.ok, "green") if review.agreed else (signs.failed, "yellow")
    yield line(f"{sign} {review.told}, {money(review.cost_usd)}", tone, 1)
    for text in evidence_lines(review):
        yield line(text, "", 2)


def learning(signs: Glyphs, e: ev.LearningRecorded) -> Iterator[Line]:
    """Something worth knowing next time."""
    yield line(f"{signs.learned} learned ({e.category.lower()}): {e.text}", "", 1)


def injection_queued(signs: Glyphs, e: ev.InjectionQueued) -> Iterator[Line]:
    """Guidance that waits."""
    yield line(f"{signs.guidance} guidance queued: {e.text}")


def injection_consumed(signs: Glyphs, e: ev.InjectionConsumed) -> Iterator[Line]:
    """Guidance that was given."""
    count = plural(len(e.ids), "piece")
    yield line(f"{signs.guidance} {count} of guidance given to iteration {e.iteration}")


def handoff_started(signs: Glyphs, e: ev.HandoffStarted) -> Iterator[Line]:
    """Why a session is summed up."""
    yield line(f"{signs.handoff} handing off: {e.reason}", "cyan", 1)


def handoff_finished(signs: Glyphs, e: ev.HandoffFinished) -> Iterator[Line]:
    """Where the summary is, and whose it is."""
    by = "the model's summary" if e.summarised else "what ralph knows; the model gave no summary"
    yield line(f"{signs.handoff} handed off in {e.path} ({by})", "cyan", 1)


def files_unfinished(signs: Glyphs, e: ev.FilesUnfinished) -> Iterator[Line]:
    """Files that somebody writes, and that they are whole again."""
    if e.names:
        yield line(f"{signs.note} {unfinished(e.names)}; what was there before holds", "dim")
    else:
        yield line(f"{signs.ok} the files are whole again", "dim")


class Narrator:
    """Tells a run line by line; keeps the view and the calls that have not ended."""

    def __init__(self, glyphs: Glyphs = UNICODE) -> None:
        """Start with nothing told."""
        self.glyphs = glyphs
        self.view = LoopView()
        self.calls: dict[str, Call] = {}

    def tell(self, event: ev.Event) -> Iterator[Line]:
        """The lines for one more event; live text is left to screens."""
        before = self.view
        self.view = reduce(before, event)
        teller = _TELLERS.get(type(event))
        if teller is not None:
            yield from teller(self, event, before)


def _loop_started(_: Narrator, e: ev.LoopStarted, __: LoopView) -> Iterator[Line]:
    limits = " / ".join(money(value) for value in e.limits.model_dump().values())
    yield line(
        f"ralph: {e.project}, {e.phase} with {e.model or 'the default model'}, "
        f"at most {plural(e.max_iterations, 'iteration')}, limits {limits} "
        "(iteration / run / project)",
        "bold",
    )


def _plan_loaded(n: Narrator, e: ev.PlanLoaded, _: LoopView) -> Iterator[Line]:
    done = n.view.tasks.complete
    news = "plan changed on disk" if e.source == "disk" else "plan"
    yield line(f"{n.glyphs.note} {news}: {plural(len(e.tasks), 'task')}, {done} complete", "dim")


def _task_changed(n: Narrator, e: ev.TaskChanged, before: LoopView) -> Iterator[Line]:
    old = before.tasks.get(e.task.id)
    why = f": {e.reason}" if e.reason else ""
    if old is None:
        yield line(f"{n.glyphs.note} new task {e.task.id}: {e.task.title}{why}")
    elif old.is_held != e.task.is_held and (old.held or e.task.held):
        word = "held" if e.task.is_held else "released"
        yield line(f"{n.glyphs.pause} task {e.task.id} is {word}{why}")
    elif old.status is not e.task.status and e.task.status is TaskStatus.BLOCKED:
        yield line(f"{n.glyphs.blocked} task {e.task.id} is blocked{why}", "red")
    elif old.status is not e.task.status and e.task.status is TaskStatus.COMPLETE:
        if e.task.is_unverified:
            yield line(f"{n.glyphs.warning} task {e.task.id} is complete{why}", "yellow")
        else:
            yield line(f"{n.glyphs.ok} task {e.task.id} is complete{why}", "green")


def _iteration_started(n: Narrator, e: ev.IterationStarted, _: LoopView) -> Iterator[Line]:
    n.calls.clear()
    attempt = f", attempt {e.attempt}" if e.attempt > 1 else ""
    why = f" ({e.why}{attempt})" if e.why or attempt else ""
    about = subject(e.task_id)
    about = f"{about}, {e.title or 'no title'}" if about.startswith("task ") else about
    yield line(
        f"{n.glyphs.current} iteration {e.iteration}: {about}{why}",
        "bold",
    )


def _iteration_finished(n: Narrator, e: ev.IterationFinished, _: LoopView) -> Iterator[Line]:
    good = e.outcome in (ev.IterationOutcome.COMPLETE, ev.IterationOutcome.HANDED_OFF)
    capacity = n.view.budget.total_capacity
    share = f" ({100 * e.context_tokens / capacity:.0f} %)" if capacity else ""
    figures = (
        f"{took(e.seconds)}, {money(e.cost_usd)} ({money(n.view.costs.total)} in total), "
        f"context {tokens(e.context_tokens)}{share}"
    )
    signs = {
        ev.IterationOutcome.INTERRUPTED: n.glyphs.interrupted,
        ev.IterationOutcome.SENT_BACK: n.glyphs.retry,
    }
    sign = n.glyphs.ok if good else signs.get(e.outcome, n.glyphs.failed)
    why = f": {one_line(e.reason, 150)}" if e.reason else ""
    outcome = e.outcome.value.replace("_", " ")
    text = f"{sign} iteration {e.iteration} {outcome}{why} {n.glyphs.between} {figures}"
    yield line(text, "green" if good else "yellow")


def _session_started(n: Narrator, e: ev.SessionStarted, _: LoopView) -> Iterator[Line]:
    cli = f", Claude Code {e.cli_version}" if e.cli_version else ""
    yield line(f"{n.glyphs.note} session with {e.model or 'the default model'}{cli}", "dim", 1)


def _assistant_text(n: Narrator, e: ev.AssistantText, _: LoopView) -> Iterator[Line]:
    if e.text.strip():
        yield line(f"{n.glyphs.text} {e.text}", "", 2 if e.parent_id else 1)


def _tool_started(n: Narrator, e: ev.ToolStarted, _: LoopView) -> Iterator[Line]:
    known = n.calls.get(e.tool_id)  # a denial may come before the call's own message
    denial = known.denial if known else None
    n.calls[e.tool_id] = Call(e.tool_id, e.name, e.input, denial=denial)
    yield from ()


def _tool_finished(n: Narrator, e: ev.ToolFinished, _: LoopView) -> Iterator[Line]:
    call = n.calls.pop(e.tool_id, None) or Call(e.tool_id, e.name, {})
    if call.denial is not None:
        return  # told already, with the rule
    call = replace(call, state=STATE_OF[e.outcome], output=e.output)
    sign, tone = _TOOL_SIGN[e.outcome]
    word = "" if e.outcome is ev.ToolOutcome.OK else f" {call.state.value}"
    result = one_line(renderer_for(call).note(call), 120)
    said = f", {result}" if result else ""
    about = f"{getattr(n.glyphs, sign)} {_call_text(call)}"
    text = f"{about} {n.glyphs.between} {took(e.seconds)}{word}{said}"
    yield line(text, tone, 2 if e.parent_id else 1)


_TOOL_SIGN = {
    ev.ToolOutcome.OK: ("ok", ""),
    ev.ToolOutcome.ERROR: ("failed", "yellow"),
    ev.ToolOutcome.DENIED: ("denied", "red"),
    ev.ToolOutcome.INTERRUPTED: ("interrupted", "yellow"),
}
"""Which glyph and which tone."""


def _call_text(call: Call) -> str:
    """The tool's word and what the call is about, as on the screen."""
    renderer = renderer_for(call)
    return one_line(f"{renderer.verb} {renderer.argument(call)}", 160)


def _tool_denied(n: Narrator, e: ev.ToolDenied, _: LoopView) -> Iterator[Line]:
    call = replace(n.calls.get(e.tool_id) or Call(e.tool_id, e.name, {}), denial=e)
    n.calls[e.tool_id] = call
    part = f" in `{one_line(e.part, 80)}`" if e.part else ""
    advice = f" {n.glyphs.arrow} {one_line(e.instead, 200)}" if e.instead else ""
    by = f" by {e.by}" if e.by else ""
    why = f"denied{by} ({e.rule}){part}: {one_line(e.reason, 200)}"
    yield line(f"{n.glyphs.denied} {_call_text(call)} {n.glyphs.between} {why}{advice}", "red", 1)


def _tool_allowed(n: Narrator, e: ev.ToolAllowed, _: LoopView) -> Iterator[Line]:
    """What an answer has just allowed is told with the answer."""
    if e.scope == "again":
        call = n.calls.get(e.tool_id) or Call(e.tool_id, e.name, {})
        why = f"allowed for this session before ({e.rule})"
        yield line(f"{n.glyphs.ok} {_call_text(call)} {n.glyphs.between} {why}", "", 1)


def _tool_rewritten(n: Narrator, e: ev.ToolRewritten, _: LoopView) -> Iterator[Line]:
    if (call := n.calls.get(e.tool_id)) is not None:
        n.calls[e.tool_id] = replace(call, rewrite=e)
    rule = f" ({e.rule})" if e.rule else ""
    before = one_line(e.before, 120)
    yield line(f"{n.glyphs.retry} rewritten{rule}: {before} {n.glyphs.arrow} {e.after}", "", 1)


def _phase_changed(n: Narrator, e: ev.PhaseChanged, _: LoopView) -> Iterator[Line]:
    why = f": {e.reason}" if e.reason else ""
    yield line(f"{n.glyphs.arrow} phase {e.phase}{why}", "bold")


def _breaker_changed(n: Narrator, e: ev.BreakerChanged, before: LoopView) -> Iterator[Line]:
    if e.breaker.state is before.breaker.state:
        return
    why = f": {e.reason}" if e.reason else ""
    counts = breaker_counts(e.breaker) or "nothing counts against it"
    yield line(
        f"{n.glyphs.warning} circuit breaker {BREAKER[e.breaker.state].word}{why} ({counts})",
        "yellow",
    )


def _limit_reached(n: Narrator, e: ev.LimitReached, _: LoopView) -> Iterator[Line]:
    yield line(f"{n.glyphs.stop} {e.message}", "yellow")


def _api_retry(n: Narrator, _: ev.ApiRetry, __: LoopView) -> Iterator[Line]:
    yield line(f"{n.glyphs.retry} {n.view.detail}", "yellow", 1)


def _agent_failed(n: Narrator, e: ev.AgentFailed, _: LoopView) -> Iterator[Line]:
    yield line(f"{n.glyphs.failed} {e.message} {e.hint}", "red", 1)


def _notice(n: Narrator, e: ev.Notice, _: LoopView) -> Iterator[Line]:
    if e.level == "info":
        yield line(f"{n.glyphs.note} {e.text}")
    else:
        yield line(f"{n.glyphs.warning} {e.level}: {e.text}", "yellow")


def _requested(n: Narrator, _: ev.Event, __: LoopView) -> Iterator[Line]:
    yield line(f"{n.glyphs.pause} {n.view.detail}")


def _limits_changed(n: Narrator, e: ev.LimitsChanged, _: LoopView) -> Iterator[Line]:
    yield line(f"{n.glyphs.note} limits changed for this run: {e.adjusted.told}")


def _paused(n: Narrator, _: ev.LoopPaused, __: LoopView) -> Iterator[Line]:
    yield line(f"{n.glyphs.pause} paused; `ralph resume` goes on", "bold")


def _resumed(n: Narrator, _: ev.LoopResumed, __: LoopView) -> Iterator[Line]:
    yield line(f"{n.glyphs.running} resumed", "bold")


def _loop_finished(_: Narrator, e: ev.LoopFinished, __: LoopView) -> Iterator[Line]:
    tone = "bold green" if e.status is ev.LoopStatus.COMPLETE else "bold yellow"
    unverified = f" ({e.tasks_unverified} unverified)" if e.tasks_unverified else ""
    yield line(
        f"ralph: {e.tasks_complete} of {plural(e.tasks_total, 'task')} complete{unverified}, "
        f"{plural(e.iterations, 'iteration')}, {money(e.cost_usd)}, {took(e.seconds)}",
    )
    label, reason = ENDS[e.status], one_line(e.reason, 600)
    said = reason if reason.startswith(label) else f"{label}: {reason}"
    stop = "." if e.hint and not said.endswith(".") else ""
    yield line(f"ralph: {said}{stop} {e.hint}", tone)


_Teller = Callable[[Narrator, Any, LoopView], Iterator[Line]]
_E = TypeVar("_E", bound=ev.EventBase)


def _simply(teller: Callable[[Glyphs, _E], Iterator[Line]]) -> _Teller:
    """A teller that needs the signs alone."""

    def tell(n: Narrator, e: _E, _: LoopView) -> Iterator[Line]:
        yield from teller(n.glyphs, e)

    return tell


_TELLERS: Mapping[type[ev.EventBase], _Teller] = {
    ev.LoopStarted: _loop_started,
    ev.LoopFinished: _loop_finished,
    ev.PhaseChanged: _phase_changed,
    ev.PlanLoaded: _plan_loaded,
    ev.TaskChanged: _task_changed,
    ev.IterationStarted: _iteration_started,
    ev.IterationFinished: _iteration_finished,
    ev.SessionStarted: _session_started,
    ev.AssistantText: _assistant_text,
    ev.ToolStarted: _tool_started,
    ev.ToolFinished: _tool_finished,
    ev.ToolDenied: _tool_denied,
    ev.ToolAllowed: _tool_allowed,
    ev.ToolRewritten: _tool_rewritten,
    ev.GateStarted: _simply(gate_started),
    ev.GateChecked: _simply(gate_checked),
    ev.GateFinished: _simply(gate_finished),
    ev.ReviewStarted: _simply(review_started),
    ev.ReviewFinished: _simply(review_finished),
    ev.LearningRecorded: _simply(learning),
    ev.InjectionQueued: _simply(injection_queued),
    ev.InjectionConsumed: _simply(injection_consumed),
    ev.HandoffStarted: _simply(handoff_started),
    ev.HandoffFinished: _simply(handoff_finished),
    ev.BreakerChanged: _breaker_changed,
    ev.LimitReached: _limit_reached,
    ev.ApiRetry: _api_retry,
    ev.AgentFailed: _agent_failed,
    ev.FilesUnfinished: _simply(files_unfinished),
    ev.Notice: _notice,
    ev.PauseRequested: _requested,
    ev.StopRequested: _requested,
    ev.LimitsChanged: _limits_changed,
    ev.LoopPaused: _paused,
    ev.LoopResumed: _resumed,
    ev.QuestionAsked: _simply(question_asked),
    ev.QuestionAnswered: _simply(question_answered),
    ev.ApprovalRequested: _simply(approval_requested),
    ev.ApprovalGiven: _simply(approval_given),
    ev.SpecsChecked: _simply(specs_checked),
    ev.ValidationFinished: _simply(validation_finished),
    ev.LimitWait: _simply(limit_wait),
    ev.LimitWaitEnded: _simply(limit_wait_ended),
    ev.AllowanceReported: _simply(allowance_reported),
}
