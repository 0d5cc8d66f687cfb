"""A dialog is as tall as its contents, and at every size all of it that does not scroll is seen."""

from pathlib import Path

import pytest
from textual.widgets import Button

from ralph_tui.tui.widgets.dialog_frame import SCROLLS, DialogFrame
from tests.tui.pictures import PICTURES
from tests.tui.test_pictures import staged

DIALOGS = (
    "question", "multiple", "permission", "plan_approval", "validation_approval", "edit", "undo", "import",
)  # fmt: skip


@pytest.mark.parametrize("size", [(80, 24), (160, 50)], ids=str)
@pytest.mark.parametrize("name", DIALOGS)
async def test_a_dialog_is_as_tall_as_its_contents(
    tmp_path: Path, name: str, size: tuple[int, int]
) -> None:
    app, look = staged(PICTURES[name], tmp_path)
    async with app.run_test(size=size, notifications=True) as pilot:
        await look(pilot)
        frame = app.screen.query_one(DialogFrame)
        inside = frame.content_region
        shown = [child for child in frame.children if child.display]
        for child in shown:
            assert inside.contains_region(child.region), child
        for button in frame.query(Button):
            assert inside.contains_region(button.region), button
        rows = sum(child.outer_size.height for child in shown)
        gaps = sum(max(child.styles.margin.top, child.styles.margin.bottom) for child in shown)
        assert inside.height <= rows + gaps, "a frame has no empty rows"
        scrolling = [child for child in shown if child.has_class(SCROLLS)]
        if any(child.max_scroll_y for child in scrolling):
            assert frame.outer_size.height >= size[1] * 9 // 10 - 2, (
                "it scrolls though there is room"
            )
