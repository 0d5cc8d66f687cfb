"""The foot of the screen says what the keys of the top layer do, and no others; what it says is so."""

import re
from dataclasses import replace
from itertools import takewhile
from pathlib import Path
from typing import NamedTuple

import pytest

from ralph_tui.present.text.key_hints import foot_lines, is_key, key_name
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.widgets.file_completion import KEYS, FileCompletion
from ralph_tui.tui.widgets.footer import DialogFooter
from ralph_tui.tui.widgets.text_recall import FILES
from tests.tui.conftest import screen_text, until
from tests.tui.feed import FakeControls
from tests.tui.pictures import DIALOGS, MEDIUM, SMALL, Size
from tests.tui.test_pictures import calm, staged

LITTLE: Size = (60, 20)

DAILY = {("question", LITTLE), ("plan_approval", LITTLE)}

NEEDED = {"plan_approval": "ctrl+y ctrl+r esc v enter", "plan_graph": "esc v enter A"}
"""Keys that have room in the smallest terminal."""


def _cases() -> list[object]:
    looks: tuple[tuple[Size, str], ...] = (
        *((size, "") for size in (LITTLE, SMALL, MEDIUM)),
        (SMALL, "ansi-dark"),
    )
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
        foot = app.screen.query_one(DialogFooter)
        lines = foot_lines(foot.keys, size[0] - 4)
        shown = screen_text(app).splitlines()
        assert ["".join(p.text for p in line) for line in lines] == [
            line.strip() for line in shown[-len(lines) :]
        ], "the last lines of the screen"
        if frames := app.screen.query(".dialog"):
            assert frames.first().region.bottom <= foot.region.y, "nothing is behind it"
        assert not theme or "slug-demo" in shown[0], "the dashboard is seen"
        said = [piece.text for line in lines for piece in line if piece.is_key]
        assert set(NEEDED.get(name, "").split()) <= set(said)
        bound = app.screen.active_bindings
        typed = {"enter", "j", "k"} if isinstance(app.screen, Confirm) else set()
        if any(one.is_open for one in app.screen.query(FileCompletion)):
            typed |= KEYS
        assert [key for key in said if not _is_bound(key, {*bound, *typed})] == []


def _is_bound(key: str, bound: set[str]) -> bool:
    return all(key_name(end) in bound for end in _ends(key))


def _ends(key: str) -> tuple[str, ...]:
    first, _, last = key.partition("-")
    return (first, last) if first and last else (key,)


RANGE = re.compile(r"\d-\d")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "permission" else pytest.mark.long)
        for name in DIALOGS
    ],
)
async def test_what_the_foot_says_is_done_by_one_of_its_keys(
    tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    said = await _pressed(tmp_path_factory.mktemp("said"), name, "")
    for item in re.split(", |; ", said.keys):
        words = takewhile(lambda word: is_key(word) or RANGE.fullmatch(word), item.split())
        if not (keys := [end for word in words for end in _ends(word)]):
            assert item == FILES, "what has no key is typed"
            continue
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


async def test_under_a_dialog_over_a_dialog_are_the_keys_of_the_upper_one_alone(
    tmp_path: Path,
) -> None:
    app, look = staged(DIALOGS["plan_approval"], tmp_path)
    async with app.run_test(size=LITTLE, notifications=True) as pilot:
        await look(pilot)
        await pilot.press("e")
        await until(pilot, lambda: "ctrl+s save" in screen_text(app))
        assert "ctrl+y approve" not in screen_text(app)
        await pilot.press(*"Mind: ", "escape")
        await until(pilot, lambda: "ctrl+y approve" in screen_text(app))
        await pilot.press("e")
        await until(pilot, lambda: "Mind: Turn titles" in screen_text(app))
