"""The player: pure, so its clock is the test's. And where it is seen."""

from datetime import timedelta
from pathlib import Path

from ralph_tui.domain.events import AssistantText, Event
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.data.event_player import LONGEST_SILENCE, Player, times_of
from ralph_tui.tui.host.workers import do
from ralph_tui.tui.screens.pages.iterations import IterationsPage
from tests.tui import feed
from tests.tui.conftest import drained, screen_text, until
from tests.tui.feed import START
from tests.tui.past import past_project


def said(*seconds: float) -> list[Event]:
    return [AssistantText(text=str(s), time=START + timedelta(seconds=s)) for s in seconds]


def test_silences_are_shortened_and_clocks_that_go_back_do_no_harm() -> None:
    assert times_of(said(0, 1, 61, 60, 62)) == [0, 1, 1 + LONGEST_SILENCE, 4, 6]
    assert times_of([]) == []
    assert times_of([AssistantText(text="no time"), *said(5)]) == [0, 0]


def test_events_come_when_they_are_due_at_the_chosen_speed() -> None:
    player = Player(said(0, 1, 2, 3))
    assert list(player.advance(1)) == []  # it holds until it is told to play
    player.playing = True
    assert len(player.advance(0)) == 1
    assert len(player.advance(0.5)) == 0
    player.faster(1)
    assert player.speed == 2
    assert len(player.advance(0.5)) == 1
    assert player.position == 2
    assert len(player.rest()) == 2
    assert player.ended
    player.rewind()
    assert (player.position, player.at) == (0, 0.0)


def test_speeds_go_from_one_to_ten_and_no_further() -> None:
    player = Player()
    speeds = []
    for step in (1, 1, 1, 1, -1, -1, -1, -1):
        player.faster(step)
        speeds.append(player.speed)
    assert speeds == [2, 5, 10, 10, 5, 2, 1, 1]


async def test_on_a_narrow_screen_a_replay_is_seen(tmp_path: Path) -> None:
    script = past_project(tmp_path / "slug-demo")
    app = RalphApp(script.launch, autostart=False, clock=feed.clock)
    async with app.run_test(size=(80, 24)) as pilot:
        await drained(pilot)
        do(app, app.lifecycle.handlers.pages.open("iterations", wanted="3"), "replay")
        await until(
            pilot,
            lambda: (
                isinstance(page := app.screen, IterationsPage) and bool(page.replay.player.events)
            ),
        )
        await pilot.press("space")
        await until(pilot, lambda: "pause" in screen_text(app).splitlines()[-1])
        await until(pilot, lambda: "iteration 3 ·" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "iterations 2" in screen_text(app))
        await pilot.press("v")  # not the view of something behind the list
        await until(pilot, lambda: "▶ changes" in screen_text(app))
