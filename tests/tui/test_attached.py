"""A loop that runs elsewhere, as the screen sees it: found, steered, lost; and one's own handed over."""

from dataclasses import replace

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.engine.control.launch import RemainingWork
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.handlers import start
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from tests.tui import feed, waiting
from tests.tui.conftest import SIZE, Moment, Open, drained, ralph, screen_text, script_of, until
from tests.tui.waiting import STOPPED

FOUND = ev.LoopFound(pid=4711)


async def test_a_found_loop_is_shown_steered_and_left_alone(open_app: Open) -> None:
    script, moment = script_of(), Moment()
    async with open_app(script, autostart=False, clock=moment) as pilot:
        app = ralph(pilot)
        for event in (*feed.running(), FOUND):
            script.disk.put_nowait(event)
        await until(pilot, lambda: "attached to process 4711" in screen_text(app))
        await pilot.press("p")
        await until(pilot, lambda: script.controls.asked == ["pause"])
        asked = waiting.asked(waiting.LANGUAGE, task="demo-02")
        script.disk.put_nowait(ev.QuestionAsked(question=asked))
        await until(pilot, lambda: waiting.LANGUAGE.question in screen_text(app))
        await until(pilot, lambda: app.screen is not app.dashboard)
        await pilot.pause()
        moment.passes(2)  # a dialog ignores keys when it has just appeared
        await pilot.press("escape", "q")
        await until(pilot, lambda: app._exit)
        assert app.return_value == 0
        assert (
            app.exit_message == "The loop continues in process 4711. Run `ralph` to return to it."
        )
        assert script.controls.asked == ["pause"], "leaving asks nothing of the loop"


async def test_a_lost_loop_leaves_nothing_that_seems_to_go_on(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = script_of()
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        for event in (*feed.running(), FOUND):
            script.disk.put_nowait(event)
        await until(pilot, lambda: app.bridge.live)
        monkeypatch.setattr(start, "open_request", lambda _: "what the lost one was asked for")
        script.disk.put_nowait(ev.LoopLost(pid=4711))
        await until(pilot, lambda: app.view.run_state is RunState.LOST)
        await until(pilot, lambda: app.request == "what the lost one was asked for")
        await drained(pilot)
        text = screen_text(app)
        assert "Disconnected: process 4711 ended unexpectedly." in text
        assert "attached to" not in text.splitlines()[0]
        stream = text.split("activity")[1]
        assert "running" not in stream
        assert "words are collected" not in stream, "what was being written will never be finished"
        assert app.command_context().running is False
        await pilot.press("b")
        await until(pilot, lambda: script.runs == 1)
        await until(pilot, lambda: "starting" in screen_text(app).splitlines()[0])
        assert "Disconnected" not in screen_text(app)
        script.news.put_nowait(feed.started())
        await until(pilot, lambda: "running" in screen_text(app).splitlines()[0])


@pytest.mark.parametrize(("key", "asked"), [("T", "stop now"), ("t", "stop")])
async def test_the_owner_hands_over_what_is_left(key: str, asked: str) -> None:
    given: list[RemainingWork] = []

    def continue_in_background(left: RemainingWork) -> int:
        given.append(left)
        return 99

    script = script_of(feed.running())
    app = RalphApp(
        replace(script.launch, continue_in_background=continue_in_background),
        autostart=True,
        clock=feed.clock,
    )
    async with app.run_test(size=SIZE) as pilot:
        await drained(pilot)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press(key)
        await until(pilot, lambda: script.controls.asked == [asked])
        assert not given, "never two owners"
        script.news.put_nowait(STOPPED.model_copy(update={"iterations": 8, "cost_usd": 1.5}))
        await until(pilot, lambda: app._exit)
    assert given == [RemainingWork(whole=False, iterations=42, usd=48.5)]
    assert app.return_value == 0
    assert "background process 99" in app.exit_message


async def test_a_hand_over_that_fails_is_said_and_the_screen_stays() -> None:
    def continue_in_background(_: RemainingWork) -> int:
        raise RalphError("The process in the background ended at once: no.", "Look.")

    script = script_of(feed.running())
    app = RalphApp(
        replace(script.launch, continue_in_background=continue_in_background),
        autostart=True,
        clock=feed.clock,
    )
    async with app.run_test(size=SIZE) as pilot:
        await drained(pilot)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("T")
        await until(pilot, lambda: script.controls.asked == ["stop now"])
        script.news.put_nowait(STOPPED)
        await until(pilot, lambda: "ended at once: no." in screen_text(app))
        await until(pilot, lambda: script.watches == 1)
        assert not app._exit
