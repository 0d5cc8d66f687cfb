"""The foot of the screen says what the keys of the top layer do, and no others; what it says is so."""

from dataclasses import replace
from pathlib import Path

import pytest

from ralph_tui.present.text.key_hints import foot_lines, key_named
from ralph_tui.tui.screens.dialogs.confirm import Confirm
from ralph_tui.tui.screens.dialogs.jump import Jump
from ralph_tui.tui.widgets.footer import DialogFooter
from tests.tui.conftest import screen_text, until
from tests.tui.pictures import DASHBOARD, DIALOGS, MEDIUM, SMALL, Size
from tests.tui.test_pictures import staged

LITTLE: Size = (60, 20)

LAYERS = {**DIALOGS, "jump": DASHBOARD["jump"]}

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
        for name in LAYERS
        for size, theme in looks
    ]


@pytest.mark.parametrize(("name", "size", "theme"), _cases())
async def test_under_every_dialog_are_its_own_keys_whole_and_bound(
    tmp_path: Path, name: str, size: Size, theme: str
) -> None:
    app, look = staged(replace(LAYERS[name], shows=""), tmp_path, theme=theme)
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
        if not isinstance(app.screen, Jump):
            bound = app.screen.active_bindings
            typed = {"enter", "j", "k"} if isinstance(app.screen, Confirm) else set()
            assert [key for key in said if not _is_bound(key, {*bound, *typed})] == []


def _is_bound(key: str, bound: set[str]) -> bool:
    first, _, last = key.partition("-")
    return all(key_named(end) in bound for end in ((first, last) if first and last else (key,)))


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
