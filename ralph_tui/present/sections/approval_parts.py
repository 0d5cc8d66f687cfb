"""Shows what a person is asked to agree to: specs, plan, validation report. Pure functions."""

from collections.abc import Mapping, Sequence
from functools import partial

from ralph_tui.domain.documents.specs import Spec
from ralph_tui.domain.documents.validation_report import (
    CriterionResult,
    Seen,
    SpecResult,
    ValidationReport,
)
from ralph_tui.domain.formatting import plural, took
from ralph_tui.domain.plan.plan import Task, TaskStatus, in_order
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.domain.sanitize import head, inert, one_line
from ralph_tui.domain.verification.verification import Receipt, criterion_text, receipt_facts
from ralph_tui.present.text.figures import tokens
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.markdown import markdown_lines
from ralph_tui.present.text.parts import LazyLines, LineBlock, Part, parts_blocks
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.text.status_labels import RECEIPT, task_word
from ralph_tui.present.timeline.entry_lines import receipt_note

_HEADINGS = {
    ApprovalKind.LIMIT: "limit: shall the loop wait for it?",
    ApprovalKind.UNVERIFIED: "no checks: build these tasks unverified?",
    ApprovalKind.RECOVERY: "breaker: shall one more iteration try?",
}
"""Headings of decisions that are no approval."""


def approval_heading(kind: ApprovalKind) -> str:
    """Say what is asked."""
    return _HEADINGS.get(kind, f"{kind}: needs your approval")


_MAX_TEXT = 60_000
_SIGHT_LINES = 8


def spec_parts(specs: Sequence[Spec], glyphs: Glyphs) -> list[Part]:
    """Show every spec as a person reads it, with what is missing above it."""
    if not specs:
        return [Part("No specs", [[Span("There is no file in specs/.", Tone.WARN)]])]
    return [Part(spec.path, _spec(spec, glyphs)) for spec in specs]


def _spec(spec: Spec, glyphs: Glyphs) -> list[Line]:
    lines: list[Line] = [
        [Span(f"{glyphs.warning} ", Tone.WARN), Span(f"lacks {problem}", Tone.WARN)]
        for problem in spec.problems()
    ]
    gap: list[Line] = [[]] if lines else []
    return [*lines, *gap, *markdown_lines(head(spec.text, _MAX_TEXT), glyphs)]


SHORT_ABOVE = 500
"""Tasks up to which a plan is shown in full; nobody reads a longer one from top to bottom."""


def plan_blocks(tasks: Mapping[str, Task], glyphs: Glyphs) -> list[LineBlock]:
    """List the open tasks to choose from: in full, or a line each where there are very many."""
    if len(tasks) <= SHORT_ABOVE:
        return parts_blocks(plan_parts(tasks, glyphs))
    blocks = [
        LineBlock(task.id, LazyLines(partial(_short, task)), folds=False)
        for task in in_order(tasks.values())
    ]
    done = len(tasks) - len(blocks)
    said = f"{plural(done, 'task')} complete already" if done else ""
    return [*blocks, *([LineBlock(None, [[], [Span(said, Tone.MUTED)]])] if said else [])]


def _short(task: Task) -> list[Line]:
    is_open = task.status is TaskStatus.PENDING and not task.is_held
    state = "" if is_open else f"  {task_word(task)}"
    return [
        [
            Span(f"{task.id}  ", Tone.INFO),
            Span(f"{task.priority}  ", Tone.MUTED),
            Span(one_line(task.title, 200)),
            Span(state, Tone.MUTED),
        ]
    ]


def plan_parts(tasks: Mapping[str, Task], glyphs: Glyphs) -> list[Part]:
    """Show the open tasks with everything that was planned for them; each can be chosen."""
    parts = [
        Part(f"{task.id}  {task.title}", _task(task, glyphs), key=task.id)
        for task in in_order(tasks.values())
    ]
    done = len(tasks) - len(parts)
    if done:
        parts.append(Part(f"{plural(done, 'task')} complete already", []))
    return parts or [Part("The plan is empty", [])]


def _task(task: Task, glyphs: Glyphs) -> list[Line]:
    rest = task.description.strip().splitlines()[1:]
    lines: list[Line] = [[Span(text)] for text in rest if text.strip()]
    lines += [
        [Span(f"{glyphs.idle} ", Tone.MUTED), Span(criterion_text(criterion))]
        for criterion in task.verification_criteria
    ]
    if not task.verification_criteria:
        lines.append([Span("only the gate's own commands check it", Tone.WARN)])
    if task.dependencies:
        lines.append([Span("after  ", Tone.MUTED), Span(", ".join(task.dependencies))])
    size = f", about {tokens(task.estimated_tokens)} tokens" if task.estimated_tokens else ""
    is_open = task.status is TaskStatus.PENDING and not task.is_held
    state = "" if is_open else f", {task_word(task)}"
    state += f", model {task.model}" if task.model else ""
    lines.append([Span(f"priority {task.priority}{size}{state}", Tone.MUTED)])
    return lines


def report_parts(report: ValidationReport | None, glyphs: Glyphs) -> list[Part]:
    """Show every check and every criterion with its evidence."""
    if report is None:
        return [Part("No report", [[Span("The validation report cannot be read.", Tone.WARN)]])]
    parts = [Part(f"Round {report.round}", [[Span(t)] for t in report.summary.splitlines()])]
    if report.checks:
        ran = [line for receipt in report.checks for line in _check(receipt, glyphs)]
        parts.append(Part("Checks that ralph ran", ran))
    parts += [Part(result.spec, _findings(result, glyphs)) for result in report.specs]
    if report.observations:
        parts.append(Part("Seen with other tools", [[Span(t)] for t in report.observations]))
    if report.seen:
        shown = [line for sight in report.seen for line in _sight(sight)]
        parts.append(Part("What those tools returned", shown))
    return parts


def _sight(sight: Seen) -> list[Line]:
    """Show one look with an extra tool: what was asked, what it returned, where its pictures are."""
    about = f"{sight.tool}  {sight.input}".strip()
    said = sight.text.splitlines()[:_SIGHT_LINES]
    lines: list[Line] = [[Span(inert(about), Tone.MUTED)]] if about else []
    lines += [[Span("  "), Span(inert(text))] for text in said if text.strip()]
    lines += [[Span("  picture  ", Tone.MUTED), Span(inert(path))] for path in sight.pictures]
    return lines


def _check(receipt: Receipt, glyphs: Glyphs) -> list[Line]:
    """Show one check, and below it what its receipt rests on."""
    look = RECEIPT[receipt.status]
    word = receipt_note(receipt) or look.word
    ran: Line = [
        Span(f"{getattr(glyphs, look.glyph)} ", look.tone),
        Span(f"{word}  {took(receipt.seconds)}  ", Tone.MUTED),
        Span(receipt.command),
    ]
    facts = "; ".join(receipt_facts(receipt))
    return [ran, [Span("    "), Span(inert(facts), Tone.MUTED)]] if facts else [ran]


def _findings(result: SpecResult, glyphs: Glyphs) -> list[Line]:
    lines = [line for found in result.criteria for line in _finding(found, glyphs)]
    return [*lines, *([Span("gap  ", Tone.BAD), Span(gap)] for gap in result.gaps)]


def _finding(found: CriterionResult, glyphs: Glyphs) -> list[Line]:
    sign = Span(f"{glyphs.ok} ", Tone.OK) if found.passed else Span(f"{glyphs.failed} ", Tone.BAD)
    evidence: list[Line] = [
        [Span("    "), Span(text, Tone.MUTED)] for text in found.evidence.splitlines()
    ]
    return [[sign, Span(found.criterion)], *evidence]
