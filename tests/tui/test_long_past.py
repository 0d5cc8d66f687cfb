"""A long journal: its newest end is there at once, and only what is in sight is drawn."""

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome
from ralph_tui.domain.view.run_history import RunHistory
from ralph_tui.present.sections import iteration_lines
from ralph_tui.store.journal import journal_library
from ralph_tui.store.journal.event_scanner import Progress
from ralph_tui.store.journal.journal_library import JournalLibrary
from ralph_tui.tui.screens.pages.iterations import IterationsPage
from tests.tui import feed
from tests.tui.conftest import Open, ralph, screen_text, until
from tests.tui.feed import Script
from tests.tui.past import past_project
from tests.tui.test_pages import open_page, see

COUNT = 400


@pytest.fixture
def long_past(tmp_path: Path) -> Script:
    told: list[ev.Event] = [feed.started(), feed.plan()]
    for number in range(1, COUNT + 1):
        told += [
            ev.IterationStarted(iteration=number, task_id=f"work-{number}", title="A piece"),
            ev.IterationFinished(
                iteration=number,
                task_id=f"work-{number}",
                outcome=IterationOutcome.COMPLETE,
                cost_usd=0.5,
            ),
        ]
    return past_project(tmp_path / "long", told)


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """The whole journal is read only once this is set; its last tenth is what is read before."""
    go, whole = threading.Event(), JournalLibrary.refresh

    def refresh(self: JournalLibrary, progress: Progress | None = None) -> RunHistory:
        if progress is not None:
            progress(self.path.stat().st_size // 4, self.path.stat().st_size)
        assert go.wait(30)
        return whole(self, progress)

    monkeypatch.setattr(JournalLibrary, "refresh", refresh)
    monkeypatch.setattr(journal_library, "RECENT", 10_000)
    return go


async def test_the_newest_iterations_are_there_while_the_rest_is_read(
    open_app: Open, long_past: Script, held: threading.Event
) -> None:
    async with open_app(long_past, autostart=False) as pilot:
        page = await open_page(pilot, "4", f"work-{COUNT}")
        assert isinstance(page, IterationsPage)
        await see(pilot, "reading the rest: 25%")
        assert page.choices.row_count() < COUNT
        await pilot.press("j", "j")
        chosen = page.choices.cursor
        assert chosen is not None
        held.set()
        await until(pilot, lambda: page.choices.row_count() > 2 * COUNT)
        assert page.choices.cursor == chosen, "nothing jumps when the rest comes"
        assert "reading" not in screen_text(ralph(pilot))
        await pilot.press("G")
        await see(pilot, "work-1 ")


@pytest.mark.long
async def test_sessions_are_there_while_the_rest_is_read(
    open_app: Open, long_past: Script, held: threading.Event
) -> None:
    async with open_app(long_past, autostart=False) as pilot:
        await open_page(pilot, "5", "reading the journal: 25%")
        await see(pilot, f"work-{COUNT}", "newest sessions, still reading the rest")
        held.set()
        await see(pilot, f"{COUNT} iterations", f"work-{COUNT}")
        assert "still reading the rest" not in screen_text(ralph(pilot))


async def test_of_many_lines_only_those_in_sight_are_made(
    open_app: Open, long_past: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[int] = []
    real = vars(iteration_lines)["row"]

    def counted(*args: object, real: Callable[..., object] = real) -> object:
        made.append(1)
        return real(*args)

    monkeypatch.setattr(iteration_lines, "row", counted)
    async with open_app(long_past, autostart=False) as pilot:
        await open_page(pilot, "4", f"work-{COUNT}")
        assert 0 < len(made) < COUNT
        made.clear()
        await open_page(pilot, "5", f"{COUNT} iterations")
        await see(pilot, f"work-{COUNT}")
        assert 0 < len(made) < COUNT
