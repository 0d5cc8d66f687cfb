"""The task's screen: what is known now, what the journal knows, and what comes while it is read."""

from pathlib import Path

from textual.containers import VerticalScroll
from textual.pilot import Pilot

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.store.layout import Layout
from ralph_tui.tui.screens.dialogs.text_reader import TaskDetail
from tests.tui import feed
from tests.tui.conftest import Open, ralph, screen_text, through_the_menu, until
from tests.tui.feed import Script
from tests.tui.past import past_project

SIZE = (120, 60)


async def opened(pilot: Pilot[int], task_id: str) -> TaskDetail:
    app = ralph(pilot)
    await pilot.press("1")
    await until(pilot, lambda: task_id in app.view.tasks)
    app.dashboard.board.move_cursor(task_id)
    await pilot.press("enter")
    await through_the_menu(pilot)
    assert isinstance(app.screen, TaskDetail)
    return app.screen


async def test_attempts_receipts_and_reason_come_from_the_journal(
    open_app: Open, tmp_path: Path
) -> None:
    script = past_project(tmp_path / "slug-demo")
    async with open_app(script, autostart=False, size=SIZE) as pilot:
        await opened(pilot, "demo-02")
        await until(pilot, lambda: "total" in screen_text(ralph(pilot)))
        text = " ".join(screen_text(ralph(pilot)).split())
        for part in (
            "types check passed in",
            "iteration 3 failed $0.39 120k tokens 1m 15s",
            "the gate refused the claim 3 times",
            "iteration 4 complete $0.24 91k tokens 58s",
            "total $0.63, 211k tokens",
            "iteration 4 priority 2, the highest of 2 ready",
            "Also checked",
            "demo-01 Create the slugs package",
            "Needed by",
        ):
            assert part in text, part


async def test_what_happens_is_seen_while_it_is_read_and_nothing_moves(open_app: Open) -> None:
    script = Script(Path("/home/dev/slug-demo"), feed.failed_gate())
    async with open_app(script, size=(80, 24)) as pilot:
        screen = await opened(pilot, "demo-02")
        assert "failed in 2.2s" in screen_text(ralph(pilot))
        frame = screen.query_one("#reader", VerticalScroll)
        await pilot.press("j", "j", "j")
        await until(pilot, lambda: frame.scroll_offset.y == 3)
        noted = feed.task(2, TaskStatus.COMPLETE).model_copy(
            update={"completion_notes": "Folded with NFKD."}
        )
        script.news.put_nowait(ev.TaskChanged(task=noted))
        await until(pilot, lambda: "Folded with NFKD." in screen.full_text())
        await pilot.pause()
        assert frame.scroll_offset.y == 3
        await pilot.press("G")
        await until(pilot, lambda: "Folded with NFKD." in screen_text(ralph(pilot)))


async def test_a_journal_that_cannot_be_read_is_said(open_app: Open, tmp_path: Path) -> None:
    script = past_project(tmp_path / "slug-demo")
    journal = Layout(script.controls.root).events
    journal.unlink()
    journal.mkdir()
    async with open_app(script, autostart=False, size=SIZE) as pilot:
        screen = await opened(pilot, "demo-02")
        # On the screen the sentence is folded where the length of the path puts it.
        await until(pilot, lambda: f"{journal.name} is not a regular file" in screen.full_text())
        await until(pilot, lambda: "regular" in screen_text(ralph(pilot)))
