"""Every key, driven as a person would."""

import asyncio
from pathlib import Path

from textual.events import MouseScrollDown, MouseScrollUp

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.view.loop_view import RunState
from ralph_tui.tui.commands.registry import COMMANDS, DEFAULT_KEYS, EVERY, LEADS
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.help import HelpDialog
from ralph_tui.tui.screens.dialogs.text_input import GuidanceDialog
from ralph_tui.tui.screens.dialogs.text_reader import ToolDetail
from tests.tui import feed
from tests.tui.conftest import (
    Open,
    app_of,
    ralph,
    screen_text,
    script_of,
    through_the_menu,
    toasts,
    until,
)


async def test_without_a_loop_escape_stays_x_says_why_not_and_q_leaves(open_app: Open) -> None:
    script = script_of()
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        handled = app.lifecycle.handlers.by_command
        assert list(handled) == [command.name for command in COMMANDS]
        await until(pilot, lambda: script.warmed)
        await pilot.press("x")
        await until(pilot, lambda: "No loop is running here. Press b to start one." in toasts(app))
        await pilot.press("escape", "escape")
        await pilot.pause()
        assert not app._exit
        await pilot.press("q")
        await until(pilot, lambda: app._exit)
        assert app.return_value == 0


def test_commands_of_one_name_lead_to_the_same() -> None:
    for command in EVERY:
        assert LEADS[command.name] is command.leads


async def test_nothing_runs_before_b_and_b_starts_the_loop(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        assert script.runs == 0
        assert "Press b to start" in screen_text(app)
        await pilot.press("b")
        await until(pilot, lambda: app.view.run_state is RunState.RUNNING)
        assert script.runs == 1
        assert "Press b to start" not in screen_text(app)
        await pilot.press("b")
        await until(pilot, lambda: "The loop is already running." in toasts(app))
        assert script.runs == 1


async def test_p_pauses_pauses_now_and_resumes_and_r_withdraws(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("r")
        await until(pilot, lambda: "The loop is not paused." in toasts(app))
        await pilot.press("p")
        await until(pilot, lambda: script.controls.asked == ["pause"])
        script.news.put_nowait(ev.PauseRequested())
        await until(pilot, lambda: app.view.run_state is RunState.PAUSING)
        assert "p pause now" in screen_text(app)
        await pilot.press("p")
        await until(pilot, lambda: script.controls.asked == ["pause", "pause"])
        script.news.put_nowait(ev.LoopPaused())
        await until(pilot, lambda: app.view.run_state is RunState.PAUSED)
        assert "p resume" in screen_text(app)
        await pilot.press("p")
        await until(pilot, lambda: script.controls.asked == ["pause", "pause", "resume"])
        script.controls.asked.clear()
        script.news.put_nowait(ev.LoopResumed())
        script.news.put_nowait(ev.PauseRequested())
        await until(pilot, lambda: app.view.run_state is RunState.PAUSING)
        await pilot.press("r")
        await until(pilot, lambda: script.controls.asked == ["resume"])


async def test_s_asks_before_it_skips_and_t_takes_only_a_blocked_task(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        assert "Skip demo-02" in screen_text(app)
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert script.controls.asked == []
        await pilot.press("t")
        await until(pilot, lambda: "Task demo-02 is in progress, not blocked." in toasts(app))
        await pilot.press("1", "j")
        await until(pilot, lambda: app.dashboard.board.cursor == "demo-04")
        await pilot.press("s")
        await until(pilot, lambda: isinstance(app.screen, Confirm))
        await pilot.press("s")
        await until(pilot, lambda: script.controls.asked == ["skip demo-04"])


async def test_i_keeps_a_draft_sends_many_lines_and_keeps_what_cannot_be_sent(
    open_app: Open,
) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, GuidanceDialog))
        await pilot.press("a", "enter", "q")
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert script.controls.asked == []
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, GuidanceDialog))
        await pilot.press("!", "ctrl+s")
        await until(pilot, lambda: script.controls.asked == ["inject a\nq!"])
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, GuidanceDialog))
        assert isinstance(app.screen, GuidanceDialog)
        assert app.screen.draft == ""
        script.controls.error = RalphError("The disk is full.", "Make room.")
        await pilot.press("ctrl+s")
        await until(pilot, lambda: any("Type your guidance" in t for t in toasts(app)))
        assert isinstance(app.screen, GuidanceDialog)
        await pilot.press("a", "ctrl+s")
        await until(pilot, lambda: "The disk is full. Make room." in toasts(app))
        await until(pilot, lambda: "The disk is full." in screen_text(app))
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, GuidanceDialog))
        assert isinstance(app.screen, GuidanceDialog)
        assert app.screen.draft == "a"


async def test_x_asks_how_soon_and_again_stops_now(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        for key, asked in (("k", []), ("x", ["stop"]), ("s", ["stop", "stop now"])):
            await pilot.press("x")
            await until(pilot, lambda: isinstance(app.screen, Confirm))
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, Dashboard))
            await until(pilot, lambda asked=asked: script.controls.asked == asked)  # type: ignore[misc]  # the default binds the loop's value
        script.news.put_nowait(ev.StopRequested())
        await until(pilot, lambda: app.view.run_state is RunState.STOPPING)
        await pilot.press("x")
        await until(pilot, lambda: script.controls.asked[2:] == ["stop now"])


async def test_a_bug_in_a_control_is_said_and_the_screen_goes_on(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script) as pilot:
        app = ralph(pilot)
        script.controls.error = ZeroDivisionError("[/] boom")
        await pilot.press("p")
        failed = "Unexpected error: ZeroDivisionError: [/] boom. The details are in "
        await until(pilot, lambda: any(toast.startswith(failed) for toast in toasts(app)))
        await until(pilot, lambda: "ZeroDivisionError" in screen_text(app))


async def test_enter_and_clicks_open_what_is_selected_and_y_copies_it(open_app: Open) -> None:
    async with open_app(script_of(feed.failed_gate())) as pilot:
        app = ralph(pilot)
        for command, said in (
            ("git stash", ("Rule: git.write", "Instead: Leave version control to the person")),
            (
                "uv run pytest -q",
                ("Command as asked", "rewritten by python.uv-run", "1 failed, 3 passed"),
            ),
        ):
            while command not in app.dashboard.stream.selected_text():
                await pilot.press("k")
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ToolDetail))
            assert [words for words in said if words not in screen_text(app)] == []
            await pilot.press("escape")
            await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await pilot.press("G")
        while "uv run mypy" not in app.dashboard.stream.selected_text():
            await pilot.press("k")
        await pilot.press("y")
        await until(pilot, lambda: "return-value" in app.clipboard)
        await pilot.press("1", "y")
        await until(pilot, lambda: app.clipboard.startswith("demo-02"))
        await pilot.press("enter")
        await through_the_menu(pilot)
        text = screen_text(app)
        for part in ("types check  failed in 2.2s", "Depends on", "Needed by", "Why it was chosen"):
            assert part in text
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await pilot.click("#tasks", offset=(8, 2), times=2)
        await through_the_menu(pilot)
        await pilot.press("q")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await pilot.click("DashboardFooter", offset=(2 + len("p pause  i"), 0))
        await until(pilot, lambda: isinstance(app.screen, GuidanceDialog))


async def test_help_lists_every_command(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(120, 110)) as pilot:
        app = ralph(pilot)
        await pilot.press("f1")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        flat = " ".join(screen_text(app).replace("│", " ").split())
        for command in COMMANDS:
            assert DEFAULT_KEYS.said(command.help) in flat
        reasons = [c.disabled(app.command_context()) for c in COMMANDS if c.area == "Loop"]
        for reason in filter(None, reasons):
            assert flat.count(f"Unavailable: {reason}") == 1, (
                "explained once, above what it is about"
            )
        seen = [
            flat.index(part)
            for part in ("In one minute", "ready, waiting and completed", COMMANDS[0].help)
        ]
        assert seen == sorted(seen), "what is to be seen comes before the keys"
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))


async def test_texts_are_not_added_to_a_reader_that_closes(open_app: Open) -> None:
    async with open_app(script_of(feed.running())) as pilot:
        app = ralph(pilot)
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        reader = app.screen
        assert isinstance(reader, HelpDialog)
        reader.dismiss()
        while reader.query("#reader"):  # noqa: ASYNC110 - it is gone from its parent for a turn or two
            await asyncio.sleep(0)
        await reader._add_next()  # as the dashboard does if it was due


async def test_narrow_shows_one_pane_and_the_keys_choose_it(open_app: Open) -> None:
    async with open_app(script_of(feed.running()), size=(80, 24)) as pilot:
        app = ralph(pilot)
        assert "waits for demo-02" not in screen_text(app)
        assert "context 44 %" in screen_text(app)
        await pilot.press("1")
        await until(pilot, lambda: "waits for demo-02" in screen_text(app))
        await pilot.press("3")
        await until(pilot, lambda: "hand-off at 60 %" in screen_text(app))


async def test_f_the_cursor_and_the_wheel_decide_about_following(open_app: Open) -> None:
    script = script_of(feed.running())
    async with open_app(script, size=(120, 24)) as pilot:
        app = ralph(pilot)
        stream = app.dashboard.stream
        assert stream.following
        await pilot.press("g")
        await until(pilot, lambda: not stream.following)
        top = stream.scroll_offset.y
        script.news.put_nowait(ev.AssistantText(text="news"))
        await until(pilot, lambda: "1 new below" in screen_text(app))
        assert stream.scroll_offset.y == top
        await pilot.press("f")
        await until(pilot, lambda: stream.following and stream.is_vertical_scroll_end)
        await pilot.press("g")
        first = stream.cursor
        await pilot.press("ctrl+d")
        below = stream.cursor
        assert isinstance(first, int)
        assert isinstance(below, int)
        assert below > first
        await pilot.press("ctrl+u")
        assert stream.cursor == first
        await pilot.press("G")
        await until(pilot, lambda: stream.following)
        await pilot._post_mouse_events([MouseScrollUp], "#activity")
        await until(pilot, lambda: not stream.following)
        stream.scroll_end(animate=False, force=True)
        await pilot._post_mouse_events([MouseScrollDown], "#activity")
        await until(pilot, lambda: stream.following)


async def test_f12_saves_a_picture_or_says_why_not(tmp_path: Path) -> None:
    exports = tmp_path / ".ralph" / "exports"
    exports.parent.mkdir()
    exports.touch()
    app = app_of(feed.Script(tmp_path, feed.running()), keys={"screenshot": "f12"})
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("f12")
        await until(pilot, lambda: any("Another file is in the way" in t for t in toasts(app)))
        exports.unlink()
        await pilot.press("f12")
        await until(pilot, lambda: any(t.startswith("Saved: .ralph/exports") for t in toasts(app)))
    (picture,) = exports.glob("screen-*.svg")
    assert "<svg" in picture.read_text()[:200]
