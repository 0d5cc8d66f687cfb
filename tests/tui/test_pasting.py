"""What is pasted is text, whatever stands in it and however it comes."""

import pytest
from textual import events
from textual._xterm_parser import XTermParser
from textual.widgets import Input

from ralph_tui.tui.terminal.driver import END, START, PasteFilter, text_of
from tests.tui.conftest import Moment, Open, asks, script_of, toasts, until
from tests.tui.waiting import PARTS, asking

HOSTILE = (
    "one\x1b[31m two\x1b[0m\r\n\x1b]52;c;aGk=\x07\x1b[Aq\x1b\x1b\x03 \x1b[20m\u202e漢字\ttab\x1b"
)


@pytest.mark.parametrize("size", [1, 2, 3, 5, 7, 4096])
def test_no_key_is_seen_in_it_and_those_around_it_stay(size: int) -> None:
    typed = f"a\x1b[A{START}{HOSTILE}{END}{START}{END}\x1b[Bb"
    parser, pasted = XTermParser(), PasteFilter()
    seen = []
    for at in range(0, len(typed), size):
        if piece := pasted.hide_escapes(typed[at : at + size]):
            seen += list(parser.feed(piece))
    keys = [event.key for event in seen if isinstance(event, events.Key)]
    assert keys == ["a", "up", "down", "b"]
    (paste,) = [event for event in seen if isinstance(event, events.Paste) and event.text]
    assert text_of(paste.text) == "one two\nq 漢字\ttab"


async def test_all_lines_come_into_a_field_of_one(open_app: Open) -> None:
    moment = Moment()
    async with open_app(script_of(asking(PARTS)), clock=moment) as pilot:
        app = await asks(pilot, moment)
        await pilot.press("4")
        await until(pilot, lambda: isinstance(app.focused, Input))
        app.post_message(events.Paste("- one\n  two\n\nthree\n"))
        field = app.screen.query_one("#words", Input)
        await until(pilot, lambda: field.value == "- one two three")
        app.post_message(events.Paste("x" * 6_000))
        await until(
            pilot,
            lambda: (
                "The text was cut to 5,000 characters, the maximum for this field." in toasts(app)
            ),
        )
        assert field.value == "- one two three" + "x" * 5_000
