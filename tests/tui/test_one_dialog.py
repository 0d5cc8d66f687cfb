"""Keys and answers that come faster than a dialog."""

from collections.abc import Callable
from typing import cast

import pytest
from textual import events
from textual.app import ComposeResult
from textual.widgets import Input, TextArea

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import Event
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.present.text.parts import LineBlock
from ralph_tui.present.text.spans import Span
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.approval import ApprovalDialog
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.question import PermissionDialog, QuestionDialog
from ralph_tui.tui.screens.dialogs.text_input import (
    GuidanceDialog,
    ReplanDialog,
    RequestChangesDialog,
    RequestDialog,
    TextDialog,
)
from tests.tui import feed
from tests.tui.conftest import Moment, Open, Opened, ralph, script_of, toasts, until
from tests.tui.waiting import LANGUAGE, answered, approving, asked, asking, permitting, wanting


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


@pytest.mark.parametrize(
    ("events", "dialog", "news", "said"),
    [
        (permitting(), PermissionDialog, answered(wanting()), "Answered elsewhere."),
        pytest.param(
            *(asking(), QuestionDialog, answered(asked(LANGUAGE)), "Answered elsewhere."),
            marks=pytest.mark.long,
        ),
        pytest.param(
            approving(ApprovalKind.VALIDATION),
            ApprovalDialog,
            ev.ApprovalGiven(kind=ApprovalKind.VALIDATION, approved=True, by="command"),
            "Answered elsewhere.",
            marks=pytest.mark.long,
        ),
    ],
    ids=["permission", "question", "approval"],
)
async def test_an_answer_from_elsewhere_while_a_dialog_opens_is_not_missed(
    open_app: Open,
    monkeypatch: pytest.MonkeyPatch,
    events: list[Event],
    dialog: type[AutoDialog[object]],
    news: ev.Event,
    said: str,
) -> None:
    """The answer arrives after the dialog was made and before it listens."""
    script = script_of(events)
    composed = dialog.compose

    def late(self: AutoDialog[object]) -> ComposeResult:
        cast("RalphApp", self.app).bridge.sink(news)
        cast("RalphApp", self.app).lifecycle.flush()
        return composed(self)

    monkeypatch.setattr(dialog, "compose", late)
    async with open_app(script, clock=Moment()) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: said in toasts(app))
        await until(pilot, lambda: app.screen is app.dashboard)
