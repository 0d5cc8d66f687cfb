"""Every text names the keys that the person gave to commands, and a click on a key is that key."""

import re
from dataclasses import replace
from pathlib import Path
from string import ascii_letters, digits

import pytest

from ralph_tui.config.settings import ScreenSettings
from ralph_tui.engine.control.launch import Launch
from ralph_tui.present.text.key_hints import foot_lines
from ralph_tui.tui.commands.registry import COMMANDS, DEFAULT_KEYS
from tests.tui.conftest import screen_text
from tests.tui.pictures import MEDIUM, PICTURES
from tests.tui.test_pictures import staged

KEPT = (
    "detail",
    "next_pane",
    "previous_pane",
    "search",
    "copy",
    "palette",
    "look",
    "open",
)
"""Those that lists and dialogs share."""

_FREE = [name for name in DEFAULT_KEYS.of if name.split(".")[-1] not in KEPT]
_KEYS = (*(f"alt+{sign}" for sign in ascii_letters + digits), *(f"f{n}" for n in range(13, 25)))
NEW = dict(zip(_FREE, _KEYS, strict=False))
assert len(NEW) == len(_FREE), "too few keys for all commands"
REPLACED = {key: NEW[c.name] for c in COMMANDS if c.name in NEW for key in c.keys}

OLD = re.compile(
    r"\b[bwpritH] (?:to|on|starts|tries|goes|releases|resets|skips)\b"
    r"|\ba (?:answers?|decides|to)\b|\b[xiq] (?:to|adds|stops?|quits?|gives|guides?)\b"
    r"|\bR resets|\bs skips|\bv goes|\bpress [a-zA-Z]\b|\? help"
    r"|\b(?:1 tasks|2 activity|3 status|5 history|6 memory|7 why|8 settings)\b"
)
"""A default key in a sentence, a tab or a footer."""

DAILY = ("stuck", "limited", "later")

IN_TURN = {
    "undo": {"u": NEW["undo"]},
    "new_feature": {"A": NEW["features.new"]},
}
"""Pictures that a second command leads to, with its key."""


def remapped(launch: Launch) -> Launch:
    return replace(launch, screen=ScreenSettings(keys=NEW))


def test_the_pattern_knows_the_default_keys() -> None:
    for said in ("Press b to start", "a answers   Which", "7 why", "p continues, i adds"):
        assert OLD.search(said)
    assert not OLD.search("a task to build; a pause that was asked for")


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=() if n in DAILY else pytest.mark.long) for n in PICTURES],
)
async def test_no_screen_names_a_key_that_was_given_away(name: str, tmp_path: Path) -> None:
    picture = PICTURES[name]

    def launch(given: Launch) -> Launch:
        return remapped(picture.launch(given))

    first, *others = picture.keys or ("",)
    keys = picture.keys and (first if picture.opens else REPLACED.get(first, first), *others)
    if picture.keys and not picture.opens and set(picture.keys) == {"v"}:
        keys = (REPLACED["v"], *others)  # in the plan it is the dialog's own
    keys = tuple(IN_TURN.get(name, {}).get(key, key) for key in keys)
    again = replace(picture, launch=launch, keys=keys)
    app, look = staged(again, tmp_path)
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        await look(pilot)
        text = re.sub(r"alt\+\w", "…", " ".join(screen_text(app).split()))
        assert not OLD.search(text), OLD.findall(text)


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("y approve, n reject with a reason, / search, esc later", ["y", "n", "/", "esc"]),
        ("1-9 enter choose, n m turn over", ["enter", "n", "m"]),
        ("+ - move, F5 draw", ["+", "-", "F5"]),
        ("no key here, and none there", []),
    ],
)
def test_what_can_be_clicked_at_the_foot_of_a_dialog(text: str, keys: list[str]) -> None:
    (line,) = foot_lines(text, 80)
    assert "".join(piece.text for piece in line) == text.replace(", ", "  ")
    pressed = dict.fromkeys(piece.presses for piece in line if piece.presses)
    assert list(pressed) == keys


def test_keys_take_two_lines_and_no_item_is_cut() -> None:
    text = "y approve, n reject with a reason, esc later, v graph; c copy, E export"

    def said(width: int) -> list[str]:
        return ["".join(piece.text for piece in line) for line in foot_lines(text, width)]

    assert said(76) == ["y approve  n reject with a reason  esc later  v graph  c copy  E export"]
    assert said(65) == ["y approve  n reject with a reason  esc later  v graph  c copy"]
    assert said(40) == ["y approve  n reject with a reason", "esc later  v graph  c copy  E export"]
    assert said(12) == ["y approve", "n reject with a reason"]
