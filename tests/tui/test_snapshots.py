"""Pictures of every state; look at the report before accepting a change."""

from collections.abc import Awaitable, Callable, Sequence

import pytest
from textual.pilot import Pilot
from textual.screen import ModalScreen

from ralph_tui.domain.events import Event
from ralph_tui.domain.state import ApprovalKind
from ralph_tui.tui.app import RalphApp
from tests.tui import feed, waiting
from tests.tui.conftest import Moment, app_of, drained, script_of, until

SIZES = ((80, 24), (120, 40))
DIALOG_SIZES = ((80, 24), pytest.param((120, 40), marks=pytest.mark.long))
"""A dialog that fits into a small terminal has room in a large one."""
Compare = Callable[..., bool]

STATES: dict[str, Callable[[], list[Event]]] = {
    "idle": list,
    "running": feed.running,
    "failed_gate": feed.failed_gate,
    "paused": feed.paused,
    "complete": feed.complete,
    "stopped": feed.stopped,
    "limited": waiting.limited,
}

WAITING: dict[str, tuple[Callable[[], list[Event]], Sequence[str]]] = {
    "question": (lambda: waiting.asking(waiting.LANGUAGE, waiting.PARTS), ()),
    "multiple": (lambda: waiting.asking(waiting.PARTS), ("space", "j", "space", "4", "o", "k")),
    "preview": (lambda: waiting.asking(waiting.STORE), ("j",)),
    "review": (lambda: waiting.asking(waiting.LANGUAGE, waiting.STORE), ("2", "4")),
    "plan": (lambda: waiting.approving(ApprovalKind.PLAN, "5 tasks, about 120k tokens"), ("j",)),
    "recovery": (lambda: waiting.approving(ApprovalKind.RECOVERY, "failures 3/3"), ()),
}

DIALOGS: dict[str, Sequence[str]] = {
    "tool_detail": ("k", "k", "k", "k", "k", "k", "k", "k", "k", "enter"),
    "task_detail": ("1", "enter"),
    "inject": ("i", "K", "e", "e", "p"),
    "help": ("f1",),
}


def then(*keys: str, theme: str = "") -> Callable[[Pilot[int]], Awaitable[None]]:
    """Wait for the script, then press keys one at a time."""

    async def run(pilot: Pilot[int]) -> None:
        app = pilot.app
        assert isinstance(app, RalphApp)
        if theme:
            app.theme = theme
        await until(pilot, lambda: bool(app.view.tasks))
        await drained(pilot)
        for key in keys:
            await pilot.press(key)
            await until(pilot, lambda: _answered(app))
            await drained(pilot)

    return run


def _answered(app: RalphApp) -> bool:
    """A command is done, or waits for the person."""
    busy = [w for w in app.workers if w.group.startswith("command-") and not w.is_finished]
    return not busy or isinstance(app.screen, ModalScreen)


@pytest.mark.parametrize("size", SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("state", STATES)
def test_dashboard(snap_compare: Compare, state: str, size: tuple[int, int]) -> None:
    events = STATES[state]()
    app = app_of(script_of(events), autostart=bool(events))
    assert snap_compare(app, terminal_size=size, run_before=then())


@pytest.mark.parametrize("size", DIALOG_SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("dialog", DIALOGS)
def test_dialog(snap_compare: Compare, dialog: str, size: tuple[int, int]) -> None:
    app = app_of(script_of(feed.failed_gate()))
    assert snap_compare(app, terminal_size=size, run_before=then(*DIALOGS[dialog]))


@pytest.mark.parametrize(("name", "keys"), [("confirm", "q"), ("toast", "b")])
def test_small_above_the_dashboard(snap_compare: Compare, name: str, keys: str) -> None:
    app = app_of(script_of(feed.failed_gate()))
    assert snap_compare(app, terminal_size=(80, 24), run_before=then(keys))


@pytest.mark.parametrize("size", DIALOG_SIZES, ids=lambda s: f"{s[0]}x{s[1]}")
@pytest.mark.parametrize("name", WAITING)
def test_waiting(snap_compare: Compare, name: str, size: tuple[int, int]) -> None:
    events, keys = WAITING[name]
    moment = Moment()

    async def run(pilot: Pilot[int]) -> None:
        app = pilot.app
        assert isinstance(app, RalphApp)
        await until(pilot, lambda: isinstance(app.screen, ModalScreen))
        await drained(pilot)
        moment.passes(1)
        app._tick()
        for key in keys:
            await pilot.press(key)
            await drained(pilot)

    app = app_of(script_of(events()), clock=moment)
    assert snap_compare(app, terminal_size=size, run_before=run)


@pytest.mark.parametrize("pane", ["1", "3"], ids=["tasks", "status"])
def test_narrow_panes(snap_compare: Compare, pane: str) -> None:
    app = app_of(script_of(feed.failed_gate()))
    assert snap_compare(app, terminal_size=(80, 24), run_before=then(pane))


@pytest.mark.parametrize("theme", ["ralph-dark", "ralph-light", "ansi-dark"])
def test_wide_in_every_kind_of_theme(snap_compare: Compare, theme: str) -> None:
    app = app_of(script_of(feed.failed_gate()))
    assert snap_compare(app, terminal_size=(160, 50), run_before=then(theme=theme))


def test_without_colour(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    app = app_of(script_of(feed.failed_gate()))
    assert snap_compare(app, terminal_size=(120, 40), run_before=then())


def test_in_ascii(snap_compare: Compare, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RALPH_ASCII", "1")
    app = app_of(script_of(feed.failed_gate()))
    assert snap_compare(app, terminal_size=(120, 40), run_before=then())


@pytest.mark.parametrize("size", [(60, 20), (50, 12)], ids=["60x20", "50x12"])
def test_small(snap_compare: Compare, size: tuple[int, int]) -> None:
    app = app_of(script_of(feed.running()))
    assert snap_compare(app, terminal_size=size, run_before=then())
