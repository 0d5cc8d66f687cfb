"""Every key, driven as a person would."""

import asyncio
from pathlib import Path

from textual.events import MouseScrollDown, MouseScrollUp

from ralph_tui.domain import events as ev
from ralph_tui.tui.commands.registry import COMMANDS, DEFAULT_KEYS, EVERY, LEADS
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.help import HelpDialog
from tests.tui import feed
from tests.tui.conftest import Open, app_of, ralph, screen_text, script_of, toasts, until


def test_commands_of_one_name_lead_to_the_same() -> None:
    for command in EVERY:
        assert LEADS[command.name] is command.leads


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
