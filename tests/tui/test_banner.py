"""What is said above the panes when nothing can be worked."""

import pytest

from ralph_tui.domain.events import PlanLoaded
from ralph_tui.domain.plan import Task, TaskStatus
from ralph_tui.domain.reducer import reduce
from ralph_tui.domain.view import LoopView
from ralph_tui.tui.commands import DEFAULT_KEYS
from ralph_tui.tui.glyphs import UNICODE
from ralph_tui.tui.render.banner import banner_of

HELD = Task(id="h", held=True)
BLOCKED = Task(id="b", status=TaskStatus.BLOCKED)
DONE = Task(id="d", status=TaskStatus.COMPLETE)


@pytest.mark.parametrize(
    ("tasks", "headline", "advice"),
    [
        ([DONE, HELD], "left is held or", "Select a held task and press H to release it."),
        ([DONE, BLOCKED], "left is blocked or", "press t to try it again"),
        ([HELD, BLOCKED], "left is held, blocked or", "H releases a held one, t tries a blocked"),
        ([DONE], "Every task is complete.", "n to ask for more"),
    ],
)
def test_the_advice_is_about_what_is_left(tasks: list[Task], headline: str, advice: str) -> None:
    view = reduce(LoopView(), PlanLoaded(tasks=tuple(tasks)))
    banner = banner_of(view, None, "", glyphs=UNICODE, keys=DEFAULT_KEYS)
    assert banner is not None
    assert headline in banner.headline
    assert advice in "".join(span.text for span in banner.advice)
