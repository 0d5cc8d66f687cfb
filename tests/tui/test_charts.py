"""Plots: what is drawn is what was measured, with and without colors."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import Task
from ralph_tui.present.sections.history_table import Table, table_blocks
from ralph_tui.present.text.figures import money
from ralph_tui.present.text.glyphs import ASCII, UNICODE, Glyphs
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import plain
from ralph_tui.tui.screens.pages import history
from ralph_tui.tui.widgets.charts import DONE, REJECTED, STOPPED, WIDEST, Bar, Chart, draw, merged
from tests.tui.conftest import Opened, until
from tests.tui.past import past_project
from tests.tui.test_pages import open_page, see

Open = Callable[..., Opened]


LOOKS = st.sampled_from([DONE, REJECTED, STOPPED])
SIZES = {"width": st.integers(20, 160), "height": st.integers(6, 40)}


@st.composite
def series(draw_from: st.DrawFn) -> list[Bar]:
    value = st.floats(0, 1e7).map(lambda value: round(value, 2))
    values = draw_from(st.lists(value, min_size=1, max_size=20))
    return [Bar(n, value, draw_from(LOOKS)) for n, value in enumerate(values, 1)]


@given(bars=series(), glyphs=st.sampled_from([UNICODE, ASCII]), **SIZES)
def test_a_plot_keeps_its_size_and_higher_is_more(
    bars: list[Bar], glyphs: Glyphs, width: int, height: int
) -> None:
    lines = [plain(line) for line in draw(bars, money, width, height, glyphs)]
    slot = max(1, min(WIDEST, width // len(bars)))
    assert len(lines) == height
    assert {len(line) for line in lines} <= {slot * len(bars), 1}
    assert glyphs.unicode or "".join(lines).isascii()
    levels = glyphs.levels if glyphs.unicode else (":", "#")
    columns = ["".join(line[at * slot] for line in lines[:-2]) for at in range(len(bars))]
    ink = [
        sum((levels.index(sign) + 1) / len(levels) for sign in column if sign in levels)
        for column in columns
    ]
    assert all((high > 0) == (bar.value > 0) for bar, high in zip(bars, ink, strict=True))
    ordered = sorted(zip((bar.value for bar in bars), ink, strict=True))
    assert [high for _, high in ordered] == sorted(ink)
    signs = {getattr(glyphs, look.glyph) for look in (DONE, REJECTED, STOPPED)}
    shown = [sign for sign in lines[-2] if sign in signs]
    assert shown == [getattr(glyphs, bar.look.glyph) for bar in bars if bar.look]


@given(series(), st.integers(5, 60))
def test_no_peak_is_lost_where_a_bar_stands_for_several(bars: list[Bar], most: int) -> None:
    shown = merged(bars, most, sums=False)
    assert len(shown) <= most
    assert max(bar.value for bar in shown) == max(bar.value for bar in bars)
    assert merged(bars, most, sums=True)[-1] == bars[-1]


async def test_the_plots_name_their_signs_their_limits_and_their_units(
    open_app: Open, tmp_path: Path
) -> None:
    script = past_project(tmp_path)
    async with open_app(script, autostart=False, size=(80, 24)) as pilot:
        await open_page(pilot, "5", "cost per iteration")
        await see(pilot, "✓ done", "✗ failed or rejected", "‖ stopped or handed off")
        await see(pilot, "highest $0.39, limit $2", "context at the end")
        await pilot.press("end")
        await see(pilot, "cumulative cost", "highest $0.63", "open tasks", "of 6 tasks")


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
        await until(pilot, lambda: not page.not_now("share"))
        assert not laid_out
        await pilot.press("v")
        await see(pilot, "started")
        assert laid_out
