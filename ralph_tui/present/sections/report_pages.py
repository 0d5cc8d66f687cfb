"""Write a report as Markdown, or as one HTML page without scripts or external resources. Pure functions."""

import html
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from markdown_it import MarkdownIt

from ralph_tui.domain.formatting import took
from ralph_tui.present.sections.history_totals import metric_words
from ralph_tui.present.sections.run_report import RunReport
from ralph_tui.present.text.figures import money, stamp, tokens, zoned

MARK = "<!-- ralph report -->"
"""Marks every page, so that a newer report may replace it, but no other file."""

_NO_END = "The last run has not ended, or was cut off."

NOTHING = "\u2013"


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading with paragraphs, facts and a table, all as plain text."""

    title: str
    paragraphs: Sequence[str] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
    head: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()


def _sections(report: RunReport) -> Iterator[_Section]:
    if report.request:
        yield _Section("Request", (report.request,))
    ending = _NO_END if report.runs or report.timeline else "Nothing has run yet."
    if report.ending:
        ending = zoned(f"{report.ending[:1].upper()}{report.ending[1:].rstrip('.')}.")
    facts = {label: zoned(text) for label, text in report.facts.items()}
    if report.totals:
        facts["All runs"] = report.totals
    if "Try it" in facts:
        facts["Try it"] = f"`{facts['Try it']}`"
    yield _Section("Result", (ending,), facts)
    if report.files:
        rows = [(path,) for path in report.files]
        yield _Section("Files changed", head=("File",), rows=rows)
    yield _Section(
        "Tasks",
        () if report.tasks else ("There is no plan yet.",),
        {},
        ("Task", "Title", "Status", "Verification", "Cost", "Tokens"),
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
        head = ("Task", "Command", "Result", "Time", "Reason")
        yield _Section("Checks", (note,), head=head, rows=checks)
    yield _review(report)
    if report.timeline:
        yield _Section(
            "Timeline",
            (),
            {},
            ("Started", "Iteration", "Task", "Outcome", "Cost", "Time"),
            [
                (
                    stamp(line.started_at) if line.started_at else NOTHING,
                    *(str(line.iteration), line.task_id),
                    line.outcome or "not finished",
                    *(money(line.cost_usd), took(line.seconds)),
                )
                for line in report.timeline
            ],
        )
    yield _Section(
        "Denied calls",
        () if report.denied else ("None.",),
        {},
        ("Iteration", "Rule", "Call", "Reason"),
        [(str(d.iteration), d.rule, d.command, d.reason) for d in report.denied],
    )
    if report.timeline:
        words = [(metric.title, metric_words(metric)) for metric in report.metrics]
        yield _Section(
            "Metrics",
            head=("Metric", "Value", "Counted", "Meaning"),
            rows=[
                (title, one.value, ", ".join(filter(None, (one.counted, one.verdict))), one.about)
                for title, one in words
            ],
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
        {},
        ("Criterion", "Result", "Evidence"),
        [(c.criterion, "passed" if c.passed else "failed", c.evidence) for c in report.criteria],
    )


def _title(report: RunReport) -> str:
    return " / ".join(filter(None, (report.project, report.feature)))


def report_markdown(report: RunReport) -> str:
    """Return the report as Markdown. Its texts are escaped, so that none becomes markup."""
    lines = [MARK, "", f"# {_plain(_title(report).strip())}"]
    for section in _sections(report):
        lines += ["", f"## {section.title}"]
        for paragraph in section.paragraphs:
            lines += ["", *(_plain(line.strip()) for line in paragraph.splitlines())]
        if section.facts:
            lines += [
                "",
                *(f"- **{label}:** {_with_code(text)}" for label, text in section.facts.items()),
            ]
        if section.rows:
            lines += ["", _row(section.head), _row(["---"] * len(section.head), plain=False)]
            lines += [_row(row) for row in section.rows]
    return "\n".join(lines) + "\n"


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
