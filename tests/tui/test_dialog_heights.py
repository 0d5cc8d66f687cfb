"""A dialog is as tall as its contents, and at every size all of it that does not scroll is seen."""

from pathlib import Path

import pytest

from tests.conftest import LONG
from tests.tui.conftest import drained
from tests.tui.dialog_checks import check_frame
from tests.tui.pictures import DIALOGS, PICTURES
from tests.tui.test_pictures import staged

ROOMY = (160, 50)
SMALL = ((80, 24), (100, 30), (72, 24))
LARGE = ((120, 40), (200, 60))
SIZES = (ROOMY, *SMALL, *(LARGE if LONG else ()))
"""Each dialog opens at the first and is then resized: that is quicker than to open it again."""

DAILY = {"edit", "import", "limits", "question"}
"""The other dialogs are seen at one size in the short run, in their pictures."""

NAMES = [
    pytest.param(name, marks=() if name in DAILY else pytest.mark.long)
    for name in sorted({*DIALOGS, "limits", "request", "task_menu"} - {"palette", "call_searched"})
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
            check_frame(app, size)
