"""Search and copy on every screen, dialog and state of the one table: each works or says why not."""

import re
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from ralph_tui.store.project import Project
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.dialog import Dialog, text_of
from ralph_tui.tui.screens.pages.settings import SettingsPage
from ralph_tui.tui.widgets.search import SearchLine
from tests.tui.conftest import ralph, screen_text, toasts, until
from tests.tui.pictures import MEDIUM, PICTURES
from tests.tui.test_pictures import staged

DAILY = ("status", "memory")
"""Looked at in the normal run: one of each kind of pane."""

WHY_NOT = ("There is no text to search here.",)

TYPED = {
    *("request", "search", "edit", "guide", "palette", "limits", "model"),
    *("permission_denied", "multiple", "call_searched", "memory_searched"),
    *("request_changes", "new_feature"),
}
"""Where letters are typed or chosen, these keys are letters."""


NOTHING_YET = {"loading", "loading_iterations", "unreadable", "no_memory"}
"""Where nothing has been read that could be found, or what is copied is not what is in sight."""


def _cases() -> list[object]:
    return [
        pytest.param(name, id=name, marks=() if name in DAILY else pytest.mark.long)
        for name in PICTURES
        if name not in TYPED | NOTHING_YET
    ]


def _types(app: RalphApp) -> bool:
    return isinstance(app.focused, Input | TextArea)


def _found(app: RalphApp) -> str:
    lines = [line for line in app.screen.query(SearchLine) if line.display]
    return str(lines[0].query_one("#found").render()) if lines else ""


def _words(text: str) -> list[str]:
    return re.findall(r"[A-Za-z]{4,}", text)


async def _searched(pilot: Pilot[int], text: str) -> None:
    app, screen = ralph(pilot), pilot.app.screen
    await pilot.press("slash")
    await until(pilot, lambda: _types(app) or bool(_said(app, WHY_NOT)))
    if not _types(app):
        return
    if isinstance(screen, Dialog) and (pane := screen.search_target()):
        text = text_of(pane)
    words = _words(text)
    if isinstance(screen, SettingsPage):  # of which all are copied, and those in sight searched
        shown = set(_words(screen_text(app)))
        words = [word for word in words if word in shown]
    if not words:
        await pilot.press("escape")
        return
    word = max(words, key=len)
    await pilot.press(*word.lower())
    await until(pilot, lambda: re.fullmatch(r"\d+ of \d+", _found(app)) is not None)
    await pilot.press("enter", "greater_than_sign", "less_than_sign")
    await until(pilot, lambda: re.fullmatch(r"\d+ of \d+", _found(app)) is not None)
    assert not _types(app)
    await pilot.press("escape")
    await until(pilot, lambda: not any(line.display for line in screen.query(SearchLine)))
    assert app.screen is screen, "Escape closes the search and nothing else"


def _said(app: RalphApp, texts: tuple[str, ...]) -> list[str]:
    return [toast for toast in toasts(app) if toast in texts]


async def _copied(pilot: Pilot[int], key: str) -> str:
    app = ralph(pilot)
    before = "what was copied before"
    app.copy_to_clipboard(before)
    await pilot.press(key)
    nothing = ("Nothing is selected.", "There is nothing to copy.")
    await until(pilot, lambda: app.clipboard != before or bool(_said(app, nothing)))
    return "" if app.clipboard == before else app.clipboard


@pytest.mark.parametrize("name", _cases())
async def test_every_pane_is_searched_copied_and_saved(tmp_path: Path, name: str) -> None:
    root = tmp_path / "slug-demo"
    app, look = staged(PICTURES[name], tmp_path, root=root)
    if not root.is_dir():
        root.mkdir()
        Project(root).create()
    async with app.run_test(size=MEDIUM, notifications=True) as pilot:
        await look(pilot)
        assert not _types(app)
        whole = await _copied(pilot, "Y")
        files = root / ".ralph" / "exports"
        await until(pilot, lambda: not whole or any(files.glob("*.txt")))
        chosen = await _copied(pilot, "y")
        assert bool(chosen) >= bool(whole), "what is chosen is copied, or all of it"
        await _searched(pilot, whole)
