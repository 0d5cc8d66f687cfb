"""Writes a report as Markdown or as one HTML page without scripts or outside resources. Pure functions."""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ralph_tui.domain.formatting import took
from ralph_tui.present.sections.run_report import RunReport
from ralph_tui.present.text.figures import money, tokens, when

MARK = "<!-- ralph report -->"
"""Stands in every page, so that a page may be replaced by a newer one and no other file can be."""

NOTHING = "\u2013"
"""Stands in a cell without a value."""


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading with paragraphs and perhaps a table; plain text in all of them."""

    title: str
    paragraphs: Sequence[str] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def _sections(report: RunReport) -> Iterator[_Section]:
    if report.request:
        yield _Section("Request", (report.request,))
    facts = [f"{report.totals}.", f"{money(report.cost_usd)}, {took(report.seconds)} of work."]
    yield _Section("Result", [*facts, *([f"{report.ending}."] if report.ending else [])])
    if report.files:
        yield _Section("Files changed", (), ("File",), [(path,) for path in report.files])
    yield _Section(
        "Tasks",
        () if report.tasks else ("There is no plan yet.",),
        ("Task", "Title", "Status", "Rests on", "Cost", "Tokens"),
        [
            (
                *(task.id, task.title, task.status.replace("_", " ")),
                ": ".join(filter(None, (task.outcome, task.reason))) or NOTHING,
                NOTHING if task.cost_usd is None else money(task.cost_usd),
                NOTHING if task.tokens is None else tokens(task.tokens),
            )
            for task in report.tasks
        ],
    )
    checks = [
        (task.id, check.command, check.result, took(check.seconds), check.reason or NOTHING)
        for task in report.tasks
        for check in task.checks
    ]
    if checks:
        note = "Ralph ran these commands itself when the task was last claimed complete."
        yield _Section("Checks", (note,), ("Task", "Command", "Result", "Time", "Reason"), checks)
    yield _review(report)
    if report.timeline:
        yield _Section(
            "Timeline",
            (),
            ("Started", "Iteration", "Task", "Outcome", "Cost", "Time"),
            [
                (
                    *(when(line.started_at), str(line.iteration), line.task_id),
                    line.outcome or "not finished",
                    *(money(line.cost_usd), took(line.seconds)),
                )
                for line in report.timeline
            ],
        )
    yield _Section(
        "Denied calls",
        () if report.denied else ("None.",),
        ("Iteration", "Rule", "Call", "Reason"),
        [(str(d.iteration), d.rule, d.command, d.reason) for d in report.denied],
    )


def _review(report: RunReport) -> _Section:
    if not report.reviewed:
        return _Section("Validation", ("The result has not been validated.",))
    passed = sum(c.passed for c in report.criteria)
    count = len(report.criteria)
    noun = "criterion" if count == 1 else "criteria"
    judged = (
        f"{passed} of {count} acceptance {noun} passed."
        if count
        else "There were no acceptance criteria to check."
    )
    return _Section(
        "Validation",
        (
            judged,
            *(f"Gap: {gap}" for gap in report.gaps),
        ),
        ("Criterion", "Result", "Evidence"),
        [(c.criterion, "passed" if c.passed else "failed", c.evidence) for c in report.criteria],
    )


def _title(report: RunReport) -> str:
    return " / ".join(filter(None, (report.project, report.feature)))


def report_markdown(report: RunReport) -> str:
    """Write the report as Markdown; no text of it can become markup."""
    lines = [MARK, "", f"# {_plain(_title(report))}"]
    for section in _sections(report):
        lines += ["", f"## {section.title}"]
        for paragraph in section.paragraphs:
            lines += ["", *(_plain(line) for line in paragraph.splitlines())]
        if section.rows:
            lines += ["", _row(section.head), _row(["---"] * len(section.head), plain=False)]
            lines += [_row(row) for row in section.rows]
    return "\n".join(lines) + "\n"


_MARKUP = re.compile(r"([\\`*_{}\[\]()<>#!|~&:@]|(?<!\S)[-+=.]|(?<=\d)[.)])")


def _plain(text: str) -> str:
    return _MARKUP.sub(r"\\\1", text.strip())


def _row(cells: Sequence[str], *, plain: bool = True) -> str:
    return f"| {' | '.join(_plain(cell) if plain else cell for cell in cells)} |"


_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 70rem; margin: 2rem auto; padding: 0 1rem; }
body { color: #1f2328; background: #fff; }
h1, h2 { line-height: 1.2; } h2 { margin-top: 2rem; }
p { white-space: pre-wrap; overflow-wrap: anywhere; }
table { border-collapse: collapse; width: 100%; font-size: 0.9rem; }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid #d0d7de; }
td { overflow-wrap: anywhere; }
@media (prefers-color-scheme: dark) {
  body { color: #e6edf3; background: #0d1117; } th, td { border-color: #30363d; }
}
"""


def report_html(report: RunReport) -> str:
    """Write the report as one page, which loads nothing and runs nothing."""
    title = html.escape(_title(report))
    parts = [
        "<!DOCTYPE html>",
        MARK,
        '<html lang="en"><head><meta charset="utf-8">',
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">",
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f"<h1>{title}</h1>",
    ]
    for section in _sections(report):
        parts.append(f"<h2>{section.title}</h2>")
        parts += [f"<p>{html.escape(text)}</p>" for text in section.paragraphs]
        if section.rows:
            parts.append(f"<table><thead>{_cells('th', section.head)}</thead><tbody>")
            parts += [_cells("td", row) for row in section.rows]
            parts.append("</tbody></table>")
    return "\n".join([*parts, "</body></html>"]) + "\n"


def _cells(tag: str, cells: Sequence[str]) -> str:
    return f"<tr>{''.join(f'<{tag}>{html.escape(cell)}</{tag}>' for cell in cells)}</tr>"
