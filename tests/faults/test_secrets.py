"""Line 57: keys are in no picture of the screen, whatever text they came in.

Journal, logs, memory and crash reports are in scenario/test_guarded and cli/test_edges; the pieces of a
streamed key in agent/test_holding.
"""

import html
from collections.abc import Iterator

import pytest

from ralph_tui.domain import redaction
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.text_reader import TaskDetail, ToolDetail
from tests.tui.conftest import app_of, drained, script_of, until
from tests.tui.test_hostile import hostile_run

SECRETS = (
    "sk-ant-api03-abcdefghijklmnopqrstuvwx",
    "ghp_abcdefghijklmnopqrstuvwxyz0123",
    "postgres://me:pa55word99@db/x",
    "correct-horse-battery",
)
TELLING = ("sk-ant-api03", "ghp_abcdef", "pa55word99", "correct-horse")


@pytest.fixture(autouse=True)
def hidden() -> Iterator[None]:
    """The value of a variable of this process, as `hide` learns it at a run's start."""
    before = list(redaction._hidden)
    redaction.hide([SECRETS[-1]])
    yield
    redaction._hidden[:] = before


def picture(app: RalphApp) -> str:
    return html.unescape(app.export_screenshot()).replace("\xa0", " ")


@pytest.mark.long
async def test_no_picture_of_the_screen_shows_a_key() -> None:
    text = ", ".join(SECRETS)
    script = script_of(hostile_run(f"{text} now"))
    app = app_of(script)
    async with app.run_test(size=(150, 50), notifications=True) as pilot:
        await until(pilot, lambda: bool(script.runs))
        await drained(pilot)
        pictures = [picture(app)]
        await pilot.press("2")
        for number in range(0, app.dashboard.stream.timeline.end, 2):
            app.dashboard.stream.move_cursor(number)
            await pilot.press("enter")
            await until(pilot, lambda: isinstance(app.screen, ToolDetail))
            pictures.append(picture(app))
            await pilot.press("escape")
            await until(pilot, lambda: not isinstance(app.screen, ToolDetail))
        await pilot.press("1", "j", "enter", "enter")
        await until(pilot, lambda: isinstance(app.screen, TaskDetail))
        pictures.append(picture(app))
    assert any("[redacted]" in shown for shown in pictures), "the texts were shown at all"
    for shown in pictures:
        assert [told for told in TELLING if told in shown] == []
