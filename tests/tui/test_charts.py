"""Plots: what is drawn is what was measured, with and without colors."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import Task
from ralph_tui.present.sections.history_table import Table, table_blocks
from ralph_tui.present.text.glyphs import ASCII, UNICODE, Glyphs
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import plain
from ralph_tui.tui.screens.pages import history
from ralph_tui.tui.widgets.charts import (
    DONE,
    FAR,
    GUTTER,
    REJECTED,
    STOPPED,
    WIDEST,
    Bar,
    Chart,
    Measure,
    Plot,
    Threshold,
    draw,
    drawn_threshold,
    heights,
    merged,
)
from tests.tui.conftest import Opened, until
from tests.tui.past import past_project
from tests.tui.test_pages import open_page, see

Open = Callable[..., Opened]


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


MOST = {Measure.SHARE: 100, Measure.TASKS: 50_000}
LOOKS = st.sampled_from([DONE, REJECTED, STOPPED])
SIZES = {"width": st.integers(20, 160), "height": st.integers(6, 40)}


@st.composite
def plots(draw_from: st.DrawFn, most: int = 30) -> Plot:
    measure = draw_from(st.sampled_from(Measure))
    value = st.floats(0, MOST.get(measure, 1e7)).map(lambda value: round(value, 2))
    values = draw_from(st.lists(value, min_size=1, max_size=most))
    bars = [Bar(n, value, draw_from(LOOKS)) for n, value in enumerate(values, 1)]
    threshold = st.builds(Threshold, value.filter(bool), st.just("limit"))
    return Plot(measure, bars, draw_from(st.none() | threshold))


def cells(plot: Plot, width: int, height: int, glyphs: Glyphs) -> list[str]:
    return [plain(line) for line in draw(plot, width, height, glyphs)]


def inked(plot: Plot, lines: list[str], glyphs: Glyphs) -> list[float]:
    """How high each bar is drawn, in cells."""
    area = [line[GUTTER:] for line in lines[:-2]]
    signs = glyphs.levels if glyphs.unicode else (":", "#")
    slot = max(1, min(WIDEST, len(area[0]) // len(plot.bars)))
    columns = ["".join(row[at * slot] for row in area) for at in range(len(plot.bars))]
    return [
        sum((signs.index(sign) + 1) / len(signs) for sign in column if sign in signs)
        for column in columns
    ]


@given(plot=plots(), glyphs=st.sampled_from([UNICODE, ASCII]), **SIZES)
def test_higher_is_more_and_zero_is_nothing(
    plot: Plot, glyphs: Glyphs, width: int, height: int
) -> None:
    assume(len(plot.bars) <= width - GUTTER)
    ink = inked(plot, cells(plot, width, height, glyphs), glyphs)
    for bar, high in zip(plot.bars, ink, strict=True):
        assert (high > 0) == (bar.value > 0)
    ordered = sorted(zip((bar.value for bar in plot.bars), ink, strict=True))
    assert [high for _, high in ordered] == sorted(ink)


@given(plot=plots(), glyphs=st.sampled_from([UNICODE, ASCII]), **SIZES)
def test_a_threshold_is_a_line_at_its_value_and_has_its_name(
    plot: Plot, glyphs: Glyphs, width: int, height: int
) -> None:
    lines = cells(plot, width, height, glyphs)
    line = drawn_threshold(plot)
    highest = max(bar.value for bar in plot.bars)
    if plot.threshold and highest and plot.threshold.value <= FAR * highest:
        assert line == plot.threshold
    named = sum("limit" in text for text in lines)
    assert named == (line is not None)
    if line and line.value > highest:
        area = [text[GUTTER:].rstrip() for text in lines[:-2]]
        at = next(n for n, text in enumerate(area) if set(text) & set("┄."))
        ink = inked(plot, [*[" " * width] * at, *lines[at:]], glyphs)
        assert ink == inked(plot, lines, glyphs), "no bar is higher than the line"


@given(plot=plots(200), glyphs=st.sampled_from([UNICODE, ASCII]), **SIZES)
def test_a_plot_keeps_its_size_and_says_how_each_iteration_ended(
    plot: Plot, glyphs: Glyphs, width: int, height: int
) -> None:
    lines = cells(plot, width, height, glyphs)
    assert len(lines) == height
    assert {len(line) for line in lines[:-1]} == {width}
    assert len(lines[-1]) <= width
    assert glyphs.unicode or "".join(lines).isascii()
    signs = {getattr(glyphs, look.glyph) for look in (DONE, REJECTED, STOPPED)}
    shown = [sign for sign in lines[-2][GUTTER:] if sign in signs]
    if len(plot.bars) <= width - GUTTER:
        assert shown == [getattr(glyphs, bar.look.glyph) for bar in plot.bars if bar.look]
    numbers = [int(word) for word in lines[-1].split() if word.isdecimal()]
    assert numbers == sorted(set(numbers))
    assert set(numbers) <= {bar.number for bar in plot.bars}


@given(plots(300), st.integers(5, 60))
def test_no_peak_is_lost_where_a_bar_stands_for_several(plot: Plot, most: int) -> None:
    bars = merged(plot, most)
    assert len(bars) <= most
    assert max(bar.value for bar in bars) == max(bar.value for bar in plot.bars)
    assert merged(plot._replace(sums=True), most)[-1] == plot.bars[-1]


def test_a_plan_that_grows_and_one_of_unknown_size() -> None:
    sizes = ((5, 5), (4, 5), (3, 6), (0, 7), (2, 0))
    bars = [Bar(n, left, whole=whole) for n, (left, whole) in enumerate(sizes, 1)]
    lines = cells(Plot(Measure.TASKS, bars, sums=True), 70, 14, UNICODE)
    text = "\n".join(lines)
    assert all(label in text for label in ("5 of 5", "4 of 5", "3 of 6", "0 of 7"))
    columns = ["".join(line[GUTTER + n * WIDEST] for line in lines) for n in range(5)]
    assert [column.count("░") > 0 for column in columns] == [False, True, True, True, False]
    heights_of = [column.count("░") + column.count("█") for column in columns]
    assert heights_of[0] == heights_of[1] < heights_of[2] < heights_of[3]
    assert "█" not in columns[3]


async def test_the_plots_name_their_signs_their_limits_and_their_units(
    open_app: Open, tmp_path: Path
) -> None:
    script = past_project(tmp_path)
    async with open_app(script, autostart=False, size=(80, 24)) as pilot:
        await open_page(pilot, "5", "cost per iteration")
        await see(pilot, "✓ done", "✗ failed or rejected", "‖ stopped or handed off")
        await see(pilot, "$0.39", "limit $2", "budget 60 %", "iteration")
        await pilot.press("end")
        await see(pilot, "cumulative cost", "$0.63", "open tasks", "5 of 6")


async def test_the_burn_down_says_that_the_plan_grew_or_that_its_size_is_unknown(
    open_app: Open, tmp_path: Path
) -> None:
    begun = ev.IterationStarted(iteration=1, task_id="a")
    ended = ev.IterationFinished(
        iteration=1, task_id="a", outcome=ev.IterationOutcome.COMPLETE, cost_usd=0.1
    )
    second = {"iteration": 2, "task_id": "b"}
    events: list[ev.Event] = [
        *(begun, ended, ev.PlanLoaded(tasks=(Task(id="a"), Task(id="b"))), begun, ended),
        *(begun.model_copy(update=second), ev.TaskChanged(task=Task(id="c"))),
        ended.model_copy(update=second),
    ]
    script = past_project(tmp_path, events)
    async with open_app(script, autostart=False, size=(160, 50)) as pilot:
        page = await open_page(pilot, "5", "cost per iteration")
        note = "plan grew from 2 to 3 tasks, plan size unknown in 1 iteration"
        chart = page.query_one("#burndown", Chart)
        await until(pilot, lambda: note in str(chart.border_subtitle))
        await see(pilot, "3 of 3")


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
        await see(pilot, "started")
        assert laid_out
