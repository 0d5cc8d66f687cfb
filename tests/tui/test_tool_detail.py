"""The whole of a call: a diff as one column and side by side, in the colours of its language."""

from collections.abc import Callable

from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.tui.app import RalphApp
from ralph_tui.tui.glyphs import UNICODE
from ralph_tui.tui.render.calls import Call, SectionKind
from ralph_tui.tui.render.diff import paired, sided, texts
from ralph_tui.tui.screens.tool_detail import ToolDetail
from ralph_tui.tui.timeline.detail import MAX_DIFF, detail_of
from ralph_tui.tui.timeline.entries import CallEntry
from ralph_tui.tui.widgets.diff_view import DiffView
from tests.tui import feed
from tests.tui.conftest import Opened, drained, screen_text, script_of, until

Open = Callable[..., Opened]

OLD = "def total(items):\n    count = 0\n    return sum(items)\n"
NEW = 'def total(items):\n    """Add them up."""\n    return sum(items) + 1\n# done\n'


def edited(path: str = "src/totals.py", old: str = OLD, new: str = NEW) -> list[ev.Event]:
    given = {"file_path": path, "old_string": old, "new_string": new}
    return [
        *feed.running()[:3],
        ev.ToolStarted(tool_id="e", name="Edit", input=given),
        ev.ToolFinished(tool_id="e", name="Edit", outcome=ev.ToolOutcome.OK),
    ]


@given(st.lists(st.text(" +-@x", max_size=3), max_size=30))
def test_no_line_is_lost_or_made_up(lines: list[str]) -> None:
    sides = sided(lines)
    pairs = paired(sides)
    for sign, column in (("-", 0), ("+", 1)):
        assert [p[column] for p in pairs if p[column].sign == sign] == [
            side for side in sides if side.sign == sign
        ]
    before, after = (text.split("\n") for text in texts(sides))
    assert all(before[s.number] == s.text for s in sides if s.sign == "-")
    assert all(after[s.number] == s.text for s in sides if s.sign in ("+", " "))


def test_of_a_huge_diff_so_many_lines_are_shown_and_the_rest_is_counted() -> None:
    new = "".join(f"{n}\n" for n in range(9_000))
    call = Call(tool_id="e", name="Write", input={"file_path": "a.py", "content": new})
    entry = CallEntry(number=1, depth=0, call=call)
    (diff,) = (s for s in detail_of(entry, UNICODE).sections if s.kind is SectionKind.DIFF)
    shown = diff.body.splitlines()
    assert len(shown) == MAX_DIFF + 1
    assert shown[-1] == "@@ 7,000 more lines are not shown @@"


async def test_v_turns_a_diff_side_by_side_and_back(open_app: Open) -> None:
    async with open_app(script_of(edited())) as pilot:
        app = pilot.app
        assert isinstance(app, RalphApp)
        await drained(pilot)
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, ToolDetail))
        rows = _rows(app)
        assert rows.index("- count = 0") < rows.index('+ """Add them up."""')
        await pilot.press("v")
        await until(pilot, lambda: any("count = 0" in r and "Add" in r for r in _rows(app)))
        assert "v one column" in screen_text(app)
        assert "│ + # done" in _rows(app)
        view = app.screen.query_one(DiffView)
        words = {view.render().plain[s.start : s.end]: str(s.style) for s in view.render().spans}
        assert "$text-accent" in words["def"]
        await pilot.press("v", "y")
        await until(pilot, lambda: "-    count = 0\n" in app.clipboard)


def _rows(app: RalphApp) -> list[str]:
    """What is in the dialog's frame."""
    x, y, width, height = app.screen.query_one("#reader").content_region
    lines = screen_text(app).splitlines()[y : y + height]
    return [" ".join(line[x : x + width].split()) for line in lines]


async def test_hostile_lines_are_only_text(open_app: Open) -> None:
    bad = "[red]\x1b]0;x\x07\u202e[/]\n[@click=app.quit]q[/]\n" + "x" * 5000
    async with open_app(script_of(edited("a.[py", OLD, bad)), size=(80, 24)) as pilot:
        app = pilot.app
        assert isinstance(app, RalphApp)
        await drained(pilot)
        await pilot.press("G", "enter")
        await until(pilot, lambda: isinstance(app.screen, ToolDetail))
        await pilot.press("v")
        await until(pilot, lambda: any("+ [red]" in row for row in _rows(app)))
        assert "\x1b" not in screen_text(app)
