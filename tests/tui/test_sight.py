"""What is not read yet is not claimed; what cannot be read is said, and comes back."""

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.costs import CostMeter
from ralph_tui.domain.project_state import Phase
from ralph_tui.tui.screens import dashboard
from tests.tui import feed
from tests.tui.conftest import SIZE, Open, drained, ralph, screen_text, script_of, toasts, until

CLAIMS = ("building", "discovery", "No plan", "$", "%", "closed", "no claim", "none changed")


@pytest.mark.parametrize("size", [(80, 24), SIZE, (160, 50)])
async def test_before_the_project_is_read_nothing_is_claimed(
    open_app: Open, size: tuple[int, int]
) -> None:
    script = script_of()
    script.idle = []
    async with open_app(script, autostart=False, size=size) as pilot:
        app = ralph(pilot)
        frame = screen_text(app)
        assert "opening" in frame
        assert not [claim for claim in CLAIMS if claim in frame]
        await until(pilot, lambda: "reading the project" in screen_text(app))
        await pilot.press("b")
        assert toasts(app) == ["The project is still loading."]
        panels = [p for p in app.dashboard.side.children if p is not app.dashboard.preview]
        tall = [panel.size for panel in panels]
        read = feed.read().model_copy(
            update={"phase": Phase.PLANNING, "costs": CostMeter(total=7.5)}
        )
        script.disk.put_nowait(read)
        script.disk.put_nowait(feed.plan())
        await until(pilot, lambda: "demo-02" in screen_text(app))
        shown = screen_text(app)
        assert "reading" not in shown
        assert ("planning" in shown) or ("2/4" in shown)
        assert [panel.size for panel in panels] == tall, "nothing jumps"
        await pilot.press("3")
        await until(pilot, lambda: "$7.50" in screen_text(app))


async def test_that_a_project_is_read_is_not_said_at_once(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dashboard, "SLOW_SECONDS", 3600.0)
    script = script_of()
    script.idle = []
    async with open_app(script, autostart=False) as pilot:
        frame = screen_text(ralph(pilot))
        assert "opening" in frame
        assert "reading" not in frame, "it would flicker"


async def test_the_long_past_of_a_loop_is_shown_when_all_of_it_was_told(open_app: Open) -> None:
    script = script_of()
    script.idle = [ev.CatchingUp(pid=4711), *feed.running(), ev.CatchingUp(pid=4711, percent=37)]
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: "so far: 37 %" in screen_text(app))
        frame = screen_text(app)
        assert "opening" in frame
        assert "demo-02" not in frame
        assert "pytest" not in frame
        await pilot.press("b")
        await drained(pilot)
        assert script.runs == 0
        script.disk.put_nowait(ev.LoopFound(pid=4711))
        await until(pilot, lambda: "attached to process 4711" in screen_text(app))
        assert "uv run pytest" in screen_text(app)
        assert "so far" not in screen_text(app)


GONE = "/home/dev/slug-demo has no .ralph directory. Run `ralph init` there."


async def test_what_cannot_be_read_is_one_sentence_until_it_can(open_app: Open) -> None:
    script = script_of()
    async with open_app(script, autostart=False, size=(80, 24)) as pilot:
        app = ralph(pilot)
        script.disk.put_nowait(ev.ProjectUnreadable(reason=GONE))
        await until(pilot, lambda: GONE in " ".join(screen_text(app).split()))
        frame = screen_text(app)
        assert "unreadable" in frame.splitlines()[0]
        assert "Showing the last version that could be read." in frame
        assert "Ready to build" not in frame
        await pilot.press("b")
        assert script.runs == 0
        assert toasts(app) == [f"Cannot start building. {GONE}"]
        script.disk.put_nowait(feed.read())
        await until(pilot, lambda: "Ready to build" in screen_text(app))
        assert "unreadable" not in screen_text(app)
        await pilot.press("2")
        await until(pilot, lambda: "can be read again" in screen_text(app))


async def test_a_plan_that_cannot_be_built_is_not_offered_for_building(open_app: Open) -> None:
    wrong = "Tasks wait for each other: c -> d -> c."
    script = script_of()
    script.idle = [feed.read().model_copy(update={"unworkable": wrong}), feed.plan()]
    async with open_app(script, autostart=False, size=(80, 24)) as pilot:
        app = ralph(pilot)
        assert "broken plan" in screen_text(app)
        assert wrong in screen_text(app)
        assert "Ready to build" not in screen_text(app)
        await pilot.press("b")
        assert (toasts(app), script.runs) == ([f"Cannot start building. {wrong}"], 0)
        script.disk.put_nowait(feed.read())
        await until(pilot, lambda: "Ready to build" in screen_text(app))
        await pilot.press("b")
        await until(pilot, lambda: script.runs == 1)


async def test_a_file_that_is_being_written_is_said_calmly_and_taken_back(open_app: Open) -> None:
    script = script_of()
    plan = "implementation_plan.json"
    async with open_app(script, autostart=False, size=(80, 24)) as pilot:
        app = ralph(pilot)
        script.disk.put_nowait(ev.FilesUnfinished(names=(plan,)))
        await until(pilot, lambda: f"{plan} is being written" in screen_text(app))
        assert "You still see the last complete version" in screen_text(app)
        assert "demo-02" in screen_text(app)
        assert "broken" not in screen_text(app)
        script.disk.put_nowait(ev.FilesUnfinished())
        await until(pilot, lambda: "Ready to build" in screen_text(app))
        assert "is being written" not in screen_text(app)


async def test_the_foot_offers_no_pause_where_nothing_runs(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        assert "p pause" not in screen_text(app).splitlines()[-1]
        await pilot.press("b")
        await until(pilot, lambda: "p pause" in screen_text(app).splitlines()[-1])
