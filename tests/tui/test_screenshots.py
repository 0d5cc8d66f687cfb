"""The pictures in the README show the screen as it is; what changes from run to run does not count."""

import re

import pytest

from ralph_tui.tui.theme.themes import RALPH_DARK, THEMES
from tests.tools.make_screenshots import FOLDER, MOVING, MOVING_HIDES, MOVING_SHOWS, SHOTS, words

AGAIN = "run `uv run python -m tests.tools.make_screenshots`"


def test_every_picture_is_one_that_is_made() -> None:
    assert {path.stem for path in FOLDER.glob("*.svg")} == {*SHOTS, MOVING}, AGAIN


@pytest.mark.parametrize("name", SHOTS)
def test_a_picture_has_what_the_screen_has_now(name: str) -> None:
    shot = SHOTS[name]
    svg = (FOLDER / f"{name}.svg").read_text(encoding="utf-8")
    shown = words(svg)
    assert [part for part in shot.shows if part not in shown] == [], AGAIN
    lines = {int(number) for number in re.findall(r"line-(\d+)", svg)}
    assert len(lines) == shot.size[1], AGAIN
    background = next(theme.background for theme in THEMES if theme.name == shot.theme)
    assert background
    assert background.lower() in svg.lower() or shot.dialog, AGAIN


def test_the_moving_picture_tells_the_whole_story_and_is_small() -> None:
    svg = (FOLDER / f"{MOVING}.svg").read_text(encoding="utf-8")
    shown = words(svg).replace("\u00a0", " ")
    assert [part for part in MOVING_SHOWS if part not in shown] == [], AGAIN
    assert [part for part in MOVING_HIDES if part in shown] == [], AGAIN
    assert len(svg) < 1_500_000
    assert svg.count("@keyframes") > 30
    assert "prefers-reduced-motion" in svg


def test_the_moving_picture_has_the_theme_of_the_screen() -> None:
    svg = (FOLDER / f"{MOVING}.svg").read_text(encoding="utf-8").lower()
    colors = (RALPH_DARK.primary, RALPH_DARK.success, RALPH_DARK.surface, RALPH_DARK.panel)
    assert [color for color in colors if color and color not in svg] == [], AGAIN
    assert "#000080" not in svg, "the sixteen colors of a plain terminal"
