"""Keys come first: when the stream is drawn, and when garbage is looked for."""

import gc
import weakref
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import Task
from ralph_tui.tui.app import lifecycle
from ralph_tui.tui.host import bridge
from ralph_tui.tui.terminal.frame_pacing import (
    ANSWER_SECONDS,
    LATEST_SECONDS,
    REST,
    TYPING_REST,
    FramePacer,
)
from ralph_tui.tui.terminal.garbage_collection import (
    LATEST,
    OLDER,
    QUIET_SECONDS,
    collect_when_idle,
    manual_collection,
)
from tests.harness.waiting import until
from tests.tui import feed
from tests.tui.conftest import Open, drained, ralph, screen_text, script_of

BEAT = 0.05


def test_after_a_key_the_stream_rests_until_it_is_answered() -> None:
    pace = FramePacer()
    assert pace.may_draw(10.0)
    pace.draw(10.0, took=0.001)
    pace.press(10.1)
    assert not pace.may_draw(10.1 + ANSWER_SECONDS / 2)
    assert pace.may_draw(10.1 + ANSWER_SECONDS + 0.001)


def test_drawing_takes_a_ninth_of_the_time_at_most() -> None:
    pace = FramePacer()
    pace.draw(10.0, took=0.1)
    assert not pace.may_draw(10.0 + REST * 0.1 - 0.01)
    assert pace.may_draw(10.0 + REST * 0.1 + 0.001)


def test_while_somebody_types_it_is_drawn_more_seldom_but_never_too_late() -> None:
    pace = FramePacer()
    pace.draw(10.0, took=0.01)
    pace.press(10.01)
    assert not pace.may_draw(10.0 + TYPING_REST * 0.01 - 0.01)
    assert pace.may_draw(10.0 + TYPING_REST * 0.01 + 0.001)
    pace.draw(20.0, took=0.03)
    pace.press(20.01)
    assert pace.may_draw(20.0 + LATEST_SECONDS + 0.001)
    pace.draw(30.0, took=0.01)
    assert pace.may_draw(30.0 + REST * 0.01 + 0.001), "nobody types any more"


@given(st.lists(st.floats(0.001, 1.0), max_size=200))
def test_a_key_held_down_does_not_stop_the_stream(pauses: list[float]) -> None:
    pace, now, drawn = FramePacer(), 0.0, 0.0
    pace.draw(now, took=0.01)
    for pause in pauses:
        for _ in range(round(pause / BEAT) + 1):
            now += BEAT
            if pace.may_draw(now):
                pace.draw(now, took=0.01)
                drawn = now
            assert now - drawn <= LATEST_SECONDS + BEAT
        pace.press(now)


class Knot:
    """Garbage that does not go by itself."""

    def __init__(self) -> None:
        self.myself = self


def test_garbage_is_looked_for_while_nobody_types() -> None:
    before = gc.get_threshold()
    with manual_collection():
        knot = weakref.ref(Knot())
        gc.collect()
        old = Knot()
        knot = weakref.ref(old)
        for _ in range(OLDER):
            gc.collect(1)
        del old
        assert not collect_when_idle(QUIET_SECONDS / 2)
        assert knot() is not None
        assert collect_when_idle(QUIET_SECONDS)
        assert knot() is None
        assert not collect_when_idle(QUIET_SECONDS)
        for _ in range(LATEST):
            gc.collect(1)
        assert collect_when_idle(0.0)
    assert gc.get_threshold() == before
    assert not collect_when_idle(QUIET_SECONDS)


async def test_what_came_while_somebody_types_is_shown_soon(open_app: Open) -> None:
    script = script_of([feed.started()])
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await drained(pilot)
        await _typing(pilot, lambda: script.news.put_nowait(ev.Notice(text="news of now")))
        assert "news of now" in screen_text(app)


async def _typing(pilot: Pilot[int], say: Callable[[], None]) -> None:
    say()
    for _ in range(200):
        await pilot.press("j")
        if "news of now" in screen_text(ralph(pilot)):
            return


async def test_what_files_tell_is_shown_at_once_though_the_beat_at_rest_is_slow(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lifecycle, "IDLE_FLUSH_SECONDS", 3600.0)
    script = script_of()
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        monkeypatch.setattr(bridge, "MAX_BATCH", 1)
        for name in ("first", "second", "third"):
            script.disk.put_nowait(ev.TaskChanged(task=Task(id=name)))
        await until(lambda: "third" in screen_text(app))
        await pilot.press("down")  # which postpones what is drawn
        script.disk.put_nowait(ev.Notice(text="Said by another program."))
        await until(lambda: "Said by another" in screen_text(app))


async def test_a_key_does_not_wait_for_textuals_next_picture(open_app: Open) -> None:
    async with open_app(script_of()) as pilot:
        assert pilot.app.screen._update_timer._interval <= 1 / 200
