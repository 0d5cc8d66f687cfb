"""Quitting, exit statuses, and what the screen outlives."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import LockedError
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.engine.control.launch import RemainingWork
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.text_input import GuidanceDialog
from ralph_tui.tui.screens.too_small import TooSmall
from ralph_tui.tui.terminal.driver import OneReader
from tests.tui import feed, waiting
from tests.tui.conftest import Open, drained, ralph, screen_text, script_of, toasts, until

STOPPED = ev.LoopFinished(
    status=LoopStatus.INTERRUPTED, reason="Somebody stopped the loop.", exit_code=130
)


async def test_a_terminal_that_is_gone_ends_the_screen(open_app: Open) -> None:
    async with open_app(script_of(), autostart=False) as pilot:
        app = ralph(pilot)
        app.post_message(OneReader.Gone())
        await until(pilot, lambda: app._exit)


@pytest.mark.parametrize(
    ("events", "code"), [(feed.complete(), 0), (feed.stopped(), 1)], ids=["complete", "stopped"]
)
async def test_after_the_loop_the_screen_stays_and_q_returns_its_status(
    open_app: Open, events: list[ev.Event], code: int
) -> None:
    script = script_of(events)
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: not app.bridge.running)
        finished = events[-1]
        assert isinstance(finished, ev.LoopFinished)
        assert finished.reason in screen_text(app)
        await until(pilot, lambda: script.watches == 1)
        await pilot.press("q")
        await until(pilot, lambda: app._exit)
        assert app.return_value == code


async def test_guidance_that_still_waits_after_the_loop_is_told_once(open_app: Open) -> None:
    waits = ev.InjectionQueued(id="i1", text="Use sqlite")
    *run, end = feed.stopped()
    script = script_of([*run, waits, end])
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: script.watches == 1)
        script.disk.put_nowait(waits)
        script.disk.put_nowait(ev.InjectionQueued(id="i2", text="And no colours"))
        await until(pilot, lambda: "queued: And no colours" in screen_text(app))
        assert screen_text(app).count("queued: Use sqlite") == 1


@pytest.mark.parametrize("key", ["q", pytest.param("x", marks=pytest.mark.long)])
async def test_nobody_is_asked_about_a_loop_that_has_ended_meanwhile(
    open_app: Open, key: str
) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press(key)
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        script.news.put_nowait(feed.complete()[-1])
        await until(pilot, lambda: "The loop has already ended." in toasts(app))
        assert isinstance(app.screen, Dashboard)
        assert not app._exit
        assert script.controls.asked == []


@pytest.mark.parametrize("again", [False, True])
async def test_q_is_taken_the_moment_the_screen_says_that_it_is_over(again: bool) -> None:
    script, put_away = script_of(feed.complete()), asyncio.Event()

    async def run(sink: EventSink) -> ev.LoopFinished:
        told = await script.launch.run(sink)
        await put_away.wait()
        return told

    app = RalphApp(replace(script.launch, run=run), autostart=True, clock=feed.clock)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: app.bridge.finished is not None)
        await pilot.press("q")
        await drained(pilot)
        assert isinstance(app.screen, Dashboard)
        assert not app._exit, "what it began is put away first"
        if again:
            await pilot.press("q")
        else:
            put_away.set()
        await until(pilot, lambda: app._exit)
        assert app.return_value == 0


async def test_q_asks_first_and_stop_and_quit_waits_for_the_loop_to_end(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("k")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert script.controls.asked == []
        assert not app._exit
        await pilot.press("ctrl+q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("s")
        await until(pilot, lambda: script.controls.asked == ["stop now"])
        assert not app._exit
        script.news.put_nowait(STOPPED)
        await until(pilot, lambda: app._exit)
        assert app.return_value == 130


@pytest.mark.parametrize("detachable", [True, pytest.param(False, marks=pytest.mark.long)])
async def test_enter_on_the_question_loses_nothing_however_often(
    open_app: Open, *, detachable: bool
) -> None:
    script = script_of(feed.running())
    handed: list[RemainingWork] = []

    def continue_in_background(left: RemainingWork) -> int:
        handed.append(left)
        return 99

    async with open_app(script) as pilot:
        app = ralph(pilot)
        app.launch = replace(
            app.launch, continue_in_background=continue_in_background if detachable else None
        )
        for _ in range(2):
            await pilot.press("q")
            await until(pilot, lambda: isinstance(app.screen, Confirm))
            await until(pilot, lambda: "quit (interrupts the iteration)" in screen_text(app))
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await until(pilot, lambda: script.controls.asked == ["stop"])
        assert not app._exit
        script.news.put_nowait(STOPPED)
        await until(pilot, lambda: app._exit)
        assert bool(handed) is detachable
        assert app.return_value == (0 if detachable else 130)
    assert script.controls.asked == ["stop"]


async def test_q_again_does_not_wait_and_the_loop_is_cancelled(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("s")
        await until(pilot, lambda: script.controls.asked == ["stop now"])
        await pilot.press("q")
        await until(pilot, lambda: app._exit)
        assert app.return_value == 130
    assert script.cancelled


async def test_ctrl_c_warns_first_and_then_asks(open_app: Open) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: "Press ctrl+c again to quit." in toasts(app))
        assert isinstance(app.screen, Dashboard)
        await pilot.press("ctrl+c")
        await until(pilot, lambda: isinstance(app.screen, Confirm))


async def test_a_loop_that_cannot_start_is_explained_and_can_be_tried_again(
    open_app: Open,
) -> None:
    script = script_of()
    script.news.put_nowait(LockedError("Process 42 works here.", "Stop it first."))
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: app.view.run_state is RunState.FAILED)
        await pilot.pause()
        text = screen_text(app)
        assert "Process 42 works here." in text
        assert "Stop it first." in text
        await pilot.press("b")
        await until(pilot, lambda: script.runs == 2)
        assert "Process 42 works here." not in screen_text(app).split("activity")[0]


def details(said: str) -> str:
    found = re.search(r"The details are in (\S+\.txt)\.", said)
    assert found, said
    report = Path(found[1])
    text = report.read_text()
    report.unlink()
    assert "Traceback" in text
    return text


async def test_a_crash_of_the_loop_is_a_state_not_a_traceback(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        script.news.put_nowait(KeyError("[/]\x1b]0;gone\x07"))
        await until(pilot, lambda: app.view.run_state is RunState.FAILED)
        await pilot.pause()
        text = screen_text(app)
        assert "The loop crashed: KeyError" in text
        assert "\x1b" not in text
        assert "KeyError" in details(app.view.detail)
        await pilot.press("q")
        await until(pilot, lambda: app._exit)
        assert app.return_value == 3


async def test_an_edit_on_disk_appears_while_idle_and_a_watcher_that_fails_says_so(
    open_app: Open,
) -> None:
    script = script_of()
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        script.disk.put_nowait(ev.PlanLoaded(tasks=(feed.TASKS[3],), source="disk"))
        await until(pilot, lambda: list(app.view.tasks) == ["demo-04"])
        await until(pilot, lambda: "changed on disk: 1 task" in screen_text(app))
        script.disk.put_nowait(OSError("inotify limit"))
        await until(pilot, lambda: "inotify limit" in screen_text(app))
        (notice,) = app.view.notices
        assert "inotify limit" in details(notice.text)


async def test_too_small_covers_and_uncovers_while_the_loop_goes_on(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.resize_terminal(50, 12)
        await until(pilot, lambda: isinstance(app.screen, TooSmall))
        assert "ralph needs at least 60x16" in screen_text(app)
        await pilot.press("x")
        await pilot.pause()
        assert isinstance(app.screen, TooSmall), "a key that nobody sees does nothing"
        assert script.controls.asked == []
        script.news.put_nowait(ev.PauseRequested())
        await until(pilot, lambda: app.view.run_state is RunState.PAUSING)
        await pilot.pause()
        assert "pausing" in screen_text(app)
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert "demo-02" in screen_text(app)


@pytest.mark.parametrize("over", [False, True])
async def test_to_stop_a_wait_is_to_give_it_up(open_app: Open, over: bool) -> None:
    script = script_of(waiting.limited())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: app.view.run_state is RunState.LIMITED)
        await pilot.press("x")
        await until(pilot, lambda: "End this run" in screen_text(app))
        if over:
            script.news.put_nowait(ev.LimitWaitEnded(why="the wait is over"))
            await until(pilot, lambda: isinstance(app.screen, Dashboard))
            assert "The wait is over." in toasts(app)
        else:
            await pilot.press("x")
            await until(pilot, lambda: bool(script.controls.asked))
        assert script.controls.asked == ([] if over else ["stop now"])


async def test_it_opens_too_small_and_covers_a_dialog_that_opens_meanwhile(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(20, 5)) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, TooSmall))
        await pilot.resize_terminal(1, 1)
        app.push_screen(GuidanceDialog())
        await until(pilot, lambda: isinstance(app.screen_stack[-2], GuidanceDialog))
        assert isinstance(app.screen, TooSmall)
        await pilot.resize_terminal(100, 30)
        await until(pilot, lambda: isinstance(app.screen, GuidanceDialog))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))


@pytest.mark.parametrize("runs", [True, False])
async def test_ctrl_z_suspends_a_screen_but_never_a_loop(
    open_app: Open, monkeypatch: pytest.MonkeyPatch, *, runs: bool
) -> None:
    suspended: list[bool] = []
    async with open_app(script_of(feed.running() if runs else ()), autostart=runs) as pilot:
        app = ralph(pilot)
        monkeypatch.setattr(app, "action_suspend_process", lambda: suspended.append(True))
        await pilot.press("ctrl+z")
        await until(pilot, lambda: bool(suspended) or "also pause the loop" in screen_text(app))
    assert bool(suspended) is not runs
