"""Pictures of the pages; look at the report before accepting a change."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from textual.pilot import Pilot

from ralph_tui.tui.app import RalphApp
from ralph_tui.tui.screens.page import Page
from tests.tui.conftest import app_of, drained, screen_text, until
from tests.tui.past import past_project

Compare = Callable[..., bool]

PICTURES: tuple[tuple[str, tuple[int, int], Sequence[str], str], ...] = (
    ("iterations", (80, 24), ("4",), "every check passed"),
    ("iterations", (120, 40), ("4",), "every check passed"),
    ("changes", (160, 50), ("4", "v"), "Other files"),
    ("history", (80, 24), ("5",), "pace of the last task"),
    ("history", (160, 50), ("5",), "pace of the last task"),
    ("sessions", (120, 40), ("5", "v"), "began (UTC)"),
    ("memory", (120, 40), ("6", "G", "k"), "An empty title"),
    ("why", (120, 40), ("7",), "Why stopped"),
    ("settings", (80, 24), ("8",), "from default"),
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "size", "keys", "shown"),
    PICTURES,
    ids=[f"{name}-{size[0]}x{size[1]}" for name, size, _, _ in PICTURES],
)
def test_page(
    snap_compare: Compare,
    tmp_path: Path,
    name: str,
    size: tuple[int, int],
    keys: Sequence[str],
    shown: str,
) -> None:
    async def run(pilot: Pilot[int]) -> None:
        app = pilot.app
        assert isinstance(app, RalphApp)
        await until(pilot, lambda: bool(app.view.tasks))
        for key in keys:
            await pilot.press(key)
            await until(pilot, lambda: isinstance(app.screen, Page))
            await drained(pilot)
        narrow = name == "iterations" and size[0] < 100
        await until(pilot, lambda: ("iterations 2" if narrow else shown) in screen_text(app))
        await until(pilot, lambda: all(w.is_finished for w in app.workers if w.node is app.screen))
        page = app.screen
        assert isinstance(page, Page)
        await until(pilot, lambda: name != "history" or not page.not_now("export"))
        await drained(pilot)

    app = app_of(past_project(tmp_path / "slug-demo"), autostart=False)
    assert snap_compare(app, terminal_size=size, run_before=run)
