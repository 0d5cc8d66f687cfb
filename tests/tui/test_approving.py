"""Approvals on the screen: read, decided, deferred; and the plan changed before it is approved."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import cast

import pytest
from textual.events import AppBlur, AppFocus
from textual.pilot import Pilot
from textual.strip import Strip
from textual.widgets import TextArea

from ralph_tui.domain import events as ev
from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.present.text.spans import width_of
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.approval import ApprovalDialog
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.edit_task import EditTask
from ralph_tui.tui.screens.dialogs.plan_review import PlanApproval
from ralph_tui.tui.screens.dialogs.request_changes import RequestChangesDialog
from ralph_tui.tui.screens.dialogs.text_input import RequestDialog
from ralph_tui.tui.widgets.dialog_frame import DialogFrame
from ralph_tui.tui.widgets.text_view import TextView
from tests.tui import feed, waiting
from tests.tui.conftest import (
    Moment,
    Opened,
    click_on,
    drained,
    screen_text,
    script_of,
    through_the_menu,
    toasts,
    until,
)
from tests.tui.feed import Script
from tests.tui.test_hostile import HOSTILE, assert_inert, hostile_run
from tests.tui.waiting import approving, cooling, limited

Open = Callable[..., Opened]

PLAN = approving(ApprovalKind.PLAN, "5 tasks to do")


async def asks(pilot: Pilot[int], moment: Moment) -> RalphApp:
    app = cast("RalphApp", pilot.app)
    await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
    await pilot.pause()
    moment.passes(2)
    return app


@pytest.mark.drawn
async def test_the_plan_is_shown_with_everything_and_approved(open_app: Open) -> None:
    moment, script = Moment(), script_of(PLAN)
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        text = screen_text(app)
        for part in (
            "Review the plan",
            "5 tasks to do",
            "Unicode letters are folded to ASCII.",
            "An empty title raises ValueError",
            "after  demo-01",
            "priority 2, about 30k tokens",
        ):
            assert part in text
        assert app.view.run_state is RunState.WAITING
        await pilot.press("ctrl+y")
        await until(pilot, lambda: script.controls.asked == ["approve by screen"])
        await pilot.pause()
        assert isinstance(app.screen, Dashboard)


@pytest.mark.drawn
async def test_a_text_is_folded_before_it_is_seen_and_stays_where_it_is_when_one_comes_back(
    open_app: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[bool] = []
    draw = TextView.content_lines

    def noted(self: TextView, ys: range) -> list[Strip]:
        strips = draw(self, ys)
        cut = [self.row_line(y, self.row_width) for y in range(self.row_count())]
        drawn.append(all(width_of(line) <= self.row_width for line in cut))
        return strips

    monkeypatch.setattr(TextView, "content_lines", noted)
    async with open_app(script_of(cooling()), size=(80, 24), clock=Moment()) as pilot:
        app = await asks(pilot, Moment())
        assert drawn
        assert all(drawn), "wider than there is room, if only for a moment"
        assert "Summary" in screen_text(app)
        for looks in (AppBlur, AppFocus):
            app.post_message(looks())
            await pilot.pause()
        assert "Summary" in screen_text(app), "the first line scrolled away by itself"


async def test_a_rejection_needs_a_reason_keeps_its_draft_and_has_comments_on_lines(
    open_app: Open,
) -> None:
    moment, script = Moment(), script_of(PLAN)
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, RequestChangesDialog))
        assert "Turn titles into slugs" in screen_text(app), "the plan is beside the box"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any("Describe the changes first" in t for t in toasts(app)))
        await pilot.press(*"tests", "escape")
        await until(pilot, lambda: isinstance(app.screen, PlanApproval))
        assert script.controls.asked == []
        await pilot.pause()
        moment.passes(2)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, RequestChangesDialog))
        await pilot.press(*" first", "tab")
        await until(pilot, lambda: "enter comment on the line" in screen_text(app))
        text = app.screen.query_one(TextView)
        while "uv run pytest" not in text.chosen_text():
            await pilot.press("down")
        await pilot.press("enter", *"Why this?")
        await until(pilot, lambda: isinstance(app.focused, TextArea))
        await pilot.press("ctrl+s")
        wanted = "reject: tests first\n\n> demo-02: uv run pytest\nWhy this? by screen"
        await until(pilot, lambda: script.controls.asked == [wanted])


async def test_in_little_room_the_box_is_below_the_text_and_both_are_seen(open_app: Open) -> None:
    moment, script = Moment(), script_of(PLAN)
    async with open_app(script, clock=moment, size=(60, 16)) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("ctrl+r")
        await until(pilot, lambda: isinstance(app.screen, RequestChangesDialog))
        await drained(pilot)
        text, box = app.screen.query_one(TextView), app.screen.query_one(TextArea)
        assert text.region.bottom <= box.region.y
        assert text.size.height >= 3
        assert box.size.height >= 2
        assert app.screen.query_one(DialogFrame).region.bottom <= 16


async def test_later_is_later_and_a_reopens(open_app: Open) -> None:
    moment, script = Moment(), script_of(PLAN)
    async with open_app(script, clock=moment) as pilot:
        app = cast("RalphApp", pilot.app)
        await until(pilot, lambda: isinstance(app.screen, PlanApproval))
        await pilot.press("ctrl+y", "escape")
        assert isinstance(app.screen, PlanApproval), "keys do not count yet"
        moment.passes(2)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert "Review the plan (5 tasks to do)" in screen_text(app)
        await pilot.press("a")
        await asks(pilot, moment)
        assert script.controls.asked == []


async def test_a_decision_made_elsewhere_closes_it(open_app: Open) -> None:
    moment, script = Moment(), script_of(PLAN)
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        script.news.put_nowait(ev.ApprovalGiven(kind=ApprovalKind.PLAN, approved=True, by="person"))
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert "Answered elsewhere." in toasts(app)


async def test_a_task_is_edited_dropped_and_moved_before_approval(open_app: Open) -> None:
    moment, script = Moment(), script_of(PLAN)
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditTask))
        assert "uv run mypy ." in screen_text(app)
        await pilot.press(*"Now: ", "ctrl+s")
        await until(pilot, lambda: len(script.controls.asked) == 1)
        assert script.controls.asked[0].startswith("edit demo-02: {'text': 'Now: Turn titles")
        assert "checks" not in script.controls.asked[0]
        await until(pilot, lambda: isinstance(app.screen, PlanApproval))
        await pilot.press("j", "plus")
        await until(pilot, lambda: script.controls.asked[-1] == "move demo-03: -1")
        await pilot.press("d")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("D")
        await until(pilot, lambda: script.controls.asked[-1] == "drop demo-03")
        await until(pilot, lambda: isinstance(app.screen, PlanApproval))
        left = (*feed.TASKS[:2], *feed.TASKS[3:])
        script.news.put_nowait(ev.PlanLoaded(tasks=left, source="disk"))
        await until(pilot, lambda: "demo-03  Keep" not in screen_text(app))
        assert "4 tasks, about" in screen_text(app), "the summary is of the plan as it is now"
        chosen = cast("PlanApproval", app.screen).selected
        assert chosen is not None
        assert chosen.id == "demo-04", "the cursor stays where it was"
        await pilot.press("enter")
        await through_the_menu(pilot)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, PlanApproval))
        await click_on(pilot, "demo-02  Turn", times=2)
        await through_the_menu(pilot)


@pytest.mark.long
async def test_criteria_are_edited_line_by_line(open_app: Open) -> None:
    moment, script = Moment(), script_of(PLAN)
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditTask))
        await pilot.press("ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, PlanApproval))
        assert script.controls.asked == [], "nothing was changed"
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditTask))
        await pilot.press("tab", *"make", "enter", "ctrl+s")
        await until(pilot, lambda: len(script.controls.asked) == 1)
        assert "'checks': ('make', 'uv run pytest', 'uv run mypy .'," in script.controls.asked[0]


SPEC = "# Greeter\n\n## Problem Statement\nNobody says hello. \x1b[31mred\n"


def project(tmp_path: Path, report: str | None = None) -> Path:
    (tmp_path / ".ralph").mkdir()
    (tmp_path / "specs").mkdir()
    (tmp_path / "specs" / "greeter.md").write_text(SPEC)
    if report is not None:
        (tmp_path / ".ralph" / "validation_report.json").write_text(report)
    return tmp_path


async def test_specs_are_read_as_text_with_what_they_lack(open_app: Open, tmp_path: Path) -> None:
    moment = Moment()
    events = approving(ApprovalKind.SPECS, "greeter.md (0 criteria)")
    script = Script(project(tmp_path), events)
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        text = screen_text(app)
        for part in ("specs/greeter.md", "  Problem Statement", "Nobody says hello. red"):
            assert part in text
        assert "missing: a section `## Success Criteria`" in text
        assert_inert(app)
        await pilot.press("y")
        await until(pilot, lambda: "Nobody says hello" in app.clipboard)


REPORT = {
    "round": 2,
    "summary": "One criterion fails.",
    "checks": [{"command": "uv run pytest", "source": "backpressure", "status": "passed"}],
    "specs": [
        {
            "spec": "greeter.md",
            "criteria": [
                {"criterion": "It says hello", "passed": True, "evidence": "ran it"},
                {"criterion": "It is fast", "passed": False, "evidence": "took 3 s"},
            ],
            "gaps": ["no German"],
        }
    ],
    "observations": ["a button without a label"],
}


async def test_a_report_that_cannot_be_read_is_said(open_app: Open, tmp_path: Path) -> None:
    moment = Moment()
    script = Script(project(tmp_path, '{"round": "x"}'), approving(ApprovalKind.VALIDATION))
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        assert "The validation report cannot be read." in screen_text(app)


async def test_y_after_the_mouse_has_marked_something_copies_and_is_no_yes(
    open_app: Open, tmp_path: Path
) -> None:
    moment = Moment()
    script = Script(project(tmp_path, json.dumps(REPORT)), approving(ApprovalKind.VALIDATION, "x"))
    async with open_app(script, clock=moment) as pilot:
        app = await asks(pilot, moment)
        await until(pilot, lambda: "took 3 s" in screen_text(app))
        lines = screen_text(app).splitlines()
        row = next(n for n, line in enumerate(lines) if "took 3 s" in line)
        column = lines[row].index("took 3 s")
        await pilot.mouse_down(offset=(column, row))
        await pilot.hover(offset=(column + 4, row))
        await pilot.hover(offset=(column + 7, row))
        await pilot.mouse_up(offset=(column + 7, row))
        await pilot.press("y")
        await until(pilot, lambda: app.clipboard == "took 3 s")
        assert script.controls.asked == []
        await pilot.press("ctrl+y")
        await until(pilot, lambda: script.controls.asked == ["approve by screen"])


async def test_recovery_shows_the_breakers_evidence(open_app: Open) -> None:
    moment = Moment()
    script = script_of(approving(ApprovalKind.RECOVERY, "failures 3/3"))
    async with open_app(script, clock=moment) as pilot:
        text = screen_text(await asks(pilot, moment))
        assert "Breaker open: try one more iteration?" in text
        assert "mypy failed" in text
        assert "ctrl+r end the run" in text
        await pilot.press("ctrl+r")
        await until(pilot, lambda: script.controls.asked == ["reject:  by screen"])


async def test_a_long_text_scrolls_line_by_line(open_app: Open, tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / "specs" / "greeter.md").write_text("\n".join(f"line {n}" for n in range(200)))
    moment = Moment()
    script = Script(root, approving(ApprovalKind.SPECS))
    async with open_app(script, clock=moment, size=(80, 24)) as pilot:
        app = await asks(pilot, moment)
        assert "line 199" not in screen_text(app)
        await pilot.press("j", "j", "ctrl+d", "G")
        await until(pilot, lambda: "line 199" in screen_text(app))
        await pilot.press("g")
        await until(pilot, lambda: "specs/greeter.md" in screen_text(app))


async def test_a_hostile_plan_is_inert(open_app: Open) -> None:
    moment = Moment()
    bad = " ".join(HOSTILE.values())
    request = ev.ApprovalRequested(kind=ApprovalKind.PLAN, summary=bad)
    async with open_app(script_of([*hostile_run(bad)[:2], request]), clock=moment) as pilot:
        app = await asks(pilot, moment)
        assert_inert(app)
        await pilot.press("e")
        await until(pilot, lambda: isinstance(app.screen, EditTask))
        assert_inert(app)


# Waiting for a limit.


async def test_a_limit_counts_down_to_zero_and_w_tries_now(open_app: Open) -> None:
    moment, script = Moment(), script_of(limited())
    async with open_app(script, clock=moment) as pilot:
        app = cast("RalphApp", pilot.app)
        text = screen_text(app)
        assert "usage limit" in text
        assert "Resumes automatically in 42m 05s, at 09:43." in text
        assert "You've hit your limit" in text
        assert "w retry now" in text.splitlines()[-1]
        moment.passes(65)
        app.lifecycle.refresher.tick()
        await until(pilot, lambda: "in 41m 00s" in screen_text(app))
        moment.now += timedelta(hours=2)
        app.lifecycle.refresher.tick()
        await until(pilot, lambda: "in 0s" in screen_text(app))
        await pilot.press("x")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await pilot.press("w")
        await until(pilot, lambda: script.controls.asked == ["retry now"])
        script.news.put_nowait(ev.LimitWaitEnded(why="retried on request"))
        await until(pilot, lambda: "Resumes automatically" not in screen_text(app))
        await pilot.press("w")
        await until(pilot, lambda: any("is not waiting for a limit" in t for t in toasts(app)))


async def test_a_long_question_is_read_whole_on_a_small_screen(open_app: Open) -> None:
    moment, script = Moment(), script_of(waiting.cooling())
    async with open_app(script, clock=moment, size=(80, 24)) as pilot:
        app = await asks(pilot, moment)
        ends = ("one more iteration?", "completes a task.", "nothing is lost.", "at 09:31.")
        await until(pilot, lambda: all(end in screen_text(app) for end in ends))
        await pilot.press("G")
        await until(pilot, lambda: "Quiet" in screen_text(app))


# The start.


def empty(*, takes: bool = True) -> Script:
    script = script_of()
    script.takes_requests = takes
    script.idle = [feed.read(), ev.PlanLoaded(tasks=())]
    return script


async def test_nothing_to_go_on_with_asks_what_to_build(open_app: Open) -> None:
    script = empty()
    async with open_app(script, autostart=False) as pilot:
        app = cast("RalphApp", pilot.app)
        await until(pilot, lambda: isinstance(app.screen, RequestDialog))
        assert "What should Ralph build?" in screen_text(app)
        assert script.runs == 0
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert "Press n to describe what to build" in screen_text(app)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, RequestDialog))
        await pilot.press(*"A greeter", "ctrl+s")
        await until(pilot, lambda: script.runs == 1)
        assert script.requests == ["A greeter"]
        await pilot.press("n")
        await until(pilot, lambda: "The loop is already running." in toasts(app))


async def test_a_known_request_is_shown_and_b_goes_on(open_app: Open, tmp_path: Path) -> None:
    root = project(tmp_path)
    (root / ".ralph" / "state.json").write_text(json.dumps({"request": "A [/] greeter"}))
    script = Script(root)
    script.takes_requests = True
    script.idle = [feed.read(), ev.PlanLoaded(tasks=())]
    async with open_app(script, autostart=False) as pilot:
        app = cast("RalphApp", pilot.app)
        await until(pilot, lambda: "Request: A [/] greeter" in screen_text(app))
        assert isinstance(app.screen, Dashboard)
        await pilot.press("b")
        await until(pilot, lambda: script.runs == 1)
        assert script.requests == []


async def test_without_a_way_to_pass_a_request_it_says_so(open_app: Open) -> None:
    async with open_app(empty(takes=False), autostart=False) as pilot:
        app = cast("RalphApp", pilot.app)
        await pilot.press("n")
        await until(pilot, lambda: any("cannot enter a request here" in t for t in toasts(app)))
        assert isinstance(app.screen, Dashboard)
