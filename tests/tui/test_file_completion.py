"""`@` and the beginning of a name offers the project's files in every box; the list never takes a key it should not."""

import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from ralph_tui.tui.data.project_files import project_paths
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.question import QuestionDialog
from ralph_tui.tui.screens.dialogs.text_input import GuidanceDialog
from ralph_tui.tui.widgets.file_completion import FileCompletion, matching_paths
from tests.tui import feed
from tests.tui.conftest import Moment, app_of, drained, screen_text, until
from tests.tui.test_keys import ralph
from tests.tui.waiting import LANGUAGE, asking

PATHS = (
    "README.md",
    "src/slugs.py",
    "src/text/slug_table.py",
    "tests/test_slugs.py",
    "docs/long slug.md",
)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    for name in (*PATHS, "build/slugs.js"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (tmp_path / ".gitignore").write_text("build/\n")
    return tmp_path


def offered(pilot: Pilot[int]) -> list[str]:
    return [path for shown in pilot.app.screen.query(FileCompletion) for path in shown.offered]


async def test_a_name_is_completed_in_the_guidance(root: Path) -> None:
    script = feed.Script(root, feed.running())
    async with app_of(script).run_test(size=(80, 24)) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: script.runs == 1)
        await pilot.press("i")
        await until(pilot, lambda: isinstance(app.screen, GuidanceDialog))
        box = app.screen.query_one(TextArea)
        await pilot.press(*"see me@slug ")
        assert offered(pilot) == [], "an address is no file"
        await pilot.press(*"@slu")
        await until(pilot, lambda: bool(offered(pilot)))
        assert offered(pilot)[:2] == ["src/slugs.py", "src/text/slug_table.py"]
        assert "build/slugs.js" not in offered(pilot), "git ignores it"
        assert "src/text/slug_table.py" in screen_text(app)
        await pilot.press("down", "enter")
        await until(pilot, lambda: box.text == "see me@slug @src/text/slug_table.py ")
        await drained(pilot)
        assert offered(pilot) == []
        await pilot.press(*"@read")
        await until(pilot, lambda: offered(pilot) == ["README.md"])
        await pilot.press("escape")
        assert isinstance(app.screen, GuidanceDialog), "escape closes the list alone"
        assert offered(pilot) == []
        await pilot.press(*" x")
        await until(pilot, lambda: box.text.endswith("@read x"))
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))


async def test_a_name_is_completed_in_an_answer(root: Path) -> None:
    script, moment = feed.Script(root, asking(LANGUAGE)), Moment()
    async with app_of(script, clock=moment).run_test(size=(80, 24)) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        moment.passes(2)
        choices = len(LANGUAGE.options)
        await pilot.press(str(choices + 1))
        await until(pilot, lambda: isinstance(app.focused, Input))
        await pilot.press(*"as in @test_s")
        await until(pilot, lambda: offered(pilot) == ["tests/test_slugs.py"])
        await pilot.press("tab")
        line = app.screen.query_one(Input)
        await until(pilot, lambda: line.value == "as in @tests/test_slugs.py ")
        assert app.focused is line


async def test_hostile_names_stay_inert(root: Path) -> None:
    (root / "zz\x1b[31m\u202egnp.exe\n").touch()
    (root / "zz[red].py").touch()
    script = feed.Script(root, feed.running())
    async with app_of(script).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: script.runs == 1)
        await pilot.press("i", *"@zz")
        await until(pilot, lambda: bool(offered(pilot)))
        shown = screen_text(ralph(pilot))
        assert "zz[red].py" in shown, "markup is text"
        assert "gnp" not in shown, "a name whose signs are not all shown is not offered"


def test_without_a_repository_the_folder_is_walked(tmp_path: Path) -> None:
    for name in ("a.txt", "b/c.txt", ".hidden/d.txt", "node_modules/e.js"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    assert project_paths(tmp_path) == ("a.txt", "b/c.txt")


def test_the_best_fit_is_first() -> None:
    assert matching_paths(PATHS, "slugs")[0] == "src/slugs.py"
    assert matching_paths(PATHS, "tslug") == ["tests/test_slugs.py", "src/text/slug_table.py"]
    assert matching_paths(PATHS, "nothing here") == []
    assert matching_paths(PATHS, "")[0] == "README.md"


@given(st.lists(st.text(min_size=1, max_size=12), max_size=20), st.text(max_size=4))
def test_what_is_offered_is_there_once_and_has_the_letters(paths: list[str], typed: str) -> None:
    found = matching_paths(sorted(set(paths)), typed)
    assert len(found) == len(set(found)) <= 8
    for path in found:
        letters = iter(path.casefold())
        assert all(letter in letters for letter in typed.casefold())
