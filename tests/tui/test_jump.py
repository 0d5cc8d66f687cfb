"""Jump mode: letters on panes, tabs and rows."""

from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.jump import LETTERS, Jump, labels
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from ralph_tui.tui.screens.pages.history import HistoryPage
from ralph_tui.tui.screens.pages.why import WhyPage
from tests.tui import feed
from tests.tui.conftest import Opened, drained, screen_text, script_of, until
from tests.tui.past import past_project

Open = Callable[..., Opened]


def ralph(pilot: object) -> RalphApp:
    app = getattr(pilot, "app", None)
    assert isinstance(app, RalphApp)
    return app


def letter_at(app: RalphApp, x: int, y: int) -> str:
    assert isinstance(app.screen, Jump)
    return screen_text(app).splitlines()[y][x]


@pytest.mark.parametrize("count", [0, 1, len(LETTERS), len(LETTERS) + 1, 500])
def test_no_label_begins_another(count: int) -> None:
    made = labels(count)
    assert len(set(made)) == count
    assert len({len(label) for label in made}) <= 1


async def test_letters_lead_to_rows_and_panes(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(160, 50)) as pilot:
        app = ralph(pilot)
        dashboard = app.dashboard
        await pilot.press("1")
        await drained(pilot)
        board = dashboard.board
        left, top = board.content_region.offset
        y = board.row_of("demo-06")
        assert y is not None
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, Jump))
        await pilot.press(letter_at(app, left, top + y))
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await until(pilot, lambda: board.cursor == "demo-06")
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, Jump))
        await pilot.press(letter_at(app, *dashboard.side.region.offset))
        await until(pilot, lambda: dashboard.side.has_focus)
        assert dashboard.pane == "status"


async def test_another_key_only_takes_the_letters_away(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        for key in ("escape", "space", "f1"):
            await pilot.press("o")
            await until(pilot, lambda: isinstance(app.screen, Jump))
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert app.dashboard.stream.has_focus
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, Jump))
        await pilot.click(offset=(60, 20))
        await until(pilot, lambda: isinstance(app.screen, Dashboard))


async def test_when_narrow_the_tabs_have_letters(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(80, 24)) as pilot:
        app = ralph(pilot)
        tabs = app.dashboard.pane_tabs
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, Jump))
        await pilot.press(letter_at(app, *tabs.content_region.offset))
        await until(pilot, lambda: app.dashboard.board.has_focus)


async def test_a_jump_on_a_page_and_in_a_dialog(open_app: Open, tmp_path: Path) -> None:
    script = past_project(tmp_path / "slug-demo")
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        await pilot.press("7")
        await until(pilot, lambda: isinstance(app.screen, WhyPage))
        page = app.screen
        assert isinstance(page, WhyPage)
        places = {name: at for at, name in page.head.places()}
        await pilot.press("o")
        await until(pilot, lambda: isinstance(app.screen, Jump))
        x, y = page.head.content_region.offset
        await pilot.press(letter_at(app, x + places["history"], y))
        await until(pilot, lambda: isinstance(app.screen, HistoryPage))
        await pilot.click("PageHead", offset=(3, 0))
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, PlanReview))
        review = app.screen
        assert isinstance(review, PlanReview)
        await until(pilot, lambda: review.plan.row_count() > 1)
        left, top = review.plan.content_region.offset
        last = review.plan.visible_keys()[-1]
        await pilot.press("ctrl+o")
        await until(pilot, lambda: isinstance(app.screen, Jump))
        await pilot.press(letter_at(app, left, top + last[0]))
        await until(pilot, lambda: review.is_current and review.plan.cursor == last[1])
