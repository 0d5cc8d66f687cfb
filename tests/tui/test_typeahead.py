"""Keys typed in one breath: what follows a key is for what that key opens, and never a command."""

from math import inf

import pytest
from textual import events
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from ralph_tui.domain.events import Event
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.terminal.frozen_background import FrozenBackground
from tests.tui import feed
from tests.tui.conftest import (
    Moment,
    Open,
    ralph,
    screen_text,
    script_of,
    through_the_menu,
    toasts,
    until,
)
from tests.tui.waiting import approving, asking, permitting

NAMED = {
    "/": "slash",
    "\x10": "ctrl+p",
    "\r": "enter",
    "\x1b": "escape",
    "\x12": "ctrl+r",
    "\x13": "ctrl+s",
    "\x15": "ctrl+u",
    "\x7f": "backspace",
    "\x01": "home",
    "\t": "tab",
}


def typed(app: RalphApp, text: str) -> None:
    """All at once, as a terminal that is read in one go delivers it."""
    for letter in text:
        app.post_message(events.Key(NAMED.get(letter, letter), letter))


def field(app: RalphApp) -> str | None:
    focused = app.focused
    if isinstance(focused, TextArea):
        return focused.text
    return focused.value if isinstance(focused, Input) else None


async def settled(pilot: Pilot[int]) -> None:
    for _ in range(3):
        await pilot.pause()


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("/drop", "drop"),
        ("idrop", "drop"),
        ("/drox\x7fp", "drop"),
        ("/xx\x15drop", "drop"),
        pytest.param("/rop\x01d", "drop", marks=pytest.mark.long),
        pytest.param("1/skip", "skip", marks=pytest.mark.long),
        pytest.param("\x10drop", "drop", marks=pytest.mark.long),
        pytest.param("mopus", "opus", marks=pytest.mark.long),
        pytest.param("4/drop", "drop", marks=pytest.mark.long),
        pytest.param("\r/xsd", "xsd", marks=pytest.mark.long),
        pytest.param("v/drop", "drop", marks=pytest.mark.long),
    ],
)
async def test_letters_typed_at_once_go_to_the_field(open_app: Open, keys: str, words: str) -> None:
    script = script_of(feed.failed_gate())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        typed(app, keys)
        await until(pilot, lambda: field(app) == words)
        await settled(pilot)
        assert script.controls.asked == []
        assert field(app) == words


@pytest.mark.parametrize(
    ("waiting", "keys", "answer"),
    [
        (permitting(), "\x121 dry run first\r", "answer q-p1-1: Deny, 1 dry run first"),
        (approving(ApprovalKind.SPECS), "\x12pay in euros\x13", "reject: pay in euros"),
        pytest.param(
            asking(), "42 of them\r\r", "answer q-b1-1: 2 of them", marks=pytest.mark.long
        ),
    ],
)
async def test_a_reason_typed_at_once_is_no_other_answer(
    open_app: Open, waiting: list[Event], keys: str, answer: str
) -> None:
    moment = Moment()
    script = script_of(waiting)
    async with open_app(script, clock=moment) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, AutoDialog))
        await pilot.pause()
        moment.passes(2)
        typed(app, keys)
        await until(pilot, lambda: bool(script.controls.asked))
        assert script.controls.asked == [f"{answer} by screen"]


async def test_keys_after_one_that_changes_a_task_are_for_the_next(open_app: Open) -> None:
    script = script_of(feed.failed_gate())
    async with open_app(script) as pilot:
        typed(ralph(pilot), "1HH")
        await until(pilot, lambda: len(script.controls.asked) == 2)
        assert len(set(script.controls.asked)) == 2
        assert all(asked.startswith("hold demo-") for asked in script.controls.asked)


async def test_lines_typed_at_once_into_an_editor_are_all_there(open_app: Open) -> None:
    script = script_of(feed.failed_gate())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        typed(app, "idrop\rskip\rx")
        await until(pilot, lambda: field(app) == "drop\nskip\nx")
        await settled(pilot)
        assert script.controls.asked == []


@pytest.mark.long
async def test_the_field_of_an_editor_takes_them_in_order_after_what_it_had(open_app: Open) -> None:
    async with open_app(script_of(feed.failed_gate())) as pilot:
        app = ralph(pilot)
        typed(app, "1edrop")
        await until(pilot, lambda: "drop" in (field(app) or ""))
        first = app.focused
        typed(app, "\x15title\tmore")
        await until(pilot, lambda: app.focused is not first and "more" in (field(app) or ""))
        assert isinstance(first, TextArea)
        assert first.text.startswith("titleTurn")


@pytest.mark.parametrize(
    "keys",
    [
        "tdrop\r",
        *(pytest.param(k, marks=pytest.mark.long) for k in ("dd", "sss", "xn", "qs", "od")),
    ],
)
async def test_what_must_be_read_first_is_not_answered_before_it_is_there(
    open_app: Open, keys: str
) -> None:
    """Nor is anything done by what follows a key that opens nothing."""
    script = script_of(feed.failed_gate())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        typed(app, keys)
        await until(pilot, lambda: not isinstance(app.screen, Dashboard) or bool(toasts(app)))
        await settled(pilot)
        assert script.controls.asked == []


@pytest.mark.long
async def test_where_nothing_can_be_searched_the_words_are_forgotten(open_app: Open) -> None:
    script = script_of(feed.failed_gate())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        typed(app, "x")
        await until(pilot, lambda: not isinstance(app.screen, Dashboard))
        typed(app, "/xn")
        await until(pilot, lambda: "There is no text to search here." in toasts(app))
        await settled(pilot)
        assert script.controls.asked == []
        typed(app, "x")
        await until(pilot, lambda: script.controls.asked == ["stop"])


@pytest.mark.long
async def test_keys_after_one_that_goes_somewhere_are_for_that_place(open_app: Open) -> None:
    async with open_app(script_of(feed.failed_gate())) as pilot:
        app = ralph(pilot)
        typed(app, "1j\r")
        await through_the_menu(pilot)
        assert "task demo-04" in screen_text(app)
        typed(app, "\x1b8v")
        await until(pilot, lambda: "▶ all settings" in screen_text(app))


@pytest.mark.drawn
async def test_an_answer_to_what_is_drawn_counts_however_late_the_queue_hears_of_it(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        check, answered = app.key_queue.check, list[str]()

        def late() -> None:
            screen = app.screen
            if isinstance(screen, FrozenBackground) and not answered:
                if not screen.drawn_at < inf:
                    app.set_timer(0.01, late)
                    return
                answered.append("k")
                typed(app, "k")
            check()

        monkeypatch.setattr(app.key_queue, "check", late)
        await pilot.press("q")
        await until(pilot, lambda: bool(answered))
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
