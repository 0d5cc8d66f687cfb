"""Events as readable lines: a fold that tells a run to somebody who reads a log.

The screen's signs and figures are used here too, so a tool call looks the same in both.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ralph_tui.cli import person_lines as person
from ralph_tui.cli import work_lines as work
from ralph_tui.cli.line import Line, counted, line
from ralph_tui.domain import events as ev
from ralph_tui.domain.formatting import took
from ralph_tui.domain.labels import ENDS
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.tui.glyphs import UNICODE, Glyphs
from ralph_tui.tui.render.calls import STATE_OF, Call
from ralph_tui.tui.render.figures import money, plural, tokens
from ralph_tui.tui.render.states import BREAKER
from ralph_tui.tui.render.tools import renderer_for


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
    about = work.subject(e.task_id)
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
    yield line(
        f"{n.glyphs.warning} circuit breaker {BREAKER[e.breaker.state].word}{why} ({counted(e.breaker)})",
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
    ev.GateStarted: _simply(work.gate_started),
    ev.GateChecked: _simply(work.gate_checked),
    ev.GateFinished: _simply(work.gate_finished),
    ev.ReviewStarted: _simply(work.review_started),
    ev.ReviewFinished: _simply(work.review_finished),
    ev.LearningRecorded: _simply(work.learning),
    ev.InjectionQueued: _simply(work.injection_queued),
    ev.InjectionConsumed: _simply(work.injection_consumed),
    ev.HandoffStarted: _simply(work.handoff_started),
    ev.HandoffFinished: _simply(work.handoff_finished),
    ev.BreakerChanged: _breaker_changed,
    ev.LimitReached: _limit_reached,
    ev.ApiRetry: _api_retry,
    ev.AgentFailed: _agent_failed,
    ev.FilesUnfinished: _simply(work.files_unfinished),
    ev.Notice: _notice,
    ev.PauseRequested: _requested,
    ev.StopRequested: _requested,
    ev.LimitsChanged: _limits_changed,
    ev.LoopPaused: _paused,
    ev.LoopResumed: _resumed,
    ev.QuestionAsked: _simply(person.question_asked),
    ev.QuestionAnswered: _simply(person.question_answered),
    ev.ApprovalRequested: _simply(person.approval_requested),
    ev.ApprovalGiven: _simply(person.approval_given),
    ev.SpecsChecked: _simply(person.specs_checked),
    ev.ValidationFinished: _simply(person.validation_finished),
    ev.LimitWait: _simply(person.limit_wait),
    ev.LimitWaitEnded: _simply(person.limit_wait_ended),
    ev.AllowanceReported: _simply(person.allowance_reported),
}
