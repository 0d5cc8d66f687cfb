"""Plots: round numbers on both axes, and nobody waits while they are drawn."""

import re
import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.present.sections.history_table import Table, table_blocks
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.pages import history
from ralph_tui.tui.widgets import charts
from ralph_tui.tui.widgets.charts import Drawing, Measure, drawn, heights, iterations, thinned
from tests.tui.conftest import Opened, until
from tests.tui.past import past_project
from tests.tui.test_pages import open_page, ralph, see

Open = Callable[..., Opened]


def busy(app: RalphApp) -> bool:
    """Something is still being drawn."""
    return any(worker.group == "charts" and not worker.is_finished for worker in app.workers)


@given(st.integers(0, 5_000), st.integers(0, 5_000), st.integers(2, 8))
def test_iterations_are_counted_in_ones_twos_and_fives(first: int, more: int, most: int) -> None:
    last = first + more
    ticks = iterations(first, last, most)
    assert 1 <= len(ticks) <= most
    assert first <= ticks[0] <= ticks[-1] <= last
    steps = {after - before for before, after in pairwise(ticks)}
    assert len(steps) <= 1
    for step in steps:
        assert re.fullmatch("[125]0*", str(step))
        assert not [tick for tick in ticks if tick % step]


@pytest.mark.parametrize(
    ("measure", "top", "written"),
    [
        (Measure.MONEY, 0.39, ["0", "$0.20", "$0.40"]),
        (Measure.MONEY, 3, ["0", "$1", "$2", "$3"]),
        (Measure.TOKENS, 91_000, ["0", "50k", "100k"]),
        (Measure.TOKENS, 3_400_000, ["0", "2M", "4M"]),
        (Measure.SHARE, 52, ["0", "20 %", "40 %", "60 %"]),
        (Measure.TIME, 58.2, ["0", "20s", "40s", "60s"]),
        (Measure.TIME, 140, ["0", "1m", "2m", "3m"]),
        (Measure.TIME, 700, ["0", "5m", "10m", "15m"]),
        (Measure.TASKS, 1, ["0", "1"]),
        (Measure.TASKS, 12_345, ["0", "5,000", "10,000", "15,000"]),
    ],
)
def test_heights_are_round_and_have_their_unit(
    measure: Measure, top: float, written: list[str]
) -> None:
    marks = heights(measure, top, 4)
    assert [text for _, text in marks] == written
    assert marks[-1][0] >= top


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("count", [1, 7, 400])
def test_all_that_is_on_the_axes_is_written(count: int, *, unicode: bool) -> None:
    numbers = [float(n) for n in range(1, count + 1)]
    series = thinned(numbers, [0.04 * n for n in numbers])
    lines = drawn(Drawing(series, Measure.MONEY, 60, 14, unicode))
    assert len(lines) == 14
    assert unicode or "".join(lines).isascii()
    ticks = [int(word) for word in lines[-1].split()]
    assert ticks == iterations(1, count, len(ticks))
    marks = [(y, m[1]) for y, line in enumerate(lines) if (m := re.match(r" *(0|\$[\d.,]+)", line))]
    texts = [text for _, text in heights(Measure.MONEY, max(series[1]), 6)]
    assert [text for _, text in reversed(marks)] == texts
    assert len({after - before for (before, _), (after, _) in pairwise(marks)}) == 1, "even"


async def test_plots_are_drawn_beside_the_loop_of_the_screen_and_only_those_in_sight(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    threads: list[threading.Thread] = []

    def watched(drawing: Drawing) -> list[str]:
        threads.append(threading.current_thread())
        return drawn(drawing)

    monkeypatch.setattr(charts, "drawn", watched)
    script = past_project(tmp_path)
    async with open_app(script, autostart=False, size=(80, 24)) as pilot:
        await open_page(pilot, "5", "cost per iteration")
        await see(pilot, "$0.40", "context at the end")
        await until(pilot, lambda: not busy(ralph(pilot)))
        assert len(threads) == 4, "two rows of two"
        await pilot.press("end")
        await see(pilot, "total cost", "$0.50")
        await until(pilot, lambda: not busy(ralph(pilot)))
        assert len(threads) == 6
        assert threading.main_thread() not in threads


async def test_sessions_are_not_laid_out_behind_the_plots(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out: list[int] = []

    def watched(table: Table, width: int, glyphs: Glyphs) -> list[LineBlock]:
        laid_out.append(len(table.rows))
        return table_blocks(table, width, glyphs)

    monkeypatch.setattr(history, "table_blocks", watched)
    async with open_app(past_project(tmp_path), autostart=False) as pilot:
        page = await open_page(pilot, "5", "pace of the last task")
        await until(pilot, lambda: not page.not_now("export"))
        assert not laid_out
        await pilot.press("v")
        await see(pilot, "began")
        assert laid_out
