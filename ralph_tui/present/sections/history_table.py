"""Shows the run history as totals and as a table. Pure functions."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from ralph_tui.domain.formatting import duration, plural, took
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.forecast import Forecast
from ralph_tui.domain.view.run_history import Chronicle, Iteration
from ralph_tui.present.sections.iteration_lines import look_of
from ralph_tui.present.text.figures import money, tokens, when
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.key_hints import Keys, hint
from ralph_tui.present.text.parts import LazyLines, LineBlock
from ralph_tui.present.text.spans import Line, Span, Tone, crop

_HEADS = ("iter", "task", "outcome", "cost", "tokens", "context", "took", "began", "session")


def totals(
    chronicle: Chronicle, left: Forecast, width: int, glyphs: Glyphs, keys: Keys
) -> list[Line]:
    """Add up the history, and estimate what is left with the basis of the estimate.

    Args:
        chronicle: The runs and iterations.
        left: The estimate.
        width: Cells of a line.
        glyphs: The signs to draw with.
        keys: The keys that the text names.
    """
    its = chronicle.iterations
    if not its:
        return [
            hint(keys, "No iteration has run here yet; {build} starts the loop.", Tone.TITLE),
            [],
        ]
    spent = [
        plural(len(chronicle.runs), "run"),
        plural(len(its), "iteration"),
        money(sum(it.cost_usd for it in its)),
        f"{tokens(sum(it.tokens for it in its))} tokens",
        duration(sum(it.seconds for it in its)),
    ]
    first: Line = [Span(f" {glyphs.between} ".join(spent), Tone.TITLE)]
    if left.open_tasks and left.finished:
        eta = f"{plural(left.open_tasks, 'task')} left, about {duration(left.seconds)} and {money(left.cost_usd)}"
    else:
        eta = f"{plural(left.open_tasks, 'task')} left" if left.open_tasks else "nothing left"
    second: Line = [Span(eta, Tone.INFO), Span(f"  {left.basis}", Tone.MUTED)]
    if not left.open_tasks and not any(it.phase is Phase.BUILDING for it in its):
        second = [Span("no task has been worked on yet", Tone.MUTED)]
    return [crop(first, width, glyphs.ellipsis), crop(second, width, glyphs.ellipsis)]


@dataclass(frozen=True, slots=True)
class Table:
    """Iterations as cells, newest first, with the width of each column."""

    iterations: Sequence[Iteration]
    rows: Sequence[tuple[str, ...]]
    widths: Sequence[int]


def table_of(iterations: Sequence[Iteration]) -> Table:
    """Make a row for each iteration. A long journal takes a while, so call it in a thread."""
    newest = iterations[::-1]
    rows = [_cells(it) for it in newest]
    columns = zip(_HEADS, *rows, strict=True)
    return Table(newest, rows, [max(map(len, column)) for column in columns])


def table_blocks(table: Table, width: int, glyphs: Glyphs) -> list[LineBlock]:
    """Draw one line per iteration; the last columns are left out where there is no room."""
    if not table.rows:
        return [LineBlock(None, [[Span("No session has ended here yet.", Tone.MUTED)]])]
    widths, shown = table.widths, len(_HEADS)
    while shown > 3 and 2 + sum(widths[:shown]) + 2 * (shown - 1) > width:
        shown -= 1
    head: Line = [
        Span("  " + "  ".join(_padded(_HEADS, widths, n) for n in range(shown)), Tone.INFO)
    ]

    def line(it: Iteration, cells: tuple[str, ...]) -> list[Line]:
        look = look_of(it)
        spans = [Span(f"{getattr(glyphs, look.glyph)} ", look.tone)]
        for n in range(shown):
            tone = look.tone if n == 2 else Tone.TITLE if n == 1 else Tone.TEXT
            spans.append(Span(_padded(cells, widths, n) + "  ", tone))
        return [crop(spans, width, glyphs.ellipsis)]

    pairs = zip(table.iterations, table.rows, strict=True)
    return [
        LineBlock(None, [head]),
        *(
            LineBlock(it.start, LazyLines(partial(line, it, cells)), folds=False)
            for it, cells in pairs
        ),
    ]


_RIGHT = frozenset({0, 3, 4, 5, 6})


def _padded(cells: Sequence[str], widths: Sequence[int], n: int) -> str:
    return cells[n].rjust(widths[n]) if n in _RIGHT else cells[n].ljust(widths[n])


def _cells(it: Iteration) -> tuple[str, ...]:
    return (
        str(it.number),
        it.task_id[:24],
        look_of(it).word,
        money(it.cost_usd),
        tokens(it.tokens),
        f"{it.percent:.0f} %",
        took(it.seconds) if it.end else "",
        when(it.started_at),
        it.session_id[:8],
    )
