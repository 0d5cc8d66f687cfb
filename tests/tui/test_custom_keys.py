"""Keys and theme from the settings."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from ralph_tui.config.setting_names import description
from ralph_tui.config.settings import ScreenSettings
from ralph_tui.domain.errors import ConfigError
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.commands.custom_keys import keymap_of
from ralph_tui.tui.screens.pages.history import HistoryPage
from ralph_tui.tui.screens.pages.iterations import IterationsPage
from ralph_tui.tui.screens.pages.why import WhyPage
from tests.tui import feed
from tests.tui.conftest import SIZE, drained, screen_text, script_of, until
from tests.tui.past import past_project


async def test_remapped_keys_work_are_shown_and_free_the_old_ones() -> None:
    script = script_of(feed.running())
    screen = ScreenSettings(keys={"pause": "space, f5", "stop": "p"}, theme="ralph-light")
    app = RalphApp(replace(script.launch, screen=screen), autostart=True, clock=feed.clock)
    async with app.run_test(size=SIZE) as pilot:
        await drained(pilot)
        assert app.theme == "ralph-light"
        assert "space pause" in screen_text(app).splitlines()[-1]
        await pilot.press("space")
        await until(pilot, lambda: script.controls.asked == ["pause"])
        await pilot.press("p")
        await until(pilot, lambda: "Stop after this iteration" in screen_text(app))
        await pilot.press("escape", "f1")
        await until(pilot, lambda: "space F5" in screen_text(app))


@pytest.mark.long
async def test_a_pages_own_keys_are_remapped_and_win_on_the_page(tmp_path: Path) -> None:
    script = past_project(tmp_path / "slug-demo")
    keys = {"history.open": "E,f6", "history.copy": "p", "pause": "v", "why": "W", "plan": "V"}
    launch = replace(script.launch, screen=ScreenSettings(keys=keys))
    app = RalphApp(launch, autostart=False, clock=feed.clock)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await drained(pilot)
        await pilot.press("5")
        await until(pilot, lambda: isinstance(app.screen, HistoryPage))
        await until(pilot, lambda: "E open" in screen_text(app).splitlines()[-1])
        await pilot.press("p")  # the page's, although it is also what nothing else means now
        await until(pilot, lambda: "Copied " in screen_text(app))
        await pilot.press("f6")
        await until(pilot, lambda: isinstance(app.screen, IterationsPage))
        await pilot.press("5")
        await until(pilot, lambda: isinstance(app.screen, HistoryPage))
        await pilot.press("f1")
        await until(pilot, lambda: "E F6" in screen_text(app))
        await pilot.press("escape", "v")  # the page's own view, not the pause it is elsewhere
        await until(pilot, lambda: "Completed tasks" in screen_text(app))
        await pilot.press("W")
        await until(pilot, lambda: isinstance(app.screen, WhyPage))


@pytest.mark.parametrize(
    ("environment", "theme", "shown"),
    [
        ({"TERM": "linux"}, "ralph-dark", "ansi-dark"),
        ({"TERM": "linux"}, "ralph-light", "ansi-light"),
        ({"TERM": "linux"}, "nord", "nord"),
        ({"NO_COLOR": "1"}, "ansi-light", "ralph-light"),
        ({"NO_COLOR": "1"}, "ralph-dark", "ralph-dark"),
    ],
)
async def test_a_theme_that_the_terminal_cannot_show_well_has_a_stand_in(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], theme: str, shown: str
) -> None:
    screen = ScreenSettings(theme=theme)
    launch = replace(script_of().launch, screen=screen)
    assert RalphApp(launch, clock=feed.clock).chosen_theme == theme, "many colours"
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert RalphApp(launch, clock=feed.clock).chosen_theme == shown


async def test_a_theme_that_is_not_there_is_named_and_the_screen_opens() -> None:
    screen = ScreenSettings(theme="ralph-drak")
    app = RalphApp(replace(script_of().launch, screen=screen), autostart=False, clock=feed.clock)
    async with app.run_test(size=SIZE) as pilot:
        await drained(pilot)
        assert app.theme == "ralph-dark"
        await until(pilot, lambda: "Unknown theme 'ralph-drak'" in screen_text(app))


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"pasue": "space"}, "unknown command 'pasue'. Did you mean pause?"),
        ({"pause": " , "}, "pause has no key"),
        ({"pause": "x"}, "x is assigned to both pause and stop"),
        ({"pause": "?"}, "? is assigned to both pause and help"),
        ({"history.open": "v"}, "v is assigned to both history.look and history.open"),
        ({"history.exprot": "v"}, "unknown command 'history.exprot'. Did you mean"),
        ({"pause": "ctrl-b"}, "unknown key 'ctrl-b'. Did you mean ctrl+b?"),
        ({"pause": "spcae"}, "unknown key 'spcae'. Did you mean space?"),
        ({"pause": "f13,meta+x"}, "unknown key 'meta+x'"),
        ({"pause": "shift+/"}, "'shift+/' depends on the keyboard layout. Write the character"),
        ({"pause": "ctrl+shift+1"}, "'ctrl+shift+1' depends on the keyboard layout"),
        ({"pause": "shift+ß"}, "'shift+ß' depends on the keyboard layout"),
        ({"quit": "esc"}, "esc is reserved"),
        ({"pause": "j"}, "j is reserved for moving"),
        ({"pause": "ctrl+m"}, "enter is assigned to both"),
    ],
)
def test_wrong_keys_are_explained(given: dict[str, str], said: str) -> None:
    with pytest.raises(ConfigError, match=r"screen\.keys") as error:
        keymap_of(given)
    assert said in str(error.value)


def test_keys_are_written_as_people_write_them() -> None:
    """As they are said on the screen, too; what never comes from a terminal would be no key at all."""
    given = {
        "pause": "Space, Ctrl+B",
        "skip": "shift+j,F5",
        "build": "!",
        "stop": "shift+tab,ctrl++",
    }
    given |= {"next_pane": "right", "previous_pane": "left"}
    assert keymap_of(given) == {
        "pause": ("space", "ctrl+b"),
        "skip": ("J", "f5"),
        "build": ("exclamation_mark",),
        "stop": ("shift+tab", "ctrl+plus"),
        "next_pane": ("right",),
        "previous_pane": ("left",),
    }


def test_the_example_in_the_description_of_the_setting_works() -> None:
    example = re.search(r"\{.*\}", description("screen.keys"))
    assert example
    assert keymap_of(yaml.safe_load(example[0]))
