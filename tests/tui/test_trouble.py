"""Trouble is said whole, figures are judged, and what does not fit goes as a whole."""

import re
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import Theme

from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.pages import settings
from ralph_tui.tui.screens.pages.settings import SettingsPage
from ralph_tui.tui.theme.themes import STYLES, THEMES
from tests.tui.conftest import Open, ralph, screen_text, until
from tests.tui.past import past_project


def said(app: RalphApp) -> str:
    shown = screen_text(app).replace("│", " ").replace("$0.00  0.0s", " ")
    return " ".join(shown.split())


async def test_a_search_in_the_settings_takes_the_cursor_along(
    open_app: Open, tmp_path: Path
) -> None:
    script = past_project(tmp_path / "slug-demo")
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        await pilot.press("8", "v")
        await until(pilot, lambda: "phases.building.max_iterations" in screen_text(app))
        await pilot.press("slash", *"typecheck_comm")
        await until(pilot, lambda: "1 of " in screen_text(app))
        assert isinstance(app.screen, SettingsPage)
        assert app.screen.text.cursor == "build.typecheck_command"


async def test_settings_edited_elsewhere_are_shown_as_they_are_now(
    open_app: Open, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings, "REREAD_SECONDS", 0.05)
    script = past_project(tmp_path / "slug-demo")
    config = script.launch.root / ".ralph" / "config.yaml"
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        await pilot.press("8")
        await until(pilot, lambda: "dollars this run" in screen_text(app))
        config.write_text("safety: [\n", encoding="utf-8")
        await until(pilot, lambda: "is not valid YAML" in said(app))
        await pilot.press("v")
        await until(pilot, lambda: "─ all settings ─" in screen_text(app))
        config.write_text("project: {name: abacus}\n", encoding="utf-8")
        await until(pilot, lambda: "abacus" in screen_text(app))


@pytest.mark.parametrize("theme", THEMES, ids=lambda theme: theme.name)
def test_no_ground_is_of_a_colour_that_nobody_sees(theme: Theme) -> None:
    sheets = "".join(sheet.read_text(encoding="utf-8") for sheet in STYLES.glob("*.tcss"))
    named = set(re.findall(r"background: \$([\w-]+)", sheets))
    colours = theme.to_color_system().generate()
    assert named
    assert {name for name in named if not Color.parse(colours[name]).a} == set()
