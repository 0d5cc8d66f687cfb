"""Permission on the screen: the whole call to read, and one key to decide."""

from collections.abc import Callable
from typing import cast

import pytest
from textual.app import ComposeResult
from textual.pilot import Pilot

from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import Answer, Permission
from ralph_tui.domain.permissions import NETWORK
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.approval import ApprovalDialog
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.screens.dialogs.permission import PermissionDialog
from ralph_tui.tui.screens.dialogs.question import QuestionDialog
from tests.tui import feed
from tests.tui.conftest import Moment, Opened, screen_text, script_of, toasts, until
from tests.tui.test_hostile import HOSTILE, assert_inert
from tests.tui.waiting import (
    LANGUAGE,
    PUBLISH,
    answered,
    approving,
    asked,
    asking,
    permitting,
    wanting,
)

Open = Callable[..., Opened]


def ralph(pilot: Pilot[int]) -> RalphApp:
    return cast("RalphApp", pilot.app)


async def asks(pilot: Pilot[int], moment: Moment) -> RalphApp:
    app = ralph(pilot)
    await until(pilot, lambda: isinstance(app.screen, PermissionDialog))
    await pilot.pause()
    moment.passes(2)
    return app


async def back(pilot: Pilot[int]) -> None:
    await until(pilot, lambda: isinstance(ralph(pilot).screen, Dashboard))


async def test_it_says_who_asks_for_what_and_why_and_one_key_allows(open_app: Open) -> None:
    moment = Moment()
    script = script_of(permitting())
    async with open_app(script, clock=moment) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, PermissionDialog))
        await pilot.press("1", "2", "enter")
        moment.passes(1)
        await pilot.press("ctrl+y", "enter")
        await pilot.pause()
        assert script.controls.asked == [], "keys that were meant for something else"
        await asks(pilot, moment)
        text = screen_text(app)
        for part in (
            "building, task demo-02, asks for permission",
            "The command as it will run",
            "uv run pytest -q && npm publish",
            "As the agent wrote it",
            "Why you are asked (ask-first)",
            "safety.ask_commands lists `npm publish`",
            "Allow once",
            "Also all further `npm publish`, until this agent session ends.",
            "Give the agent a reason.",
        ):
            assert part in text
        assert app.view.run_state is RunState.WAITING
        assert app.title == "? slug-demo waiting for you - ralph"
        await pilot.press("1", "2", "3", "enter")
        await pilot.pause()
        assert script.controls.asked == [], "a digit goes to a page, and nothing is preselected"
        await pilot.press("down", "down", "enter")
        await back(pilot)
        assert script.controls.asked == ["answer q-p1-1: Allow for this session by screen"]


async def test_the_call_is_searched_and_copied_whole_and_enter_comes_back_to_the_answers(
    open_app: Open,
) -> None:
    moment = Moment()
    lines = "\n".join(f"echo line {number}" for number in range(60))
    long = PUBLISH.model_copy(update={"argument": lines, "asked": ""})
    script = script_of(permitting(long))
    async with open_app(script, size=(80, 24), clock=moment) as pilot:
        app = await asks(pilot, moment)
        assert "echo line 57" not in screen_text(app)
        await pilot.press("slash", *"line 5", "enter")
        await until(pilot, lambda: "1 of 11" in screen_text(app))
        await pilot.press("less_than_sign", "less_than_sign", "less_than_sign")
        await until(pilot, lambda: "9 of 11" in screen_text(app))
        assert "echo line 57" in screen_text(app)
        await pilot.press("enter", "escape")
        assert isinstance(app.screen, PermissionDialog), "the search ends first"
        assert app.screen.choices.has_focus
        assert script.controls.asked == [], "enter was for the search"
        await pilot.press("y")
        for part in (
            "demo-02, asks for permission",
            "echo line 59",
            "Why you are",
            "Allow once",
        ):
            assert part in app.clipboard
        await pilot.press("ctrl+y")
        await back(pilot)
        assert script.controls.asked == ["answer q-p1-1: Allow once by screen"]


async def test_a_check_says_that_it_is_one(open_app: Open) -> None:
    moment = Moment()
    check = PUBLISH.model_copy(update={"check": True})
    async with open_app(script_of(permitting(check)), clock=moment) as pilot:
        app = await asks(pilot, moment)
        assert "building, task demo-02: a check needs permission" in screen_text(app)


@pytest.mark.long
async def test_no_asks_why_and_keeps_the_words_while_it_is_deferred(open_app: Open) -> None:
    moment = Moment()
    script = script_of(permitting())
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("ctrl+r", *"not 1", "escape")
        await until(pilot, lambda: "Deny: not 1" in screen_text(app))
        await pilot.press("escape")
        await back(pilot)
        assert script.controls.asked == []
        await pilot.press("a")
        await asks(pilot, moment)
        await pilot.press("j", "j", "j", "enter", *" now", "enter")
        await back(pilot)
        assert script.controls.asked == ["answer q-p1-1: Deny, not 1 now by screen"]


@pytest.mark.parametrize(
    ("news", "said"),
    [
        (answered(wanting(), Answer(by="demo")), "Answered automatically (demo)."),
        pytest.param(answered(wanting()), "Answered elsewhere.", marks=pytest.mark.long),
        pytest.param(
            ev.QuestionAnswered(question=wanting()),
            "An answer is no longer needed.",
            marks=pytest.mark.long,
        ),
    ],
)
async def test_it_closes_and_says_who_answered(open_app: Open, news: ev.Event, said: str) -> None:
    moment = Moment()
    script = script_of(permitting())
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        script.news.put_nowait(news)
        await back(pilot)
        assert said in toasts(app)


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
    events: list[ev.Event],
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
        await back(pilot)


@pytest.mark.long
async def test_a_long_command_scrolls_and_the_answers_stay_in_sight(open_app: Open) -> None:
    moment = Moment()
    lines = "\n".join(f"echo line {number}" for number in range(30))
    long = PUBLISH.model_copy(update={"argument": lines, "asked": ""})
    async with open_app(script_of(permitting(long)), size=(80, 24), clock=moment) as pilot:
        app = await asks(pilot, moment)
        assert "echo line 0" in screen_text(app)
        for down, up in (("ctrl+d", "pageup"), ("pagedown", "ctrl+u")):
            await pilot.press(*[down] * 9)
            await until(pilot, lambda: "lists `npm publish`" in screen_text(app))
            assert "Deny" in screen_text(app)
            await pilot.press(*[up] * 9)
            await until(pilot, lambda: "echo line 0" in screen_text(app))


@pytest.mark.long
@pytest.mark.parametrize("tool", ["Bash", NETWORK, "mcp__eyes__look_at"])
async def test_a_hostile_call_is_inert(open_app: Open, tool: str) -> None:
    moment = Moment()
    bad = " ".join(HOSTILE.values())
    hostile = Permission(
        tool=tool, argument=bad, asked=bad, rule=bad, reason=bad, patterns=(bad,), sub_agent=True
    )
    events: list[ev.Event] = [feed.started(), *permitting(hostile)]
    async with open_app(script_of(events), clock=moment) as pilot:
        app = await asks(pilot, moment)
        assert_inert(app)
        await pilot.press("ctrl+r", *"why", "escape")
        await until(pilot, lambda: "Deny: why" in screen_text(app))
        assert_inert(app)
