"""What a person with a mouse clicks on and expects to answer."""

from dataclasses import replace

import pytest

from ralph_tui.config.settings import ScreenSettings
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.help import HelpDialog
from ralph_tui.tui.screens.dialogs.question import QuestionDialog
from tests.tui import feed, waiting
from tests.tui.conftest import Open, click_on, drained, ralph, screen_text, script_of, toasts, until


async def test_a_double_click_on_the_breaker_opens_it(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(160, 50)) as pilot:
        await pilot.press("3")
        await until(pilot, lambda: ralph(pilot).dashboard.breaker.size.height > 0)
        await pilot.click("BreakerPanel", offset=(6, 1), times=2)
        await until(pilot, lambda: "▶ breaker" in screen_text(ralph(pilot)))


async def test_a_click_beside_a_dialog_closes_it(open_app: Open) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        await pilot.click(".dialog", offset=(5, 5))
        await pilot.click("DialogFooter", offset=(110, 0))
        assert isinstance(app.screen, HelpDialog)
        await pilot.click(offset=(0, 20))
        await until(pilot, lambda: app.screen is app.dashboard)


async def test_a_click_beside_a_question_leaves_it_where_it_is(open_app: Open) -> None:
    async with open_app(script_of(waiting.asking(waiting.LANGUAGE))) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        asking = app.screen
        await pilot.click(offset=(0, 38))
        await drained(pilot)
        assert app.screen is asking


async def test_the_word_in_the_border_follows_again_with_a_click_and_names_the_persons_key() -> (
    None
):
    keys = ScreenSettings(keys={"follow": "f7"})
    launch = replace(script_of(feed.running()).launch, screen=keys)
    app = RalphApp(launch, autostart=True, clock=feed.clock)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "Running the tests again" in screen_text(app))
        await pilot.press("g")
        await click_on(pilot, "F7 to follow")
        await until(pilot, lambda: app.dashboard.stream.following)
        assert "following" in screen_text(app)


@pytest.mark.parametrize("key", ["y", pytest.param("ctrl+c", marks=pytest.mark.long)])
async def test_what_the_mouse_has_marked_is_what_is_copied_and_the_way_out_is_said_once(
    open_app: Open, key: str
) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: "Running the tests again" in screen_text(app))
        lines = screen_text(app).splitlines()
        row = next(n for n, line in enumerate(lines) if "Running the tests again" in line)
        column = lines[row].index("Running the tests again")
        await pilot.mouse_down(offset=(column, row))
        await pilot.hover(offset=(column + 7, row))
        await pilot.hover(offset=(column + 16, row))
        await pilot.mouse_up(offset=(column + 16, row))
        await pilot.press(key)
        await until(pilot, lambda: app.clipboard == "Running the tests")
        unsure = "Copied 1 line. If your clipboard did not change, press Y to save a file, too."
        await until(pilot, lambda: unsure in toasts(app))
        await pilot.press(key)
        await until(pilot, lambda: "Copied 1 line." in toasts(app))
        await pilot.press("2", "k", "y")
        await until(pilot, lambda: "Running the tests" not in app.clipboard)


async def test_a_click_on_the_line_of_figures_leads_to_the_panels(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(80, 24)) as pilot:
        await click_on(pilot, "breaker 0/3")
        await until(pilot, lambda: ralph(pilot).dashboard.side.has_focus)
