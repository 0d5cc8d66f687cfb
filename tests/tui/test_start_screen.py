"""A folder that is no project yet: the screen says what is here, takes a choice and writes nothing itself."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.widgets import Input

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.import_preview import (
    ImportChange,
    ImportedCommand,
    ImportPreview,
    ImportRow,
)
from ralph_tui.store.layout import Layout
from ralph_tui.store.typed_texts import REQUEST, keep_typed
from ralph_tui.tui.app.start_screen import (
    ForeignPlan,
    PlanPreview,
    StartChoice,
    StartFacts,
    StartScreen,
)
from ralph_tui.tui.widgets.file_completion import FileCompletion
from tests.harness.waiting import until
from tests.tui.test_pictures import Compare

PREVIEW = ImportPreview(
    source="prd.json",
    format="snarktank",
    rows=(
        ImportRow(change=ImportChange.NEW, id="US-001", title="Add a habit"),
        ImportRow(
            change=ImportChange.NEW,
            id="US-002",
            title="Mark a habit as done",
            detail="complete in the file, not verified",
        ),
    ),
    commands=(
        ImportedCommand(task_id="US-001", command="npm test"),
        ImportedCommand(
            task_id="US-002", command="rm -rf /", verdict="deny", reason="It deletes everything."
        ),
    ),
    remarks=("The file has no priorities, so its order counts.",),
)


def found(look: Callable[[], ImportPreview] = lambda: PREVIEW) -> StartFacts:
    return StartFacts(
        "~/code/habits",
        {
            "Checks": "npm test, npm run lint",
            "Models": "opus plans, sonnet builds, at most $50 a run",
            "Plan": "prd.json, from another tool (^t shows what is in it)",
        },
        (".ralph/config.yaml", "AGENTS.md"),
        "A run needs a login, and there is none. Set ANTHROPIC_API_KEY.",
        ForeignPlan("prd.json", look),
        offers_git=True,
    )


@pytest.fixture
def screen(monkeypatch: pytest.MonkeyPatch) -> StartScreen:
    monkeypatch.setattr(Input, "cursor_blink", False)
    return StartScreen(found())


async def previewed(pilot: Pilot[StartChoice]) -> None:
    await pilot.press("ctrl+t")
    await pilot.app.workers.wait_for_complete()
    await pilot.pause()
    assert isinstance(pilot.app.screen, PlanPreview)


def below(screen: StartScreen) -> str:
    return str(screen.query_one("#next").render())


async def test_enter_takes_the_request(screen: StartScreen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press("enter")
        assert screen.return_value is None
        assert "Describe what to build first" in below(screen)
        await pilot.press(*"A q tracker", "enter")
    assert screen.return_value == StartChoice("A q tracker", makes_git=True)


@pytest.mark.parametrize(
    ("key", "ended"),
    [("ctrl+s", StartChoice(makes_git=True)), ("escape", None), ("ctrl+c", None)],
)
async def test_a_typed_request_is_dropped_only_when_asked_twice(
    screen: StartScreen, key: str, ended: StartChoice | None
) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"words", key)
        assert "has not been sent" in below(screen)
        assert screen.query_one(Input).value == "words"
        await pilot.press("x")
        assert "has not been sent" not in below(screen)
        await pilot.press(key, key)
    assert not screen.is_running
    assert screen.return_value == ended


async def test_nothing_is_asked_while_nothing_is_typed(screen: StartScreen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+s")
    assert screen.return_value == StartChoice(makes_git=True)


async def names_a_file(pilot: Pilot[StartChoice]) -> None:
    await pilot.press(*"as in @ha")
    await until(lambda: bool(pilot.app.screen.query_one(FileCompletion).offered))


async def test_a_request_names_files_and_escape_closes_their_list_first(tmp_path: Path) -> None:
    (tmp_path / "habits.md").touch()
    screen = StartScreen(replace(found(), root=tmp_path))
    async with screen.run_test(size=(80, 24)) as pilot:
        place = screen.query_one(Input).region
        await names_a_file(pilot)
        assert screen.query_one(Input).region == place, "the list moves nothing"
        await pilot.press("escape")
        assert not screen.screen.query_one(FileCompletion).is_open
        assert "has not been sent" not in below(screen), "escape closes the list alone"
        await pilot.press("b")
        await until(lambda: screen.screen.query_one(FileCompletion).is_open)
        await pilot.press("enter")
        await until(lambda: screen.query_one(Input).value == "as in @habits.md ")
        assert screen.return_value is None, "enter takes the name, not the request"
        await pilot.press("enter")
    assert screen.return_value == StartChoice("as in @habits.md", makes_git=True)


async def test_a_request_typed_before_is_recalled(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    layout.dot.mkdir()
    keep_typed(layout, REQUEST, "A habit tracker")
    screen = StartScreen(replace(found(), root=tmp_path))
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press("up")
        await until(lambda: screen.query_one(Input).value == "A habit tracker")


def test_the_list_of_files(snap_compare: Compare, screen: StartScreen, tmp_path: Path) -> None:
    for name in ("src/habits.ts", "src/habit_list.ts", "docs/habits.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    screen.root = tmp_path
    look: Callable[[Pilot[StartChoice]], Awaitable[None]] = names_a_file
    assert snap_compare(screen, terminal_size=(80, 24), run_before=look)


async def test_a_repository_can_be_left_out(screen: StartScreen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        assert "runs `git init`" in below(screen)
        await pilot.press("ctrl+g")
        assert "git init" not in below(screen)
        assert "none will be created" in str(screen.query_one("#git").render())
        await pilot.press(*"go", "enter")
    assert screen.return_value == StartChoice("go")


@pytest.mark.parametrize(("keys", "python"), [(("enter",), True), (("ctrl+l", "enter"), False)])
async def test_an_empty_folder_becomes_a_python_project_only_after_a_question(
    keys: tuple[str, ...], python: bool
) -> None:
    screen = StartScreen(replace(found(), offers_python=True))
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"go", "enter")
        assert "Which language?" in below(screen)
        assert screen.is_running
        await pilot.press(*keys)
    assert screen.return_value == StartChoice("go", makes_git=True, makes_python=python)


async def test_a_plan_is_looked_at_before_it_is_imported(screen: StartScreen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press(*"words")
        await previewed(pilot)
        shown = "".join(str(line.render()) for line in screen.screen.query("Static"))
        assert "Mark a habit as done" in shown
        assert "rm -rf /" in shown
        assert "The request you typed will not be sent" in shown
        await pilot.press("ctrl+s", "ctrl+g", "ctrl+t")
        assert isinstance(screen.screen, PlanPreview)
        await pilot.press("escape")
        assert screen.query_one(Input).value == "words"
        await previewed(pilot)
        await pilot.press("enter")
    assert screen.return_value == StartChoice(plan=PREVIEW, makes_git=True)


async def test_a_plan_that_cannot_be_read_is_said_and_the_rest_goes_on() -> None:
    def look() -> ImportPreview:
        raise RalphError("prd.json:3: this is no JSON.", "Repair it.")

    screen = StartScreen(found(look))
    async with screen.run_test(size=(80, 24)) as pilot:
        await pilot.press("ctrl+t")
        await screen.workers.wait_for_complete()
        await pilot.pause()
        assert below(screen) == "prd.json:3: this is no JSON. Repair it."
        await pilot.press(*"go", "enter")
    assert screen.return_value == StartChoice("go", makes_git=True)


async def test_a_plan_without_tasks_is_not_imported() -> None:
    screen = StartScreen(found(lambda: ImportPreview(source="prd.json", format="snarktank")))
    async with screen.run_test(size=(80, 24)) as pilot:
        await previewed(pilot)
        await pilot.press("enter", "ctrl+y")
        assert isinstance(screen.screen, PlanPreview)
        await pilot.press("escape", "escape")
    assert screen.return_value is None


async def test_hostile_names_are_inert() -> None:
    screen = StartScreen(
        StartFacts("/tmp/\x1b[2J[red]x", {"Checks": "[@click=quit]make[/]\x07"}, ())
    )
    async with screen.run_test(size=(80, 24)):
        shown = "".join(str(line.render()) for line in screen.query("Static"))
    assert "[red]x" in shown
    assert "[@click=quit]make[/]" in shown
    assert not {"\x1b", "\x07"} & set(shown)


@pytest.mark.parametrize("size", [(80, 24), (40, 10)])
def test_the_start_screen(
    snap_compare: Compare, screen: StartScreen, size: tuple[int, int]
) -> None:
    assert snap_compare(screen, terminal_size=size)


def test_the_plan_before_it_is_imported(snap_compare: Compare, screen: StartScreen) -> None:
    look: Callable[[Pilot[StartChoice]], Awaitable[None]] = previewed
    assert snap_compare(screen, terminal_size=(80, 24), run_before=look)
