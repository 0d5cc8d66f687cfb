"""A folder that is no project yet: the screen says what is here, takes a request and writes nothing itself."""

import pytest
from textual.widgets import Input

from ralph_tui.tui.app.start_screen import StartFacts, StartScreen
from tests.tui.test_pictures import Compare

FOUND = StartFacts(
    "~/code/habits",
    {
        "Checks": "npm test, npm run lint",
        "Models": "opus plans, sonnet builds, at most $50 a run",
        "Plan": "TODO.md is a plan of another tool. Import it: `ralph import TODO.md`",
    },
    (".ralph/config.yaml", "AGENTS.md"),
    "A run needs a login, and there is none. Set ANTHROPIC_API_KEY.",
)


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> StartScreen:
    monkeypatch.setattr(Input, "cursor_blink", False)
    return StartScreen(FOUND)


async def test_enter_takes_the_request(screen: StartScreen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        assert screen.return_value is None
        assert "Say what to build first" in str(screen.query_one("#next").render())
        await pilot.press(*"A q tracker", "enter")
    assert screen.return_value == "A q tracker"


@pytest.mark.parametrize(("key", "ended"), [("ctrl+s", ""), ("escape", None), ("ctrl+c", None)])
async def test_other_keys_send_nothing(screen: StartScreen, key: str, ended: str | None) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"words", key)
    assert screen.return_value == ended


async def test_hostile_names_are_inert() -> None:
    screen = StartScreen(
        StartFacts("/tmp/\x1b[2J[red]x", {"Checks": "[@click=quit]make[/]\x07"}, ())
    )
    async with screen.run_test(size=(80, 24)):
        shown = "".join(str(line.render()) for line in screen.query("Static"))
    assert "[red]x" in shown
    assert "[@click=quit]make[/]" in shown
    assert not {"\x1b", "\x07"} & set(shown)


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
def test_the_start_screen(
    snap_compare: Compare, screen: StartScreen, size: tuple[int, int]
) -> None:
    assert snap_compare(screen, terminal_size=size)
