"""Somebody who looks elsewhere is called: when it waits for them, when it is done, when it is gone."""

from dataclasses import replace
from functools import partial

import pytest
from textual.events import AppBlur, AppFocus

from ralph_tui.config.settings import ScreenSettings
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.host.widget_host import notification
from tests.tui import feed, waiting
from tests.tui.conftest import SIZE, drained, ralph, script_of, until

ESC = "\x1b"


def written(app: RalphApp, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    sent: list[str] = []
    assert app._driver
    monkeypatch.setattr(app._driver, "write", sent.append)
    monkeypatch.setattr(app, "bell", lambda: sent.append("\a"))  # headless apps do not ring
    return sent


def has(app: RalphApp, asked: AskedQuestion) -> bool:
    return asked in app.view.questions


def calls(sent: list[str]) -> list[str]:
    return [text for text in sent if text.startswith(f"{ESC}]9;")]


@pytest.mark.parametrize(
    ("when", "looks_away", "is_called"),
    [
        ("blur", True, True),
        pytest.param("blur", False, False, marks=pytest.mark.long),
        pytest.param("always", False, True, marks=pytest.mark.long),
        pytest.param("never", True, False, marks=pytest.mark.long),
    ],
)
async def test_a_question_calls_once(
    monkeypatch: pytest.MonkeyPatch, when: str, *, looks_away: bool, is_called: bool
) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    screen = ScreenSettings.model_validate({"notifications": when})
    script = script_of(feed.running())
    app = RalphApp(replace(script.launch, screen=screen), autostart=True, clock=feed.clock)
    async with app.run_test(size=SIZE) as pilot:
        await until(pilot, lambda: bool(script.runs))
        await drained(pilot)
        sent = written(app, monkeypatch)
        app.post_message(AppBlur() if looks_away else AppFocus())
        await pilot.pause()
        for number, question in enumerate((waiting.LANGUAGE, waiting.PARTS)):
            asked = waiting.asked(question, number, task="demo-02")
            script.news.put_nowait(ev.QuestionAsked(question=asked))
            await until(pilot, partial(has, app, asked))
            await drained(pilot)
        assert app.view.run_state is RunState.WAITING
        expected = [f"{ESC}]9;ralph: slug-demo asks: {waiting.LANGUAGE.question}{ESC}\\"]
        assert calls(sent) == (expected if is_called else [])
        assert sent.count("\a") == 1, "the bell rings once, whatever the desktop gets"
        title = next(text for text in sent if text.startswith(f"{ESC}]0;"))
        assert "waiting for you" in title


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (feed.complete()[-1:], "complete: "),
        (feed.stopped()[-1:], "stopped: "),
        ([ev.LoopLost(pid=7)], "process 7 ended unexpectedly"),
    ],
)
async def test_the_end_calls(
    monkeypatch: pytest.MonkeyPatch,
    happens: list[ev.Event],
    said: str,
) -> None:
    monkeypatch.delenv("TMUX", raising=False)
    script = script_of(feed.running())
    app = RalphApp(script.launch, autostart=True, clock=feed.clock)
    async with app.run_test(size=SIZE) as pilot:
        await drained(pilot)
        sent = written(ralph(pilot), monkeypatch)
        app.post_message(AppBlur())
        await pilot.pause()
        for event in happens:
            script.news.put_nowait(event)
        await until(pilot, lambda: len(calls(sent)) == 1)
        assert said in calls(sent)[0]


@pytest.mark.long
async def test_the_past_of_a_loop_that_runs_elsewhere_calls_nobody(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    script = script_of()
    app = RalphApp(script.launch, autostart=False, clock=feed.clock)
    async with app.run_test(size=SIZE) as pilot:
        await drained(pilot)
        sent = written(app, monkeypatch)
        app.post_message(AppBlur())
        asked = waiting.asked(waiting.LANGUAGE)
        for event in (
            *feed.running(),
            ev.QuestionAsked(question=asked),
            waiting.answered(asked),
            ev.LoopFound(pid=7),
        ):
            script.disk.put_nowait(event)
            await drained(pilot)
        await until(pilot, lambda: app.view.elsewhere is not None)
        assert "\a" not in sent
        assert calls(sent) == []
        script.disk.put_nowait(ev.QuestionAsked(question=waiting.asked(waiting.STORE, 2, "b2")))
        await until(pilot, lambda: "\a" in sent)


@pytest.mark.parametrize(
    ("environ", "sent"),
    [
        ({}, f"{ESC}]9;ralph: a, b{ESC}\\"),
        ({"VTE_VERSION": "7600"}, f"{ESC}]777;notify;ralph;a, b{ESC}\\"),
        (
            {"TERM": "xterm-kitty"},
            f"{ESC}]99;i=ralph:d=0;ralph{ESC}\\{ESC}]99;i=ralph:p=body;a, b{ESC}\\",
        ),
        ({"TMUX": "/tmp/x"}, f"{ESC}Ptmux;{ESC}{ESC}]9;ralph: a, b{ESC}{ESC}\\{ESC}\\"),
    ],
)
def test_each_terminal_gets_its_own_escape(environ: dict[str, str], sent: str) -> None:
    assert notification("a; b", environ) == sent


def test_hostile_text_does_not_leave_the_notification() -> None:
    text = notification("x\x1b\\\x07\x9c\u202e]0;owned\n\x1b]52;c;AAAA\x07", {})
    inside = text.removeprefix(f"{ESC}]9;").removesuffix(f"{ESC}\\")
    assert not any(ord(c) < 32 or 127 <= ord(c) < 160 for c in inside)
    assert "\u202e" not in inside
