"""Finding, filtering, and what runs for how long, on the dashboard."""

from pathlib import Path

import pytest
from textual.pilot import Pilot

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.present.timeline.entries import CallEntry
from tests.tui import feed
from tests.tui.conftest import Moment, Open, click_on, drained, ralph, screen_text, script_of, until
from tests.tui.past import past_project


def selected(pilot: Pilot[int]) -> str:
    return ralph(pilot).dashboard.stream.selected_text()


async def test_words_are_found_while_typing_and_the_next_one_steps_round(open_app: Open) -> None:
    said = [ev.AssistantText(text=f"Sentence {n} about slugs") for n in range(5)]
    hidden = ev.ToolFinished(
        tool_id="x", name="Bash", outcome=ToolOutcome.OK, output="a needle\nSentence 3"
    )
    call = ev.ToolStarted(tool_id="x", name="Bash", input={"command": "ls"})
    async with open_app(script_of([*feed.running(), *said, call, hidden])) as pilot:
        app = ralph(pilot)
        await pilot.press("slash", *"sentence 3")
        await until(pilot, lambda: "1 of 2" in screen_text(app))
        assert "Sentence 3" in selected(pilot)
        await pilot.press("enter", "greater_than_sign")
        await until(pilot, lambda: "2 of 2" in screen_text(app))
        assert "ls" in selected(pilot), "outputs are searched, too"
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: "1 of 2" in screen_text(app))
        await pilot.press("less_than_sign")
        await until(pilot, lambda: "2 of 2" in screen_text(app))
        await pilot.press("escape")
        await until(pilot, lambda: "sentence 3" not in screen_text(app).splitlines()[-2])
        assert app.dashboard.stream.has_focus


@pytest.mark.parametrize("page", ["", "4"])
async def test_the_footer_says_what_the_keys_do_while_somebody_searches(
    open_app: Open, tmp_path: Path, page: str
) -> None:
    script = past_project(tmp_path / "slug-demo") if page else script_of(feed.running())
    async with open_app(script, autostart=not page, size=(80, 24)) as pilot:
        app = ralph(pilot)

        def foot() -> str:
            return screen_text(app).splitlines()[-1].strip()

        await pilot.press(*page)
        await until(pilot, lambda: ("view" if page else "pause") in foot())
        before = foot()
        await pilot.press("slash", *"e")
        await until(pilot, lambda: foot() == "enter confirm  esc end search")
        await click_on(pilot, "enter confirm")
        await until(pilot, lambda: foot().startswith(">  < step  esc end search  "))
        assert foot().endswith("^p commands  ? help")
        assert " of " in screen_text(app).splitlines()[-2]
        first = screen_text(app).splitlines()[-2]
        await click_on(pilot, "< step")
        await until(pilot, lambda: screen_text(app).splitlines()[-2] != first)
        await click_on(pilot, "esc end")
        await until(pilot, lambda: foot() == before)


async def test_the_board_is_searched_when_it_has_the_focus(open_app: Open) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        await pilot.press("1", "slash", *"standard input")
        await until(pilot, lambda: app.dashboard.board.cursor == "demo-04")
        await pilot.press("enter")
        await until(pilot, lambda: app.dashboard.board.has_focus)
        await pilot.press("slash", "backspace", *"xyz")
        await until(pilot, lambda: "no matches" in screen_text(app))


async def test_the_filter_shows_trouble_alone_and_all_again(open_app: Open) -> None:
    async with open_app(script_of(feed.failed_gate())) as pilot:
        app = ralph(pilot)
        before = screen_text(app)
        await pilot.press("F", "F")
        await until(pilot, lambda: "activity: problems" in screen_text(app))
        shown = screen_text(app).split("activity: problems")[1]
        assert "failed" in shown
        assert " ok " not in shown
        await pilot.press("F", "F")
        await until(pilot, lambda: "activity: " not in screen_text(app))
        assert [line.split("╮")[0] for line in screen_text(app).splitlines()[3:20]] == [
            line.split("╮")[0] for line in before.splitlines()[3:20]
        ]


async def test_a_call_that_runs_says_for_how_long(open_app: Open) -> None:
    moment = Moment()
    call = ev.ToolStarted(
        tool_id="slow", name="Bash", input={"command": "sleep 99"}, time=moment.now
    )
    async with open_app(script_of([*feed.running(), call]), clock=moment) as pilot:
        app = ralph(pilot)
        assert "running       " in screen_text(app)
        moment.passes(75)
        app.lifecycle.refresher.tick()
        await until(pilot, lambda: "1m 15s" in screen_text(app))
        done = ev.ToolFinished(
            tool_id="slow", name="Bash", outcome=ToolOutcome.OK, seconds=76, output=""
        )
        ralph(pilot).bridge.sink(done)
        await drained(pilot)
        entry = app.dashboard.stream.timeline.entries[-1]
        assert isinstance(entry, CallEntry)
        assert entry.call.seconds == 76


async def test_words_for_the_running_turn(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        await pilot.press("i", *"Stop", "ctrl+n")
        await until(pilot, lambda: script.controls.asked == ["inject now Stop"])
