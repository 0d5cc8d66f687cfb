"""`up` recalls in each kind of box what was sent from one before, and `down` brings back what was being typed."""

from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input, TextArea

from ralph_tui.store.layout import Layout
from ralph_tui.store.typed_texts import ANSWER, GUIDANCE, keep_typed, read_typed
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.question import QuestionDialog
from ralph_tui.tui.screens.dialogs.text_input import GuidanceDialog
from ralph_tui.tui.widgets.text_recall import EARLIER, FILES
from tests.tui import feed
from tests.tui.conftest import Moment, app_of, screen_text, until
from tests.tui.test_keys import ralph
from tests.tui.waiting import LANGUAGE, asking


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project in which guidance and an answer were typed before."""
    layout = Layout(tmp_path)
    layout.dot.mkdir()
    keep_typed(layout, GUIDANCE, "use sqlite")
    keep_typed(layout, ANSWER, "as before")
    keep_typed(layout, GUIDANCE, "first\nsecond")
    return tmp_path


async def guidance(pilot: Pilot[int]) -> TextArea:
    await pilot.press("i")
    await until(pilot, lambda: isinstance(pilot.app.screen, GuidanceDialog))
    return pilot.app.screen.query_one(TextArea)


async def test_guidance_is_recalled_and_what_was_typed_comes_back(root: Path) -> None:
    script = feed.Script(root, feed.running())
    async with app_of(script).run_test(size=(120, 24)) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: script.runs == 1)
        box = await guidance(pilot)
        await until(pilot, lambda: EARLIER in screen_text(app))
        await pilot.press(*"ne", "up")
        assert FILES in screen_text(app)
        assert EARLIER not in screen_text(app), "within a text the key moves the cursor"
        assert box.text == "ne", "within the text the key moves the cursor"
        for key, shown in (
            ("up", "first\nsecond"),
            ("up", "use sqlite"),
            ("up", "use sqlite"),
            ("down", "first\nsecond"),
            ("down", "ne"),
            ("down", "ne"),
        ):
            await pilot.press(key)
            await until(pilot, lambda shown=shown: box.text == shown)  # type: ignore[misc]
        await pilot.press(*"w", "ctrl+s")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await until(pilot, lambda: read_typed(Layout(root))[-1].text == "new")
        box = await guidance(pilot)
        await pilot.press("up")
        await until(pilot, lambda: box.text == "new")
        await pilot.press(*"er", "up")
        assert box.text == "newer", "a recalled text that was changed is a text of one's own"


async def test_an_answer_is_recalled_and_guidance_is_not(root: Path) -> None:
    script, moment = feed.Script(root, asking(LANGUAGE)), Moment()
    async with app_of(script, clock=moment).run_test(size=(80, 24)) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, QuestionDialog))
        moment.passes(2)
        await pilot.press(str(len(LANGUAGE.options) + 1))
        await until(pilot, lambda: isinstance(app.focused, Input))
        line = app.screen.query_one(Input)
        await pilot.press(*"Go", "up")
        await until(pilot, lambda: line.value == "as before")
        await pilot.press("up", "down")
        await until(pilot, lambda: line.value == "Go")
        await pilot.press("enter")
        await until(pilot, lambda: read_typed(Layout(root))[-1].text == "Go")


async def test_a_file_that_cannot_be_read_is_said_and_the_box_works(root: Path) -> None:
    Layout(root).typed.unlink()
    Layout(root).typed.mkdir()
    script = feed.Script(root, feed.running())
    async with app_of(script).run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: script.runs == 1)
        box = await guidance(pilot)
        await pilot.press("up")
        await until(pilot, lambda: bool(list(pilot.app._notifications)))
        (said,) = [note.message for note in pilot.app._notifications]
        assert "typed.jsonl is not a regular file" in said
        await pilot.press(*"still")
        await until(pilot, lambda: box.text == "still")


async def test_without_an_earlier_text_the_key_says_so(tmp_path: Path) -> None:
    script = feed.Script(tmp_path, feed.running())
    async with app_of(script).run_test(size=(80, 24), notifications=True) as pilot:
        await until(pilot, lambda: script.runs == 1)
        await guidance(pilot)
        await pilot.press("up")
        await until(pilot, lambda: "There are no earlier texts." in screen_text(ralph(pilot)))
