"""Keys that come faster than a dialog."""

from collections.abc import Callable

import pytest
from textual import events

from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.text_input import GuidanceDialog
from tests.tui import feed
from tests.tui.conftest import Opened, script_of, until
from tests.tui.test_keys import ralph


@pytest.mark.parametrize(
    "keys",
    [
        ("d", "d"),
        *(pytest.param(k, marks=pytest.mark.long) for k in (("o", "d", "e"), ("enter", "enter"))),
    ],
)
async def test_of_keys_typed_at_once_only_the_first_opens_a_dialog(
    open_app: Callable[..., Opened], keys: tuple[str, ...]
) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        await pilot.press("1")
        for key in keys:
            app.post_message(events.Key(key, key if len(key) == 1 else "\r"))
        await until(pilot, lambda: app.screen is not app.dashboard)
        await pilot.pause()
        assert app.screen_stack[:-1] == app.screen_stack[:2], "the dialog lies on the dashboard"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Confirm))


async def test_of_what_is_clicked_in_one_instant_only_the_first_opens(
    open_app: Callable[..., Opened],
) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        await pilot.press("1")
        for name in ("inject", "stop"):
            app.action_invoke(name)
        await until(pilot, lambda: isinstance(app.screen, GuidanceDialog))
        await pilot.pause()
        assert app.screen_stack[:-1] == app.screen_stack[:2], "the dialog lies on the dashboard"
        await pilot.press("escape")
        await until(pilot, lambda: app.screen is app.dashboard)
        app.action_invoke("stop")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
