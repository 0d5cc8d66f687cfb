"""A picture of every screen in every state; look at the report before accepting a change."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.screen import ModalScreen

from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.dialogs.auto_dialog import AutoDialog
from ralph_tui.tui.screens.pages.history import HistoryPage
from tests.tui.conftest import Moment, drained, ralph, screen_text, until
from tests.tui.dialog_checks import check_foot, check_frame
from tests.tui.pictures import DIALOGS, LARGE, MEDIUM, PICTURES, SIZES, Picture, Size, busy, told

Compare = Callable[..., bool]
Look = Callable[[Pilot[int]], Awaitable[None]]


def staged(
    picture: Picture, directory: Path, *, theme: str = "", root: Path | None = None
) -> tuple[RalphApp, Look]:
    """The app, and what leads to the picture; `root` is where it may write."""
    moment = Moment()
    script = picture.script(directory)
    script.controls.root = root or script.controls.root
    app = RalphApp(picture.launch(script.launch), autostart=picture.runs, clock=moment)

    async def look(pilot: Pilot[int]) -> None:
        if theme:
            app.theme = theme
        await until(pilot, lambda: bool(script.runs if picture.runs else script.watches))
        await drained(pilot)
        if picture.opens:
            await until(pilot, lambda: isinstance(app.screen, ModalScreen))
            await drained(pilot)
        if isinstance(app.screen, AutoDialog):
            moment.passes(2)
            app.lifecycle.refresher.tick()
        for key in picture.keys:
            await pilot.press(key)
            await calm(pilot)
        picture.then(app)
        await drained(pilot)
        try:
            await until(pilot, lambda: picture.shows in screen_text(app))
        except AssertionError as error:
            text = f"{picture.shows!r} is not on the screen\n{screen_text(app)}"
            raise AssertionError(text) from error
        await (drained if picture.reads_on else calm)(pilot)

    return app, look


async def calm(pilot: Pilot[int]) -> None:
    """What a key led to is done, and what that led to; an answer may begin the next reading."""
    app = ralph(pilot)
    calm = 0
    while calm < 2:
        await until(pilot, lambda: _answered(app))
        await drained(pilot)
        calm = calm + 1 if _answered(app) else 0


def _answered(app: RalphApp) -> bool:
    screen = app.screen
    if not screen.is_mounted:
        return False
    if isinstance(screen, HistoryPage) and not screen._error_text and screen.not_now("share"):
        return False
    if any(screen in w.node.ancestors_with_self and not w.is_finished for w in app.workers):
        return False
    busy = [w for w in app.workers if w.group.startswith("command-") and not w.is_finished]
    return not busy or isinstance(screen, ModalScreen)


KEPT = [name for name, picture in PICTURES.items() if picture.size]
AT_ITS_OPENING = [
    pytest.param(name, marks=pytest.mark.drawn) if PICTURES[name].opens else name for name in KEPT
]
"""A dialog that opens by itself shows what was beneath it then."""


@pytest.mark.parametrize("name", AT_ITS_OPENING)
def test_picture(snap_compare: Compare, tmp_path: Path, name: str) -> None:
    size = PICTURES[name].size
    app, look = staged(PICTURES[name], tmp_path)

    async def look_and_check(pilot: Pilot[int]) -> None:
        await look(pilot)
        if size and name in DIALOGS and name not in FRAMELESS:
            check_frame(app, size)
            check_foot(app, size[0])

    assert snap_compare(app, terminal_size=size, run_before=look_and_check)


FRAMELESS = {"palette", "call_searched"}

BESIDE = "archive"
"""What it shows stands beside a list; a narrow screen has the list alone, and enter opens it (`archive_small`)."""


@pytest.mark.parametrize(
    ("name", "size"),
    [
        pytest.param(
            *(name, size),
            id=f"{name}-{size[0]}x{size[1]}",
            marks=() if size == MEDIUM and name not in KEPT else pytest.mark.long,
        )
        for name in PICTURES
        for size in SIZES
    ],
)
async def test_every_state_is_reached_at_every_size(tmp_path: Path, name: str, size: Size) -> None:
    picture = PICTURES[name]
    if name == BESIDE and size[0] < MEDIUM[0]:
        picture = replace(picture, keys=(*picture.keys, "enter"))
    app, look = staged(picture, tmp_path)
    async with app.run_test(size=size, notifications=True) as pilot:
        await look(pilot)
        assert screen_text(app).strip()


@pytest.mark.parametrize("theme", ["ralph-light", "ansi-dark"])
def test_dashboard_in_other_themes(snap_compare: Compare, tmp_path: Path, theme: str) -> None:
    app, look = staged(Picture(MEDIUM, told(busy), ("1",)), tmp_path, theme=theme)
    assert snap_compare(app, terminal_size=MEDIUM, run_before=look)


@pytest.mark.parametrize("name", ["NO_COLOR", "RALPH_ASCII"])
def test_dashboard_without(
    snap_compare: Compare, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "1")
    app, look = staged(Picture(LARGE, told(busy), ("1",)), tmp_path)
    assert snap_compare(app, terminal_size=LARGE, run_before=look)


def test_dashboard_in_little_room(snap_compare: Compare, tmp_path: Path) -> None:
    app, look = staged(PICTURES["running"], tmp_path)
    assert snap_compare(app, terminal_size=(50, 12), run_before=look)
