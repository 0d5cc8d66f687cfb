"""What a person with a mouse clicks on and expects to answer."""

from dataclasses import replace

from ralph_tui.config.settings import ScreenSettings
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.help import HelpDialog
from ralph_tui.tui.screens.dialogs.question import QuestionDialog
from tests.tui import feed, waiting
from tests.tui.conftest import Open, click_on, drained, ralph, screen_text, script_of, until


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
