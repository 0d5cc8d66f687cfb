"""Write events as lines of a log, for `ralph` without a screen and for the journal as text.

The lines have the same words as the stream on the screen, and show tool calls the same way.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion, Permission
from ralph_tui.domain.formatting import plural, took
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.steps import StepOutcome
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.present.events.event_sentences import Sentence, by_whom
from ralph_tui.present.events.run_result import result_facts
from ralph_tui.present.text.figures import money, tokens, zoned
from ralph_tui.present.text.glyphs import UNICODE, Glyphs
from ralph_tui.present.text.spans import Tone
from ralph_tui.present.text.status_labels import END, RECEIPT
from ralph_tui.present.timeline.entries import CallEntry, CheckEntry, Entry, NoteEntry, TextEntry
from ralph_tui.present.timeline.timeline import Timeline
from ralph_tui.present.tools.calls import LOOK_OF_CALL, Call, CallState
from ralph_tui.present.tools.renderers import renderer_for

LIMIT = 600

MOST_DETAILS = 10

VERBOSE_DETAILS = 40

_STYLES = {
    Tone.MUTED: "dim",
    Tone.INFO: "cyan",
    Tone.OK: "green",
    Tone.WARN: "yellow",
    Tone.BAD: "red",
}

_WITH_DETAILS = frozenset({ev.ReviewFinished, ev.SpecsChecked, ev.ValidationFinished})

_HINTS: Mapping[type[ev.Event], str] = {
    ev.ApprovalRequested: "to decide: ralph approve, or ralph reject --reason TEXT",
    ev.LimitWait: "to retry now: ralph retry",
}


class LogLine(NamedTuple):
    """One line of inert text, with an optional Rich style."""

    text: str
    style: str = ""
    indent: int = 0

    def __str__(self) -> str:
        return "  " * self.indent + self.text


def log_line(text: str, style: str = "", indent: int = 0) -> LogLine:
    return LogLine(one_line(text, LIMIT), style, indent)


class EventPrinter:
    """Writes the entries of a timeline; each method `on_TYPE` writes the events of this type in its own way."""

    def __init__(self, glyphs: Glyphs = UNICODE, *, verbose: bool = False) -> None:
        self.glyphs = glyphs
        self.verbose = verbose
        self.view = LoopView()
        self._timeline = Timeline(max_entries=10, with_times=lambda text, _: zoned(text))

    def lines(self, event: ev.Event) -> Iterator[LogLine]:
        """Yield the lines for the next event; none if the event repeats what is known."""
        self.view = reduce(self.view, event)
        entry = self._timeline.feed(event)
        if event.transient:
            return
        if own := getattr(self, f"on_{event.type}", None):
            yield from own(event, entry)
        elif isinstance(entry, NoteEntry):
            yield from self.sentence_lines(event, entry)

    def sentence_lines(self, event: ev.Event, sentence: Sentence) -> Iterator[LogLine]:
        kind, indent = type(event), int(isinstance(event, ev.Inner))
        text = sentence.line or f"{sentence.label} {sentence.text}"
        if sentence.right and not sentence.line:
            text = f"{text} {self.glyphs.between} {sentence.right}"
        sign, style = getattr(self.glyphs, sentence.glyph), _STYLES.get(sentence.tone, "")
        yield log_line(f"{sign} {zoned(text)}", style, indent)
        if kind in _WITH_DETAILS or self.verbose:
            details = sentence.more.splitlines()
            most = VERBOSE_DETAILS if self.verbose else MOST_DETAILS
            yield from (log_line(detail, "", indent + 1) for detail in details[:most])
            if (more := len(details) - most) > 0:
                yield log_line(f"and {more} more", "", indent + 1)
        if hint := _HINTS.get(kind):
            yield log_line(hint, "dim", 2)

    def output_lines(self, output: str, indent: int) -> Iterator[LogLine]:
        """Yield the end of the output of a tool or check, in verbose mode only."""
        lines = output.strip().splitlines() if self.verbose else []
        if (left := len(lines) - VERBOSE_DETAILS) > 0:
            yield log_line(f"{plural(left, 'earlier line')} not shown:", "dim", indent)
        yield from (log_line(text, "dim", indent) for text in lines[-VERBOSE_DETAILS:])

    def on_loop_started(self, e: ev.LoopStarted, __: Entry) -> Iterator[LogLine]:
        limits = " / ".join(money(value) for value in e.limits.model_dump().values())
        yield log_line(
            f"ralph: {e.project}, {e.phase} with {e.model or 'the default model'}, "
            f"at most {plural(e.max_iterations, 'iteration')}, limits {limits} "
            "(iteration / run / project)",
            "bold",
        )

    def on_iteration_started(self, e: ev.IterationStarted, _: Entry) -> Iterator[LogLine]:
        attempt = f", attempt {e.attempt}" if e.attempt > 1 else ""
        why = f" ({e.why}{attempt})" if e.why or attempt else ""
        is_phase = e.task_id in frozenset(Phase)
        about = e.task_id if is_phase else f"task {e.task_id}, {e.title or 'no title'}"
        yield log_line(f"{self.glyphs.current} iteration {e.iteration}: {about}{why}", "bold")

    def on_iteration_finished(self, e: ev.IterationFinished, note: NoteEntry) -> Iterator[LogLine]:
        capacity = self.view.budget.total_capacity
        share = f" ({100 * e.context_tokens / capacity:.0f} %)" if capacity else ""
        figures = (
            f"{took(e.seconds)}, {money(e.cost_usd)} ({money(self.view.costs.total)} in total), "
            f"context {tokens(e.context_tokens)}{share}"
        )
        yield from self.sentence_lines(e, replace(note, right=figures))

    def on_assistant_text(self, _: ev.AssistantText, entry: TextEntry | None) -> Iterator[LogLine]:
        if entry is not None:
            yield log_line(f"{self.glyphs.text} {entry.text}", "", entry.depth + 1)

    def on_tool_finished(self, e: ev.ToolFinished, entry: CallEntry) -> Iterator[LogLine]:
        call = entry.call
        if call.denial is not None:
            return  # the denial has its own line
        look = LOOK_OF_CALL[call.state]
        is_ok = call.state is CallState.OK
        word = "" if is_ok else f" {look.word}"
        result = one_line(renderer_for(call).note(call), 120)
        note = f", {result}" if result else ""
        about = f"{getattr(self.glyphs, look.glyph)} {_call_text(call)}"
        text = f"{about} {self.glyphs.between} {took(call.seconds)}{word}{note}"
        yield log_line(text, "" if is_ok else _STYLES[look.tone], entry.depth + 1)
        yield from self.output_lines(e.output, entry.depth + 2)

    def on_tool_denied(self, e: ev.ToolDenied, entry: Entry) -> Iterator[LogLine]:
        call = entry.call if isinstance(entry, CallEntry) else Call("", e.name, {})
        part = f" in `{one_line(e.part, 80)}`" if e.part else ""
        advice = f" {self.glyphs.arrow} {one_line(e.instead, 200)}" if e.instead else ""
        by = f" {by_whom(e.by)}" if e.by else ""
        why = f"denied{by} ({e.rule}){part}: {one_line(e.reason, 200)}"
        yield log_line(
            f"{self.glyphs.denied} {_call_text(call)} {self.glyphs.between} {why}{advice}", "red", 1
        )

    def on_tool_allowed(self, e: ev.ToolAllowed, entry: Entry) -> Iterator[LogLine]:
        if e.scope == "again":
            call = entry.call if isinstance(entry, CallEntry) else Call("", e.name, {})
            why = f"allowed earlier for this session ({e.rule})"
            yield log_line(
                f"{self.glyphs.ok} {_call_text(call)} {self.glyphs.between} {why}", "", 1
            )

    def on_tool_rewritten(self, e: ev.ToolRewritten, _: Entry) -> Iterator[LogLine]:
        rule = f" ({e.rule})" if e.rule else ""
        before = one_line(e.before, 120)
        yield log_line(
            f"{self.glyphs.retry} rewritten{rule}: {before} {self.glyphs.arrow} {e.after}", "", 1
        )

    def on_gate_checked(self, _: ev.GateChecked, entry: CheckEntry) -> Iterator[LogLine]:
        receipt, look = entry.receipt, RECEIPT[entry.receipt.status]
        code = f", exit {receipt.exit_code}" if receipt.exit_code else ""
        counts = f", {receipt.counts.text}" if receipt.counts else ""
        repeats_code = receipt.reason == f"exit status {receipt.exit_code}"
        why = f": {one_line(receipt.reason, 240)}" if receipt.reason and not repeats_code else ""
        outcome = f"{look.word}{code}, {took(receipt.seconds)}{counts}{why}"
        text = (
            f"{getattr(self.glyphs, look.glyph)} {receipt.command} {self.glyphs.between} {outcome}"
        )
        yield log_line(text, "" if receipt.ok else "yellow", 2)
        yield from self.output_lines(receipt.tail, 3)

    def on_step_finished(self, e: ev.StepFinished, note: NoteEntry) -> Iterator[LogLine]:
        yield from self.sentence_lines(e, note)
        if self.verbose:
            yield from self.output_lines(e.tail, 2)
        elif e.outcome is StepOutcome.FAILED:
            tail = e.tail.strip().splitlines()[-MOST_DETAILS:]
            yield from (log_line(text, "dim", 2) for text in tail)

    def on_question_asked(self, e: ev.QuestionAsked, _: Entry) -> Iterator[LogLine]:
        yield from question_lines(self.glyphs, e.question)
        if e.question.is_open:
            yield log_line(f"to answer: ralph answer {e.question.id} TEXT", "dim", 2)

    def on_loop_finished(self, e: ev.LoopFinished, _: Entry) -> Iterator[LogLine]:
        tone = "bold green" if e.status is LoopStatus.COMPLETE else "bold yellow"
        unverified = f" ({e.tasks_unverified} unverified)" if e.tasks_unverified else ""
        yield log_line(
            f"ralph: {e.tasks_complete} of {plural(e.tasks_total, 'task')} complete{unverified}, "
            f"{plural(e.iterations, 'iteration')}, {money(e.cost_usd)}, {took(e.seconds)}",
        )
        tasks = tuple(self.view.tasks.values())
        if e.iterations and tasks:
            facts = result_facts(tasks, e)
            told = ("Cost", "Next" if e.hint else "")  # in the lines above and below
            for name, text in facts.items():
                if name not in told:
                    yield log_line(f"{name}: {text}", "", 1)
        label, reason = END[e.status].word, one_line(e.reason, 600)
        ending = reason if reason.startswith(label) else f"{label}: {reason}"
        stop = "." if e.hint and not ending.endswith(".") else ""
        yield log_line(zoned(f"ralph: {ending}{stop} {e.hint}"), tone)

    def on_tool_started(self, _: ev.ToolStarted, __: Entry) -> Iterator[LogLine]:
        yield from ()  # the line is written when the call ends


def question_lines(signs: Glyphs, asked: AskedQuestion) -> Iterator[LogLine]:
    question = asked.question
    header = f" ({question.header})" if question.header else ""
    note = " (choose any number)" if question.multi_select else ""
    yield log_line(
        f"{signs.asking} {asked.phase} asks{header}: {question.question}{note}", "bold cyan"
    )
    if asked.permission is not None:
        yield from _permission_lines(asked.permission)
    for number, option in enumerate(question.options, 1):
        about = f" {signs.between} {option.description}" if option.description else ""
        yield log_line(f"{number}. {option.label}{about}", "", 2)


def _permission_lines(permission: Permission) -> Iterator[LogLine]:
    yield log_line("runs:" if permission.asked else "the full call:", "dim", 2)
    yield from (LogLine(inert(text), "", 3) for text in permission.argument.splitlines())
    if permission.asked:
        yield log_line("as the agent wrote it:", "dim", 2)
        yield from (LogLine(inert(text), "", 3) for text in permission.asked.splitlines())
    if permission.reason:
        yield log_line(f"because {permission.reason} ({permission.rule})", "dim", 2)


def _call_text(call: Call) -> str:
    renderer = renderer_for(call)
    return one_line(f"{renderer.verb} {renderer.argument(call)}", 160)
