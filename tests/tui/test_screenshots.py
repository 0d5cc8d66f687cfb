"""The pictures in the README show the screen as it is."""

from tests.tools.make_screenshots import FOLDER, SHOTS, screenshots_from
from tests.tui import feed


async def test_screenshots_are_fresh() -> None:
    pictures = await screenshots_from(feed.story())
    assert set(pictures) == set(SHOTS)
    stale = [
        name
        for name, svg in pictures.items()
        if not (path := FOLDER / f"{name}.svg").is_file() or path.read_text(encoding="utf-8") != svg
    ]
    assert not stale, f"run `uv run python -m tests.tools.make_screenshots`: {stale} are stale"
