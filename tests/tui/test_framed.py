"""Lines that are kept are the lines Textual would draw, and the mouse still finds its place in them."""

from typing import Any

import pytest
from textual.geometry import Offset, Region
from textual.scroll_view import ScrollView
from textual.scrollbar import ScrollBar
from textual.selection import Selection
from textual.strip import Strip
from textual.widget import Widget

from ralph_tui.domain import events as ev
from ralph_tui.tui.terminal.line_cache import CachedScrollBar
from tests.tui import feed
from tests.tui.conftest import Open, drained, ralph, script_of
from tests.tui.test_speed import _tasks

Cells = list[tuple[str, object]]


def cells(strip: Strip) -> Cells:
    """Each character with its style; where it stands in the content is for the mouse only."""
    return [
        (
            character,
            segment.style
            and (segment.style.without_color, segment.style.color, segment.style.bgcolor),
        )
        for segment in strip
        for character in segment.text
    ]


def same(widget: Widget, textual: type[Widget], crop: Region) -> None:
    ours, theirs = widget.render_lines(crop), textual.render_lines(widget, crop)
    assert [strip.text for strip in ours] == [strip.text for strip in theirs]
    for line, (own, other) in enumerate(zip(ours, theirs, strict=True)):
        for place, (cell, wanted) in enumerate(zip(cells(own), cells(other), strict=True)):
            assert (line, place, cell) == (line, place, wanted)


@pytest.mark.parametrize(
    "theme",
    [
        "ralph-dark",
        *(pytest.param(t, marks=pytest.mark.long) for t in ("ralph-light", "ansi-dark")),
    ],
)
async def test_what_is_kept_is_what_textual_would_draw(open_app: Open, theme: str) -> None:
    script = script_of([feed.started(), ev.PlanLoaded(tasks=_tasks(200))])
    async with open_app(script) as pilot:
        app = ralph(pilot)
        app.theme = theme
        for number in range(60):
            script.news.put_nowait(ev.AssistantText(text=f"Sentence {number} of `some` text."))
        await drained(pilot)
        for key in ("1", "j", "G", "2", "k", "g"):
            await pilot.press(key)
            await drained(pilot)
            for pane in (app.dashboard.stream, app.dashboard.board):
                width, height = pane.outer_size
                for crop in (Region(0, 0, width, height), Region(3, 2, width - 7, height - 5)):
                    same(pane, ScrollView, crop)
                    same(pane, ScrollView, crop)
                bar = pane.vertical_scrollbar
                assert isinstance(bar, CachedScrollBar)
                same(bar, ScrollBar, bar.outer_size.region)
        app.dashboard.stream.styles.opacity = 0.5
        same(app.dashboard.stream, ScrollView, app.dashboard.stream.outer_size.region)


async def test_the_mouse_selects_text_in_a_pane(open_app: Open) -> None:
    script = script_of([feed.started(), ev.AssistantText(text="Some words to be selected.")])
    async with open_app(script) as pilot:
        app = ralph(pilot)
        await drained(pilot)
        stream = app.dashboard.stream
        y = next(y for y in range(stream.row_count()) if "words" in _text(stream, y))
        left, top = stream.content_region.offset
        at = _text(stream, y).index("words")
        await pilot.mouse_down(offset=(left + at, top + y))
        await pilot.hover(offset=(left + at + 4, top + y))
        await pilot.mouse_up(offset=(left + at + 4, top + y))
        await drained(pilot)
        assert app.screen.selections == {stream: Selection(Offset(at, y), Offset(at + 5, y))}
        assert app.screen.get_selected_text() == "words"


def _text(pane: Any, y: int) -> str:
    return str(pane.render_line(y).text)
