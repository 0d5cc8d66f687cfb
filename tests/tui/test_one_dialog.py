"""Keys that come faster than a dialog."""

from collections.abc import Callable

import pytest
from textual import events
from textual.widgets import Input, TextArea

from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Span
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.request_changes import RequestChangesDialog
from ralph_tui.tui.screens.dialogs.text_input import (
    GuidanceDialog,
    ReplanDialog,
    RequestDialog,
    TextDialog,
)
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


@pytest.mark.parametrize(
    "box", ["inject", "add", "replan", "request", "split", "model", "search", "changes"]
)
async def test_no_character_typed_at_full_speed_is_lost(
    open_app: Callable[..., Opened], box: str
) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        await pilot.press("1")
        lines = LineBlock(key=0, lines=[[Span("A plan")]])
        others: dict[str, Callable[[], TextDialog]] = {
            "changes": lambda: RequestChangesDialog(ApprovalKind.PLAN, "", [lines]),
            "replan": ReplanDialog,
            "request": RequestDialog,
        }
        if box in others:
            app.push_screen(others[box]())
        elif box == "search":
            await pilot.press("slash")
        else:
            app.action_invoke(box)
        await until(pilot, lambda: isinstance(app.focused, Input | TextArea))
        field = app.focused
        assert isinstance(field, Input | TextArea)
        before = field.value if isinstance(field, Input) else field.text
        typed = "1 ?q\np2 d" if isinstance(field, TextArea) else "1 ?qp2 d"
        names = {"\n": "enter", " ": "space", "?": "question_mark"}
        for char in typed:
            app.post_message(events.Key(names.get(char, char), char.replace("\n", "\r")))

        def shown() -> str:
            return field.value if isinstance(field, Input) else field.text

        await until(pilot, lambda: shown() != before and len(shown()) >= len(before + typed), 4)
        assert shown().removeprefix(before) == typed
