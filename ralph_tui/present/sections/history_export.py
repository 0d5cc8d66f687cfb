"""Export the run history as CSV, JSON or Markdown. Pure functions."""

import csv
import io
import json
from collections.abc import Sequence

from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.view.forecast import Forecast, forecast
from ralph_tui.domain.view.metrics import Metric
from ralph_tui.domain.view.run_history import Iteration, RunHistory
from ralph_tui.present.sections.history_table import metric_words
from ralph_tui.present.sections.iteration_lines import look_of

_COLUMNS = (
    *("number", "task_id", "title", "outcome", "reason", "attempt", "phase", "cost_usd", "tokens"),
    *("context_tokens", "capacity", "seconds", "handoff", "denials", "started_at", "ended_at"),
    *("session_id", "run_id", "model", "open_tasks", "total_tasks"),
)


def export_text(form: str, chronicle: RunHistory, metrics: Sequence[Metric], left: Forecast) -> str:
    """Return the whole history as the text of a file.

    Args:
        form: `csv`, `json` or `md`.
    """
    if form == "csv":
        out = io.StringIO()
        writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        for row in _rows(chronicle.iterations):
            writer.writerow({name: _cell(row[name]) for name in _COLUMNS})
        return out.getvalue()
    if form == "json":
        return _json(chronicle, metrics, left)
    return _markdown(chronicle, metrics, left)


def forecast_of(chronicle: RunHistory, open_tasks: int | None) -> Forecast:
    """Return the forecast from the attempts so far.

    Args:
        open_tasks: The number of open tasks; None uses the number after the last iteration.
    """
    its = chronicle.iterations
    attempts = [it for it in its if it.phase is Phase.BUILDING]
    known = its[-1].open_tasks if its else 0
    return forecast(attempts, known if open_tasks is None else open_tasks)


def _rows(iterations: Sequence[Iteration]) -> list[dict[str, object]]:
    return [it.model_dump(mode="json", include=set(_COLUMNS)) for it in iterations]


def _cell(value: object) -> object:
    if isinstance(value, str):
        text = one_line(value, 2000)
        return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
    if isinstance(value, float):
        return round(value, 6)
    return "" if value is None else value


def _json(chronicle: RunHistory, metrics: Sequence[Metric], left: Forecast) -> str:
    document = {
        "runs": [run.model_dump(mode="json", exclude={"start", "end"}) for run in chronicle.runs],
        "iterations": [
            {**row, "files": list(it.files)}
            for row, it in zip(_rows(chronicle.iterations), chronicle.iterations, strict=True)
        ],
        "metrics": [{**metric.model_dump(), "value": metric.value} for metric in metrics],
        "forecast": {**left.model_dump(), "basis": left.basis},
    }
    return json.dumps(document, indent=2, ensure_ascii=True) + "\n"


def _markdown(chronicle: RunHistory, metrics: Sequence[Metric], left: Forecast) -> str:
    its = chronicle.iterations
    lines = [
        "# History",
        "",
        f"- Runs: {len(chronicle.runs)}",
        f"- Iterations: {len(its)}",
        f"- Cost: ${sum(it.cost_usd for it in its):.2f}",
        f"- Tokens: {sum(it.tokens for it in its):,}",
        f"- Tasks left: {left.open_tasks} ({left.basis})",
        "",
        "| Iteration | Task | Outcome | Cost | Tokens | Context | Seconds |",
        "| ---: | --- | --- | ---: | ---: | ---: | ---: |",
        *(
            f"| {it.number} | {_table_cell(it.task_id)} | {look_of(it).word} | ${it.cost_usd:.2f} "
            f"| {it.tokens:,} | {it.percent:.0f} % | {it.seconds:.0f} |"
            for it in its
        ),
        "",
        "| Metric | Value | Counted | Meaning |",
        "| --- | ---: | --- | --- |",
        *(_metric_row(metric) for metric in metrics),
    ]
    return "\n".join(lines) + "\n"


def _metric_row(metric: Metric) -> str:
    words = metric_words(metric)
    counted = ", ".join(filter(None, (words.counted, words.verdict)))
    return f"| {metric.title} | {words.value} | {counted} | {words.about} |"


def _table_cell(text: str) -> str:
    return one_line(text).replace("|", "\\|")
