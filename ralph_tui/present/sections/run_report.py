"""The report of a run: its data, as Markdown, and as one HTML page without scripts or external resources. Pure functions."""

import html
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Annotated

from markdown_it import MarkdownIt
from pydantic import AfterValidator, Field

from ralph_tui.domain.base import Model
from ralph_tui.domain.documents.validation_report import ValidationReport
from ralph_tui.domain.events import ToolDenied
from ralph_tui.domain.formatting import plural, shortlist, took
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.project_state import RalphState
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.domain.verification.verification import Receipt
from ralph_tui.domain.view.metrics import Metric, metrics_of
from ralph_tui.domain.view.run_history import Iteration, RunHistory
from ralph_tui.present.events.run_result import result_facts
from ralph_tui.present.sections.history_totals import metric_words
from ralph_tui.present.text.figures import money, stamp, tokens, zoned
from ralph_tui.present.text.status_labels import RECEIPT

Said = Annotated[str, AfterValidator(lambda text: one_line(text, 1_000))]
"""A text on one line, inert and without secrets."""


class CheckLine(Model):
    """One check of the last claim that was verified."""

    command: Said
    result: str
    seconds: float = 0.0
    reason: Said = ""


class TaskLine(Model):
    """One task, with the basis of its completion."""

    id: Said
    title: Said
    status: str
    outcome: str = ""
    """The basis of the completion: verified, unverified, reviewed or accepted; empty for an open task."""
    reason: Said = ""
    cost_usd: float | None = None
    tokens: int | None = None
    checks: tuple[CheckLine, ...] = ()


class TimelineLine(Model):
    """One iteration from the journal."""

    started_at: datetime | None = None
    iteration: int
    task_id: Said
    outcome: str = ""
    """How the iteration ended; empty if it has not, or was killed."""
    reason: Said = ""
    cost_usd: float = 0.0
    seconds: float = 0.0
    files: tuple[Said, ...] = ()


class DeniedLine(Model):
    """One call that the guard refused."""

    iteration: int
    rule: Said
    command: Said
    reason: Said


class CriterionLine(Model):
    """One acceptance criterion with the result of its validation."""

    criterion: Said
    passed: bool
    evidence: Said


class RunReport(Model):
    """Everything that a report shows."""

    project: str
    feature: str = ""
    request: str = ""
    ending: str = ""
    facts: dict[str, str] = Field(default_factory=dict)
    runs: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    tasks: tuple[TaskLine, ...] = ()
    files: tuple[str, ...] = ()
    timeline: tuple[TimelineLine, ...] = ()
    denied: tuple[DeniedLine, ...] = ()
    reviewed: bool = False
    """Whether there is a validation report."""
    criteria: tuple[CriterionLine, ...] = ()
    gaps: tuple[str, ...] = ()
    metrics: tuple[Metric, ...] = ()

    @property
    def complete(self) -> int:
        return sum(task.status == TaskStatus.COMPLETE.value for task in self.tasks)

    @property
    def totals(self) -> str:
        """The totals of all runs in words; empty without runs, and if the facts of a single run say the same."""
        if not self.timeline or (self.runs <= 1 and "Cost" in self.facts):
            return ""
        counted = (plural(self.runs, "run"), plural(len(self.timeline), "iteration"))
        return ", ".join((money(self.cost_usd), *counted, took(self.seconds)))


def collect_report(
    project: str,
    feature: str,
    state: RalphState,
    plan: ImplementationPlan,
    past: RunHistory,
    validation: ValidationReport | None,
) -> RunReport:
    finished = past.runs[-1].finished if past.runs else None
    ending = one_line(finished.reason, 500) if finished is not None else ""
    if past.undone:
        undone = [one_line(task_id, 80) for task_id in past.undone]
        finished, ending = None, f"You undid {shortlist(undone, 3)} after the run."
    judged = validation.specs if validation is not None else ()
    timeline = tuple(map(_timeline_line, past.iterations))
    return RunReport(
        project=one_line(project),
        feature=feature,
        request=inert(state.request).strip(),
        ending=ending,
        facts=result_facts(plan.tasks, finished),
        runs=len(past.runs),
        cost_usd=state.total_cost_usd,
        seconds=past.seconds,
        tasks=tuple(
            _task(task, () if task.id in past.undone else past.receipts.get(task.id, ()))
            for task in plan.tasks
        ),
        files=tuple(sorted({path for line in timeline for path in line.files})),
        timeline=timeline,
        denied=tuple(
            DeniedLine(iteration=number, rule=e.rule, command=e.part, reason=e.reason)
            for number, e in past.rulings
            if isinstance(e, ToolDenied)
        ),
        reviewed=validation is not None,
        criteria=tuple(
            CriterionLine(criterion=c.criterion, passed=c.passed, evidence=c.evidence)
            for spec in judged
            for c in spec.criteria
        ),
        gaps=tuple(one_line(gap, 500) for spec in judged for gap in spec.gaps),
        metrics=metrics_of(past),
    )


def _timeline_line(it: Iteration) -> TimelineLine:
    word = it.outcome.value.replace("_", " ") if it.outcome else ""
    return TimelineLine(
        started_at=it.started_at,
        iteration=it.number,
        task_id=it.task_id,
        outcome="undone" if it.is_undone else word,
        reason="" if it.is_undone else it.reason,
        cost_usd=it.cost_usd,
        seconds=it.seconds,
        files=() if it.is_undone else it.files,
    )


def _task(task: Task, receipts: Sequence[Receipt]) -> TaskLine:
    basis = task.verification if task.status is TaskStatus.COMPLETE else None
    return TaskLine(
        id=task.id,
        title=task.title,
        status=task.status.value,
        outcome=basis.outcome.value if basis is not None else "",
        reason=basis.reason if basis is not None else task.last_failure,
        cost_usd=task.actual_cost_usd,
        tokens=task.actual_tokens_used,
        checks=tuple(
            CheckLine(
                command=one.command,
                result=RECEIPT[one.status].word,
                seconds=one.seconds,
                reason=one.reason,
            )
            for one in receipts
        ),
    )


MARK = "<!-- ralph report -->"
"""Marks every page, so that a newer report may replace it, but no other file."""

_NO_END = "The last run has not ended, or was cut off."

NOTHING = "\u2013"


def _sections(report: RunReport) -> Iterator[tuple[str, list[str]]]:
    if report.request:
        yield "Request", _text(report.request)
    ending = _NO_END if report.runs or report.timeline else "Nothing has run yet."
    if report.ending:
        ending = zoned(f"{report.ending[:1].upper()}{report.ending[1:].rstrip('.')}.")
    facts = {label: zoned(text) for label, text in report.facts.items()}
    if report.totals:
        facts["All runs"] = report.totals
    if "Try it" in facts:
        facts["Try it"] = f"`{facts['Try it']}`"
    listed = [f"- **{label}:** {_with_code(text)}" for label, text in facts.items()]
    yield "Result", [*_text(ending), *(["", *listed] if listed else [])]
    if report.files:
        yield "Files changed", _table(("File",), [(path,) for path in report.files])
    head: tuple[str, ...] = ("Task", "Title", "Status", "Verification", "Cost", "Tokens")
    tasks = [
        (
            *(task.id, task.title, task.status.replace("_", " ")),
            ": ".join(filter(None, (task.outcome, task.reason))) or NOTHING,
            NOTHING if task.cost_usd is None else money(task.cost_usd),
            NOTHING if task.tokens is None else tokens(task.tokens),
        )
        for task in report.tasks
    ]
    yield "Tasks", _table(head, tasks) or _text("There is no plan yet.")
    checks = [
        (task.id, check.command, check.result, took(check.seconds), check.reason or NOTHING)
        for task in report.tasks
        for check in task.checks
    ]
    if checks:
        note = "Ralph ran these commands itself when the task was last claimed complete."
        head = ("Task", "Command", "Result", "Time", "Reason")
        yield "Checks", [*_text(note), *_table(head, checks)]
    yield "Validation", _review(report)
    if report.timeline:
        head = ("Started", "Iteration", "Task", "Outcome", "Cost", "Time")
        iterations = [
            (
                stamp(line.started_at) if line.started_at else NOTHING,
                *(str(line.iteration), line.task_id, line.outcome or "not finished"),
                *(money(line.cost_usd), took(line.seconds)),
            )
            for line in report.timeline
        ]
        yield "Timeline", _table(head, iterations)
    denied = [(str(one.iteration), one.rule, one.command, one.reason) for one in report.denied]
    head = ("Iteration", "Rule", "Call", "Reason")
    yield "Denied calls", _table(head, denied) or _text("None.")
    if report.timeline:
        words = [(metric.title, metric_words(metric)) for metric in report.metrics]
        counted = [
            (title, one.value, ", ".join(filter(None, (one.counted, one.verdict))), one.about)
            for title, one in words
        ]
        yield "Metrics", _table(("Metric", "Value", "Counted", "Meaning"), counted)


def _review(report: RunReport) -> list[str]:
    if not report.reviewed:
        return _text("The result has not been validated.")
    passed, count = sum(c.passed for c in report.criteria), len(report.criteria)
    noun = "criterion" if count == 1 else "criteria"
    judged = f"{passed} of {count} acceptance {noun} passed."
    gaps = (f"Gap: {gap}" for gap in report.gaps)
    rows = [(c.criterion, "passed" if c.passed else "failed", c.evidence) for c in report.criteria]
    return [
        *_text(judged if count else "There were no acceptance criteria to check.", *gaps),
        *_table(("Criterion", "Result", "Evidence"), rows),
    ]


def _title(report: RunReport) -> str:
    return " / ".join(filter(None, (report.project, report.feature)))


def report_markdown(report: RunReport) -> str:
    """Return the report as Markdown. Its texts are escaped, so that none becomes markup."""
    lines = [MARK, "", f"# {_plain(_title(report).strip())}"]
    for title, section in _sections(report):
        lines += ["", f"## {title}", *section]
    return "\n".join(lines) + "\n"


def _text(*paragraphs: str) -> list[str]:
    return [
        line
        for paragraph in paragraphs
        for line in ("", *(_plain(line.strip()) for line in paragraph.splitlines()))
    ]


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    if not rows:
        return []
    return ["", _row(head), _row(["---"] * len(head), plain=False), *map(_row, rows)]


_MARKUP = re.compile(
    r"""(
    [\\`*\[\]<|~@]            # code, emphasis, links, HTML, tables, mentions
    |!(?=\[)|&(?=\#?\w+;)       # pictures, entities
    |(?<![^\W_])_|_(?![^\W_])   # emphasis; inside a word it is none
    |:(?=//)|:(?=[a-z+-][\w+-]*:)|\#(?=\d)|(?<=www)\.  # what sites make links and pictures of
    |^[-+=>\#]             # the beginning of a list, a heading, a quotation
    |(?:(?<=^\d)|(?<=^\d\d)|(?<=^\d{3}))[.)](?=\s|$)
    )""",
    re.VERBOSE | re.IGNORECASE,
)


def _plain(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text)


def _with_code(text: str) -> str:
    pieces = text.split("`")
    if len(pieces) % 2 == 0 or not all(map(str.strip, pieces[1::2])):
        return _plain(text)
    return "".join(f"`{piece}`" if at % 2 else _plain(piece) for at, piece in enumerate(pieces))


def _row(cells: Sequence[str], *, plain: bool = True) -> str:
    return f"| {' | '.join(_plain(cell.strip()) if plain else cell for cell in cells)} |"


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #1f2328; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2rem; }
p { white-space: pre-wrap; } p, li { overflow-wrap: anywhere; }
table { border-collapse: collapse; display: block; overflow-x: auto; font-size: 0.9rem; }
td { min-width: 5rem; } th { white-space: nowrap; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid #d0d7de; }
code { font-family: ui-monospace, monospace; font-size: 0.9em; }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117; } th, td { border-color: #30363d; }
}
"""


def report_html(report: RunReport) -> str:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    parts = [
        "<!DOCTYPE html>",
        MARK,
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{html.escape(_title(report))}</title><style>{_STYLE}</style></head><body>",
        reader.render(report_markdown(report).removeprefix(MARK)),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"
