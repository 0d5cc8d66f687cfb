"""The foot of the screen says what the keys of the top layer do, and no others; what it says is so."""

import re
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

from ralph_tui.present.text.key_hints import is_key, key_name
from ralph_tui.tui.widgets.footer import DialogFooter
from tests.tui.conftest import screen_text
from tests.tui.dialog_checks import check_foot, ends_of
from tests.tui.feed import FakeControls
from tests.tui.pictures import DIALOGS, MEDIUM, SMALL, Size
from tests.tui.test_pictures import calm, staged

LITTLE: Size = (60, 20)

DAILY = {("question", LITTLE), ("plan_approval", LITTLE)}

NEEDED = {"plan_approval": "ctrl+y ctrl+r esc v enter", "plan_graph": "esc v enter A"}
"""Keys that have room in the smallest terminal."""


def _cases() -> list[object]:
    looks = [*((size, "") for size in (LITTLE, SMALL, MEDIUM)), (SMALL, "ansi-dark")]
    return [
        pytest.param(
            *(name, size, theme),
            id=f"{name}-{size[0]}x{size[1]}-{theme}",
            marks=() if (name, size) in DAILY and not theme else pytest.mark.long,
        )
        for name in DIALOGS
        for size, theme in looks
    ]


@pytest.mark.parametrize(("name", "size", "theme"), _cases())
async def test_under_every_dialog_are_its_own_keys_whole_and_bound(
    tmp_path: Path, name: str, size: Size, theme: str
) -> None:
    app, look = staged(replace(DIALOGS[name], shows=""), tmp_path, theme=theme)
    async with app.run_test(size=size, notifications=True) as pilot:
        await look(pilot)
        said = check_foot(app, size[0])
        assert not theme or "slug-demo" in screen_text(app).splitlines()[0], "the dashboard is seen"
        assert set(NEEDED.get(name, "").split()) <= set(said)


RANGE = re.compile(r"\d-\d")


@pytest.mark.costly
@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if name == "undo" else pytest.mark.long) for name in DIALOGS],
)
async def test_what_the_foot_says_is_done_by_one_of_its_keys(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    said = await _pressed(tmp_path_factory.mktemp("said"), name, "")
    for item in re.split(", |; ", said.keys):
        words = takewhile(lambda word: is_key(word) or RANGE.fullmatch(word), item.split())
        keys = [end for word in words for end in ends_of(word)]
        assert keys, item
        seen = [await _pressed(tmp_path_factory.mktemp("pressed"), name, key) for key in keys]
        assert any(now != said for now in seen), item


class _Seen(NamedTuple):
    """What a key can change."""

    keys: str
    screen: str
    layers: int
    focus: str
    copied: str
    scrolled: tuple[float, ...]
    asked: tuple[str, ...]


async def _pressed(directory: Path, name: str, key: str) -> _Seen:
    app, look = staged(replace(DIALOGS[name], shows=""), directory)
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        await look(pilot)
        foot = app.screen.query_one(DialogFooter).keys
        if key:
            await pilot.press(key_name(key))
            await calm(pilot)
        scrolled = tuple(widget.scroll_y for widget in app.screen.query("*"))
        assert isinstance(app.launch.controls, FakeControls)
        return _Seen(
            foot,
            screen_text(app),
            len(app.screen_stack),
            repr(app.focused),
            app.clipboard,
            scrolled,
            tuple(app.launch.controls.asked),
        )
