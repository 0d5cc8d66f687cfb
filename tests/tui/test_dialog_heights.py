"""A dialog is as tall as its contents, and at every size all of it that does not scroll is seen."""

from pathlib import Path

import pytest
from rich.cells import cell_len
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Button

from ralph_tui.tui.widgets.dialog_frame import SCROLLS
from ralph_tui.tui.widgets.footer import DialogFooter
from tests.conftest import LONG
from tests.tui.conftest import drained
from tests.tui.pictures import DIALOGS, PICTURES
from tests.tui.test_pictures import staged

ROOMY = (160, 50)
SMALL = ((80, 24), (100, 30), (72, 24))
LARGE = ((120, 40), (200, 60))
SIZES = (ROOMY, *SMALL, *(LARGE if LONG else ()))
"""Each dialog opens at the first and is then resized: that is quicker than to open it again."""

RARE = frozenset(
    {
        *("preview", "permission_denied", "plan_approval_graph", "limit_approval", "plan_list"),
        *("call_rewritten", "call_side_by_side", "rejected", "reviewed", "task_menu"),
        *("quit", "specs_approval", "answers", "call_denied", "call_diff", "validation_approval"),
        *("recovery_approval", "quit_detach", "stop", "model", "multiple", "limits", "guide"),
        *("guide_recalled", "undo", "request"),
    }
)
"""Dialogs of which another with the same parts is in the short run."""

NAMES = [
    pytest.param(name, marks=[pytest.mark.long] if name in RARE else [])
    for name in sorted(
        {*DIALOGS, "limits", "export", "request", "task_menu"} - {"palette", "call_searched"}
    )
]


@pytest.mark.parametrize("name", NAMES)
async def test_a_dialog_is_as_tall_as_its_contents_and_nothing_is_cut(
    tmp_path: Path, name: str
) -> None:
    app, look = staged(PICTURES[name], tmp_path)
    async with app.run_test(size=ROOMY, notifications=True) as pilot:
        await look(pilot)
        for size in SIZES:
            await pilot.resize_terminal(*size)
            await drained(pilot)
            _check(pilot, size)


def _check(pilot: Pilot[int], size: tuple[int, int]) -> None:
    screen = pilot.app.screen
    frame = screen.query(".dialog").first()
    assert screen.region.contains_region(frame.region), size
    for footer in screen.query(DialogFooter):
        assert not footer.region.overlaps(frame.region), (size, "the keys are covered")
    inside = frame.content_region
    for button in frame.query(Button):
        assert inside.contains_region(button.region), (size, button)
        room = button.content_size.width - 2 * button.styles.line_pad
        assert cell_len(str(button.label)) <= room, (size, button.label)
    if frame.max_scroll_y:  # all of it scrolls: then it is as tall as it may be
        assert frame.outer_size.height >= size[1] * 9 // 10 - 3, size
        return
    shown = [child for child in frame.children if child.display]
    for child in shown:
        assert inside.contains_region(child.region), (size, child)
    assert inside.height <= _rows(shown), (size, "a frame has no empty rows")
    if any(child.max_scroll_y for child in shown if child.has_class(SCROLLS)):
        assert frame.outer_size.height >= size[1] * 9 // 10 - 2, (
            size,
            "it scrolls though there is room",
        )


def _rows(shown: list[Widget]) -> int:
    gaps = sum(max(child.styles.margin.top, child.styles.margin.bottom) for child in shown)
    return sum(child.outer_size.height for child in shown) + gaps
