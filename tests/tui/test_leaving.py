"""Quitting, exit statuses, and what the screen outlives."""

import asyncio
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.events import EventSink
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.terminal.driver import OneReader
from tests.tui import feed
from tests.tui.conftest import Open, drained, ralph, screen_text, script_of, until


async def test_a_terminal_that_is_gone_ends_the_screen(open_app: Open) -> None:
    async with open_app(script_of(), autostart=False) as pilot:
        app = ralph(pilot)
        app.post_message(OneReader.Gone())
        await until(pilot, lambda: app._exit)


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
