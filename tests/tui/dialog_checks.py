"""What holds of every dialog, wherever it is opened: its frame, and the line of its keys."""

from rich.cells import cell_len
from textual.widget import Widget
from textual.widgets import Button

from ralph_tui.present.text.key_hints import foot_lines, key_name
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.widgets.dialog_frame import SCROLLS
from ralph_tui.tui.widgets.footer import DialogFooter
from tests.tui.conftest import screen_text


def check_frame(app: RalphApp, size: tuple[int, int]) -> None:
    """As tall as its contents; all that does not scroll is seen."""
    screen = app.screen
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


def check_foot(app: RalphApp, width: int) -> list[str]:
    """The last lines are the keys of the dialog, whole and bound; return these keys."""
    foot = app.screen.query_one(DialogFooter)
    lines = foot_lines(foot.keys, width - 4)
    shown = screen_text(app).splitlines()
    assert ["".join(p.text for p in line) for line in lines] == [
        line.strip() for line in shown[-len(lines) :]
    ], "the last lines of the screen"
    if frames := app.screen.query(".dialog"):
        assert frames.first().region.bottom <= foot.region.y, "nothing is behind it"
    said = [piece.text for line in lines for piece in line if piece.is_key]
    bound = app.screen.active_bindings
    typed = {"enter", "j", "k"} if isinstance(app.screen, Confirm) else set()
    assert [key for key in said if not _is_bound(key, {*bound, *typed})] == []
    return said


def _is_bound(key: str, bound: set[str]) -> bool:
    return all(key_name(end) in bound for end in ends_of(key))


def ends_of(key: str) -> tuple[str, ...]:
    first, _, last = key.partition("-")
    return (first, last) if first and last else (key,)
