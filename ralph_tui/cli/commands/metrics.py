"""`ralph metrics`: computes the success metrics from the journal."""

from typing import TYPE_CHECKING

import typer

from ralph_tui.cli.console import note, out, out_json
from ralph_tui.cli.options import AsJson, ProjectRoot, examples
from ralph_tui.cli.project_lookup import find_project

if TYPE_CHECKING:
    from ralph_tui.domain.view.metrics import Metric

app = typer.Typer()


@app.command(epilog=examples("ralph metrics --json"))
def metrics(*, project_root: ProjectRoot = None, as_json: AsJson = False) -> None:
    """Compute the seven success metrics from the journal."""
    from ralph_tui.domain.formatting import plural
    from ralph_tui.store.journal.metrics_cache import MeasuredJournal

    journal = MeasuredJournal(find_project(project_root).layout.events)
    found = journal.metrics()
    if journal.unreadable:
        note(f"Passed over in the journal: {plural(journal.unreadable, 'unreadable line')}.")
    if as_json:
        out_json([{**m.model_dump(), "value": m.value} for m in found])
    else:
        _print(found)


def _print(found: "tuple[Metric, ...]") -> None:
    width = max(len(metric.title) for metric in found)
    for metric in found:
        value = "unknown" if metric.value is None else f"{metric.value:.0%}"
        why = (
            metric.unknown
            if metric.value is None
            else f"{metric.numerator:,.0f} / {metric.denominator:,.0f}"
        )
        out(f"{metric.title.ljust(width)}  {value.rjust(7)}  (target {metric.target})  {why}")
        out(f"{' ' * width}  {metric.definition}")
