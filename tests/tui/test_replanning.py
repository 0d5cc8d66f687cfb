"""Planning again from the screen, and what `b` does once a phase alone is done."""

from dataclasses import replace

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.engine.control.launch import RemainingWork
from ralph_tui.engine.control.request import REPLAN
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from ralph_tui.tui.screens.dialogs.text_input import ReplanDialog
from tests.tui import feed
from tests.tui.conftest import (
    Moment,
    Open,
    asks,
    drained,
    ralph,
    screen_text,
    script_of,
    toasts,
    until,
)
from tests.tui.feed import Script
from tests.tui.test_leaving import STOPPED

PLANNED = ev.LoopFinished(
    status=LoopStatus.COMPLETE, reason="planning is done", exit_code=0, tasks_total=4
)
WAITS = ev.ApprovalRequested(kind=ApprovalKind.PLAN, summary="4 tasks")


def able() -> Script:
    """A project in which nothing runs, and all can be begun."""
    script = script_of()
    script.takes_requests = script.can_replan = True
    return script


@pytest.mark.parametrize(("typed", "said"), [("Tests first", "Tests first"), ("", REPLAN)])
async def test_the_plan_is_made_anew_from_its_page_and_then_built(
    open_app: Open, typed: str, said: str
) -> None:
    script = able()
    async with open_app(script, size=(60, 20), autostart=False) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: app.view.is_known)
        await pilot.press("v")
        await until(pilot, lambda: "ctrl+r request changes" in screen_text(app))
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, ReplanDialog))
        await pilot.press(*typed, "ctrl+s")
        await until(pilot, lambda: script.replans == [said])
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        script.news.put_nowait(PLANNED)
        await until(pilot, lambda: not app.bridge.running)
        await pilot.press("b")
        await until(pilot, lambda: script.requests == [""])
        assert script.replans == [said]


async def test_what_was_typed_is_kept_and_nothing_is_begun_when_it_is_left(open_app: Open) -> None:
    script = able()
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: app.view.is_known)
        await pilot.press("P")
        await until(pilot, lambda: isinstance(app.screen, ReplanDialog))
        await pilot.press(*"Fewer", "escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await pilot.press("P")
        await until(pilot, lambda: "Fewer" in screen_text(app))
        assert (script.runs, script.replans) == (0, [])


async def test_a_plan_that_is_worked_or_waits_is_not_made_anew_and_it_is_said_what_to_do(
    open_app: Open,
) -> None:
    script = script_of(feed.running())
    script.can_replan = True
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("v")
        await until(pilot, lambda: isinstance(app.screen, PlanReview))
        await pilot.press("P")
        await until(pilot, lambda: any("Press x to stop it" in text for text in toasts(app)))
        script.news.put_nowait(WAITS)
        await until(pilot, lambda: app.view.approval is not None)
        await pilot.press("P")
        await until(pilot, lambda: any("request changes" in text for text in toasts(app)))
        assert isinstance(app.screen, PlanReview)


async def test_after_a_phase_alone_b_goes_on_from_there(open_app: Open) -> None:
    script = script_of([*feed.running()[:3], PLANNED])
    script.takes_requests = True
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: not app.bridge.running)
        await pilot.press("b")
        await until(pilot, lambda: script.requests == [""])


@pytest.mark.parametrize("handed_in", [False, True])
async def test_planning_that_is_detached_goes_on_planning_and_a_plan_handed_in_is_not_made_twice(
    *, handed_in: bool
) -> None:
    given: list[RemainingWork] = []

    def continue_in_background(left: RemainingWork) -> int:
        given.append(left)
        return 99

    moment, script = Moment(), able()
    app = RalphApp(
        replace(script.launch, continue_in_background=continue_in_background), clock=moment
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: app.view.is_known)
        app.lifecycle.start_loop("Fewer", replans=True)
        for event in feed.running()[:3]:
            script.news.put_nowait(event)
        if handed_in:
            script.news.put_nowait(WAITS)
            await until(pilot, lambda: app.view.approval is not None)
            await asks(pilot, moment)
            await pilot.press("escape")
        await drained(pilot)
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("T")
        await until(pilot, lambda: script.controls.asked == ["stop now"])
        script.news.put_nowait(STOPPED)
        await until(pilot, lambda: bool(app._exit))
    assert [(left.whole, left.replans, left.request) for left in given] == [
        (False, True, "" if handed_in else "Fewer")
    ]


async def test_a_field_says_what_is_wrong_as_it_is_typed_and_the_id_why_it_stays(
    open_app: Open,
) -> None:
    async with open_app(script_of(feed.running()), size=(60, 20)) as pilot:
        app = ralph(pilot)
        await pilot.press("1")
        app.dashboard.board.move_cursor("demo-02")
        await pilot.press("e")
        await until(pilot, lambda: "The ID cannot be changed." in screen_text(app))
        assert "A task needs" not in screen_text(app)
        await pilot.press("tab", "tab", "tab", "x")
        await until(pilot, lambda: "must be a whole number" in screen_text(app))
        await pilot.press("backspace")
        await until(pilot, lambda: "must be a whole number" not in screen_text(app))
