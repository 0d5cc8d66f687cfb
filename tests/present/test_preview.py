"""A preview is made anew when something that it shows is another, and only then."""

from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.present.sections.preview import OF_THE_VIEW, preview_made_of, preview_of
from ralph_tui.present.text.glyphs import UNICODE
from tests.tui import feed


class Watched:
    """A view that notes what is read of it."""

    def __init__(self, view: LoopView) -> None:
        """Read from `view`."""
        self._view = view
        self.read: set[str] = set()

    def __getattr__(self, name: str) -> object:
        """Note it."""
        self.read.add(name)
        return getattr(self._view, name)


def view_of_a_run() -> LoopView:
    view = LoopView()
    for event in feed.failed_gate():
        view = reduce(view, event)
    return view


def test_a_tasks_preview_reads_nothing_else_of_the_view() -> None:
    view = view_of_a_run()
    assert view.receipts
    for task in view.tasks.values():
        watched = Watched(view)
        preview_of(task, watched, UNICODE)  # type: ignore[arg-type]
        assert "tasks" in watched.read
        assert watched.read <= set(OF_THE_VIEW)


def test_a_text_that_grows_leaves_a_tasks_preview_alone_and_its_receipts_do_not() -> None:
    view = view_of_a_run()
    task = next(iter(view.tasks.values()))
    before = preview_made_of(task, view)
    later = view.model_copy(update={"caught_up": 50})
    assert all(a is b for a, b in zip(before, preview_made_of(task, later), strict=True))
    checked = view.model_copy(update={"receipts": ()})
    assert any(a is not b for a, b in zip(before, preview_made_of(task, checked), strict=True))
