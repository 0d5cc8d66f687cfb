"""Somebody answers in the person's place: the dialogs say when, and leave it to the person at once."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from unittest.mock import patch

import pytest
from textual.events import MouseScrollDown
from textual.geometry import Region
from textual.widget import Widget

from ralph_tui.domain.project_state import ApprovalKind
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from tests.tui import waiting
from tests.tui.conftest import Moment, screen_text, script_of, until
from tests.tui.feed import Script

SOON = ": auto-answering in 3s"


@dataclass
class SomebodyElse:
    """A deputy whose patience a test decides."""

    seconds_left: float | None = 2.4

    def yield_to_person(self) -> None:
        self.seconds_left = None


def questions() -> Script:
    return script_of(waiting.asking(waiting.LANGUAGE, waiting.PARTS))


def result() -> Script:
    return script_of(waiting.approving(ApprovalKind.VALIDATION, "Two of two criteria are met."))


@pytest.mark.parametrize("script", [questions, result])
@pytest.mark.parametrize(
    "key", ["down", *(pytest.param(k, marks=pytest.mark.long) for k in ("escape", "z"))]
)
async def test_any_key_keeps_the_answer_for_the_person(
    script: Callable[[], Script], key: str
) -> None:
    auto_responder, moment = SomebodyElse(), Moment()
    launch = replace(script().launch, auto_responder=auto_responder)
    app = RalphApp(launch, autostart=True, clock=moment)
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, AutoDialog))
        await until(pilot, lambda: SOON in screen_text(app))
        await pilot.press(key)
        assert auto_responder.seconds_left is None, (
            "also in the moment in which keys do nothing else"
        )
        await until(pilot, lambda: SOON not in screen_text(app))


async def test_a_dialog_is_drawn_again_only_when_its_seconds_change() -> None:
    looked, drawn = 0, 0

    class Watched(SomebodyElse):
        def __getattribute__(self, name: str) -> object:
            nonlocal looked
            looked += name == "seconds_left"
            return super().__getattribute__(name)

    def draw(*regions: Region, **how: bool) -> Widget:
        nonlocal drawn
        drawn += 1
        return Widget.refresh(frame, *regions, **how)

    launch = replace(questions().launch, auto_responder=Watched())
    app = RalphApp(launch, autostart=True, clock=Moment())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: SOON in screen_text(app))
        frame = app.screen.query_one(".dialog")
        with patch.object(frame, "refresh", draw):
            looked = 0
            await until(pilot, lambda: looked > 1)
    assert drawn == 0


@pytest.mark.parametrize("touch", ["click", "scroll"])
async def test_the_mouse_is_as_good_as_a_key(touch: str) -> None:
    auto_responder = SomebodyElse()
    app = RalphApp(
        replace(result().launch, auto_responder=auto_responder), autostart=True, clock=Moment()
    )
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, AutoDialog))
        await pilot.hover("#approved")
        assert auto_responder.seconds_left is not None, (
            "a mouse that passes over it is no hand on it"
        )
        if touch == "click":
            await pilot.click("#approved")
        else:
            await pilot._post_mouse_events([MouseScrollDown], "#approved", button=0)
        assert auto_responder.seconds_left is None


async def test_without_a_deputy_nothing_is_announced() -> None:
    app = RalphApp(questions().launch, autostart=True, clock=Moment())
    async with app.run_test(size=(80, 24)) as pilot:
        await until(pilot, lambda: isinstance(app.screen, AutoDialog))
        await until(pilot, lambda: "discovery asks" in screen_text(app))
        assert "answers in" not in screen_text(app)
