"""Show what a person is asked to approve: specs, plan, validation report. Pure functions."""

from collections.abc import Mapping, Sequence
from functools import partial

from ralph_tui.domain.documents.specs import Spec
from ralph_tui.domain.documents.validation_report import SpecResult, ValidationReport
from ralph_tui.domain.formatting import plural
from ralph_tui.domain.plan.plan import Task, TaskStatus, in_order
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.domain.sanitize import head, one_line
from ralph_tui.domain.verification.verification import criterion_text
from ralph_tui.present.sections.task_parts import check_lines
from ralph_tui.present.text.figures import tokens
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.markdown import markdown_lines
from ralph_tui.present.text.parts import LazyLines, LineBlock, Part, parts_blocks
from ralph_tui.present.text.spans import Line, Span, Tone

APPROVAL_HEADINGS = {
    ApprovalKind.SPECS: "Review the specs",
    ApprovalKind.PLAN: "Review the plan",
    ApprovalKind.VALIDATION: "Review the result",
    ApprovalKind.LIMIT: "Usage limit: wait for the reset?",
    ApprovalKind.UNVERIFIED: "No checks: build these tasks unverified?",
    ApprovalKind.RECOVERY: "Breaker open: try one more iteration?",
}


_MAX_TEXT = 60_000


def spec_parts(specs: Sequence[Spec], glyphs: Glyphs) -> list[Part]:
    if not specs:
        return [Part("No specs", [[Span("There is no file in specs/.", Tone.WARN)]])]
    return [Part(spec.path, _spec_lines(spec, glyphs)) for spec in specs]


def _spec_lines(spec: Spec, glyphs: Glyphs) -> list[Line]:
    lines: list[Line] = [
        [Span(f"{glyphs.warning} ", Tone.WARN), Span(f"missing: {problem}", Tone.WARN)]
        for problem in spec.problems()
    ]
    gap: list[Line] = [[]] if lines else []
    return [*lines, *gap, *markdown_lines(head(spec.text, _MAX_TEXT), glyphs)]


SHORT_ABOVE = 500
"""A plan with more tasks is shown with one line per task, because nobody reads it from top to bottom."""


def plan_blocks(tasks: Mapping[str, Task], glyphs: Glyphs) -> list[LineBlock]:
    """Return the open tasks as blocks to select from: in full, or on one line each if there are very many."""
    if len(tasks) <= SHORT_ABOVE:
        return parts_blocks(plan_parts(tasks, glyphs))
    blocks = [
        LineBlock(task.id, LazyLines(partial(_task_line, task)), folds=False)
        for task in in_order(tasks.values())
    ]
    done = len(tasks) - len(blocks)
    if done:
        note = [Span(f"{plural(done, 'task')} already complete", Tone.MUTED)]
        blocks.append(LineBlock(None, [[], note]))
    return blocks


def _special_state(task: Task) -> str:
    is_pending = task.status is TaskStatus.PENDING and not task.is_held
    return "" if is_pending else task.status_word


def _task_line(task: Task) -> list[Line]:
    state = _special_state(task)
    return [
        [
            Span(f"{task.id}  ", Tone.INFO),
            Span(f"{task.priority}  ", Tone.MUTED),
            Span(one_line(task.title, 200)),
            Span(f"  {state}" if state else "", Tone.MUTED),
        ]
    ]


def plan_parts(tasks: Mapping[str, Task], glyphs: Glyphs) -> list[Part]:
    parts = [
        Part(f"{task.id}  {task.title}", _task_lines(task, glyphs), key=task.id)
        for task in in_order(tasks.values())
    ]
    done = len(tasks) - len(parts)
    if done:
        parts.append(Part(f"{plural(done, 'task')} already complete", []))
    return parts or [Part("The plan is empty", [])]


def _task_lines(task: Task, glyphs: Glyphs) -> list[Line]:
    rest = task.description.strip().splitlines()[1:]
    lines: list[Line] = [[Span(text)] for text in rest if text.strip()]
    lines += [
        [Span(f"{glyphs.idle} ", Tone.MUTED), Span(criterion_text(criterion))]
        for criterion in task.verification_criteria
    ]
    if not task.verification_criteria:
        lines.append([Span("No task-specific checks", Tone.WARN)])
    if task.dependencies:
        lines.append([Span("after  ", Tone.MUTED), Span(", ".join(task.dependencies))])
    size = f", about {tokens(task.estimated_tokens)} tokens" if task.estimated_tokens else ""
    state = f", {special}" if (special := _special_state(task)) else ""
    model = f", model {task.model}" if task.model else ""
    lines.append([Span(f"priority {task.priority}{size}{state}{model}", Tone.MUTED)])
    return lines


def report_parts(report: ValidationReport | None, glyphs: Glyphs) -> list[Part]:
    if report is None:
        return [Part("No report", [[Span("The validation report cannot be read.", Tone.WARN)]])]
    parts = [Part(f"Round {report.round}", [[Span(t)] for t in report.summary.splitlines()])]
    if report.checks:
        ran = [line for one in report.checks for line in check_lines(one.command, one, glyphs)]
        parts.append(Part("Checks that ralph ran", ran))
    parts += [Part(result.spec, _result_lines(result, glyphs)) for result in report.specs]
    if report.observations:
        parts.append(Part("Observed with other tools", [[Span(t)] for t in report.observations]))
    return parts


def _result_lines(result: SpecResult, glyphs: Glyphs) -> list[Line]:
    lines: list[Line] = []
    passed, failed = Span(f"{glyphs.ok} ", Tone.OK), Span(f"{glyphs.failed} ", Tone.BAD)
    for found in result.criteria:
        lines.append([passed if found.passed else failed, Span(found.criterion)])
        lines += [[Span("    "), Span(text, Tone.MUTED)] for text in found.evidence.splitlines()]
    return [*lines, *([Span("gap  ", Tone.BAD), Span(gap)] for gap in result.gaps)]
