"""The pages over the dashboard, driven by keys on a real journal."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from textual._compositor import LayoutUpdate
from textual.command import CommandPalette
from textual.css.stylesheet import Stylesheet
from textual.pilot import Pilot
from textual.screen import Screen

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import IterationOutcome, ToolOutcome
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.project_state import Adjusted, Approval, ApprovalKind
from ralph_tui.domain.run.breaker import BreakerState
from ralph_tui.domain.view.run_history import Iteration
from ralph_tui.engine.control.archiving import archive_plan
from ralph_tui.present.sections.iteration_lines import iteration_blocks
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.key_hints import Keys, key_label
from ralph_tui.present.text.spans import plain
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project
from ralph_tui.tui.commands.registry import PAGE_COMMANDS, PAGES
from ralph_tui.tui.screens.dashboard import Dashboard
from ralph_tui.tui.screens.dialogs.approval import ApprovalDialog
from ralph_tui.tui.screens.dialogs.help import HelpDialog
from ralph_tui.tui.screens.dialogs.preview import UndoDialog
from ralph_tui.tui.screens.dialogs.text_input import ValueDialog
from ralph_tui.tui.screens.dialogs.text_reader import ToolDetail
from ralph_tui.tui.screens.pages.features import FeaturesPage
from ralph_tui.tui.screens.pages.history import HistoryPage
from ralph_tui.tui.screens.pages.iterations import IterationsPage
from ralph_tui.tui.screens.pages.memory import MemoryPage
from ralph_tui.tui.screens.pages.page import Page
from ralph_tui.tui.screens.pages.settings import SettingsPage
from ralph_tui.tui.screens.pages.why import BreakerReasonDialog, WhyPage
from tests.tui import feed, waiting
from tests.tui.conftest import Moment, Open, click_on, ralph, screen_text, toasts, until
from tests.tui.feed import Script
from tests.tui.past import past_project, write_journal

CLASSES: dict[str, type[Page]] = {
    "iterations": IterationsPage,
    "history": HistoryPage,
    "memory": MemoryPage,
    "why": WhyPage,
    "settings": SettingsPage,
    "features": FeaturesPage,
}


@pytest.fixture
def past(tmp_path: Path) -> Script:
    return past_project(tmp_path / "slug-demo")


async def open_page(pilot: Pilot[int], key: str, text: str) -> Page:
    """Press a page's key, and wait until something is on it."""
    app = ralph(pilot)
    await pilot.press(key)
    await until(pilot, lambda: isinstance(app.screen, Page) and text in screen_text(app))
    assert isinstance(app.screen, Page)
    return app.screen


async def see(pilot: Pilot[int], *texts: str) -> None:
    app = ralph(pilot)
    try:
        await until(pilot, lambda: all(text in screen_text(app) for text in texts))
    except AssertionError:
        shown = screen_text(app)
        missing = [text for text in texts if text not in shown]
        pytest.fail(f"not on the screen: {missing}\n{shown}")


# What all pages have.


@pytest.mark.parametrize("name", PAGES)
def test_every_command_of_a_page_has_keys_of_its_own(name: str) -> None:
    commands = PAGE_COMMANDS[name]
    for command in commands:
        assert command.area
        assert command.help.endswith(".")
    keys = [key for command in commands for key in command.keys]
    assert len(keys) == len(set(keys))


UNSEEN = (
    "importlib.metadata",
    "ralph_tui.guard.sandbox.os_sandbox",
    "ralph_tui.engine.phases.build_loop",
)
"""What the first paint has no use for, and which would make it late."""


def test_the_first_paint_imports_no_page_and_nothing_it_does_not_show() -> None:
    code = (
        "import sys\n"
        "from ralph_tui.cli.main import start_lean\n"
        "start_lean()\n"
        "import ralph_tui.tui.app.app, ralph_tui.tui.app.entry, ralph_tui.engine.run.launch_factory\n"
        f"print([m for m in sys.modules if m in {UNSEEN!r} or m.startswith('ralph_tui.tui.screens.')"
        " and m.rpartition('.')[2] in ('page', 'iterations', 'history', 'memory', 'why', 'settings')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_reading_a_project_for_the_screen_imports_nothing_that_runs_it() -> None:
    heavy = ("ralph_tui.engine.context", "ralph_tui.engine.verification.gate")
    code = (
        "import sys, ralph_tui.engine.run.observer\n"
        "import ralph_tui.engine.verification.detection.project_checks\n"
        f"print([m for m in sys.modules if m in {heavy!r}])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


async def test_pages_follow_each_other_and_esc_goes_back_to_the_dashboard(
    open_app: Open, past: Script
) -> None:
    async with open_app(past, autostart=False) as pilot:
        app = ralph(pilot)
        for key, name in zip("456789", PAGES, strict=True):
            await pilot.press(key)
            await until(pilot, lambda n=name: isinstance(app.screen, CLASSES[n]))  # type: ignore[misc]  # the default binds the loop's value
            assert len(app.screen_stack) == 3, "pages do not pile up"
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await open_page(pilot, "7", "Why stopped")
        await pilot.press("1")
        await until(
            pilot, lambda: isinstance(app.screen, Dashboard) and app.dashboard.pane == "tasks"
        )


async def test_nothing_is_drawn_for_what_a_page_hides(
    open_app: Open, past: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = 0

    def count(_: object, update: object) -> None:
        nonlocal whole
        whole += isinstance(update, LayoutUpdate)

    async with open_app(past) as pilot:
        app = ralph(pilot)
        await open_page(pilot, "8", "this run")
        monkeypatch.setattr(app, "_display", count)
        for number in range(20):
            before = app.dashboard.stream.row_count()
            past.news.put_nowait(ev.Notice(text=f"hidden {number}"))
            await until(pilot, lambda n=before: app.dashboard.stream.row_count() > n)  # type: ignore[misc]  # the default binds the loop's value
            await pilot.pause()
        assert whole <= 2, "the page was drawn anew each time"
        monkeypatch.undo()
        await pilot.press("escape")
        await see(pilot, "hidden 19")


@pytest.mark.long
async def test_the_help_and_the_palette_know_the_keys_of_the_page(
    open_app: Open, past: Script
) -> None:
    async with open_app(past, autostart=False, size=(120, 60)) as pilot:
        app = ralph(pilot)
        await open_page(pilot, "4", "every check passed")
        await pilot.press("question_mark")
        await until(pilot, lambda: isinstance(app.screen, HelpDialog))
        flat = " ".join(screen_text(app).replace("│", " ").split())
        for command in PAGE_COMMANDS["iterations"]:
            assert not command.keys or key_label(command.keys[0]) in flat
            assert command.help in flat
        await pilot.press("escape", "ctrl+p")
        await see(pilot, "Iterations: Filter")
        await pilot.press(*"iterations filter")
        await until(pilot, lambda: "Loop: Pause" not in screen_text(app))
        await pilot.press("down", "enter")
        await see(pilot, "only tool calls")


async def test_keys_of_the_dashboard_that_act_on_what_is_hidden_do_nothing(
    open_app: Open, past: Script
) -> None:
    past.first = feed.running()
    async with open_app(past) as pilot:
        app = ralph(pilot)
        await open_page(pilot, "7", "Why this task")
        await pilot.press("s", "t", "d", "plus")
        await pilot.press("p")
        await until(pilot, lambda: past.controls.asked == ["pause"])
        assert isinstance(app.screen, WhyPage)


async def test_a_project_without_a_past_says_so(open_app: Open, tmp_path: Path) -> None:
    script = past_project(tmp_path / "new", [])
    async with open_app(script, autostart=False) as pilot:
        await open_page(pilot, "4", "No iterations yet")
        await open_page(pilot, "5", "No sessions yet")


async def test_a_journal_that_cannot_be_read_is_said(open_app: Open, tmp_path: Path) -> None:
    script = past_project(tmp_path / "odd", [])
    path = Project(script.controls.root).layout.events
    path.unlink()
    path.mkdir()
    async with open_app(script, autostart=False) as pilot:
        await open_page(pilot, "4", "again.")
        await open_page(pilot, "5", "regular")  # whole, however long the path before it
        await open_page(pilot, "7", "The journal cannot be read")


@pytest.mark.long
async def test_hostile_text_stays_text_on_every_page(open_app: Open, tmp_path: Path) -> None:
    evil = "[/red]\x1b[31m[link=file:///]x\x1b]0;gone\x07 \u202eabc"
    events: list[ev.Event] = [
        feed.started(),
        feed.plan(),
        ev.IterationStarted(iteration=1, task_id=evil, title=evil, why=evil),
        ev.ToolStarted(tool_id="e", name="Edit", input={"file_path": evil, "new_string": evil}),
        ev.ToolFinished(tool_id="e", name="Edit", outcome=ToolOutcome.OK, output=evil),
        ev.ToolDenied(tool_id="d", name="Bash", rule=evil, part=evil, reason=evil, instead=evil),
        ev.IterationFinished(
            iteration=1,
            task_id=evil,
            outcome=IterationOutcome.FAILED,
            reason=evil,
            files_changed=(evil,),
        ),
        feed.stopped()[-1].model_copy(update={"reason": evil, "hint": evil}),
    ]
    script = past_project(tmp_path / "evil", events)
    (script.controls.root / "specs" / "evil.md").write_text(f"# {evil}\n\n- [ ] {evil}\n{evil}\n")
    async with open_app(script, autostart=False) as pilot:
        app = ralph(pilot)
        for key, views in (("4", 3), ("5", 2), ("6", 1), ("7", 3), ("8", 3)):
            await pilot.press(key)
            await until(pilot, lambda k=key: isinstance(app.screen, CLASSES[PAGES[int(k) - 4]]))  # type: ignore[misc]  # the default binds the loop's value
            for _ in range(views):
                await until(
                    pilot, lambda: all(w.is_finished for w in app.workers if w.node is app.screen)
                )
                await pilot.pause()
                text = screen_text(app)
                assert "\x1b" not in text
                assert "\u202e" not in text
                await pilot.press("v")


async def test_a_page_is_styled_once_and_no_other_sheet_is_read_again(
    open_app: Open, past: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[object] = []
    styled: list[Screen[object]] = []
    real = Screen.update_classes

    def watched(screen: Screen[object], classes: Mapping[str, bool], **how: bool) -> Screen[object]:
        before = screen.classes
        real(screen, classes, **how)
        if screen.classes != before:
            styled.append(screen)
        return screen

    monkeypatch.setattr(Stylesheet, "reparse", parsed.append)
    async with open_app(past, autostart=False, size=(80, 24)) as pilot:
        monkeypatch.setattr(Screen, "update_classes", watched)
        for key, text in (("5", "pace of the last task"), ("4", "demo-02")):
            page = await open_page(pilot, key, text)
            assert page.has_class("-narrow")
            assert page.bar.size.height == 1
        assert styled == []
        assert parsed == []


# Iterations.


async def test_past_iterations_are_walked_while_the_loop_runs(open_app: Open, past: Script) -> None:
    past.first = feed.running()
    async with open_app(past) as pilot:
        page = await open_page(pilot, "4", "iteration 4")
        assert isinstance(page, IterationsPage)
        await see(pilot, "iterations 2", "every check passed", "✓   4 demo-02")
        await pilot.press("j")
        await see(pilot, "iteration 3 · demo-02 · failed", "the gate refused the claim 3 times")
        await pilot.press("right_square_bracket")
        await see(pilot, "iteration 4 · demo-02 · complete")
        write_journal(
            past.controls.root,
            [
                ev.IterationStarted(iteration=5, task_id="demo-03", title="Keep slugs unique"),
                ev.IterationFinished(
                    iteration=5, task_id="demo-03", outcome=IterationOutcome.COMPLETE
                ),
            ],
        )
        past.news.put_nowait(ev.IterationStarted(iteration=5, task_id="demo-03"))
        await see(pilot, "iterations 3", "✓   5 demo-03", "iteration 4 · demo-02 · complete")


async def test_each_iteration_shows_what_it_changed_and_its_figures(
    open_app: Open, past: Script
) -> None:
    async with open_app(past, autostart=False) as pilot:
        await open_page(pilot, "4", "every check passed")
        await pilot.press("v")
        await see(pilot, "src/slugs.py  +3 -2", '11 -     return title.lower().replace(" ", "-")')
        await see(pilot, "Other files", "tests/test_slugs.py")
        await pilot.press("v")
        await see(pilot, "88.2k of 200k (44 %)", "why       priority 2", "s-1", "denied    1 call")


@pytest.mark.long
async def test_the_transcript_is_sifted_and_searched(open_app: Open, past: Script) -> None:
    async with open_app(past, autostart=False) as pilot:
        app = ralph(pilot)
        page = await open_page(pilot, "4", "every check passed")
        assert isinstance(page, IterationsPage)
        await pilot.press("F", "F")
        await see(pilot, "only problems", "git stash")
        assert "I'll read what is there" not in screen_text(app)
        await pilot.press("F", "F")
        app.keys = Keys({**app.keys.of, "iterations.search": ("f5",)})  # as somebody has it
        await pilot.press("greater_than_sign")
        await until(pilot, lambda: "No matches. Press F5 to search." in toasts(app))
        await pilot.press("tab")  # a search is of what has the keys
        await until(pilot, lambda: page.transcript.has_focus)
        await pilot.press("slash", *"PYTEST")
        await see(pilot, "1 of 3")
        await pilot.press("enter", "greater_than_sign")
        await see(pilot, "2 of 3")
        await pilot.press("less_than_sign", "less_than_sign")
        await see(pilot, "3 of 3")
        assert page.transcript.has_focus
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ToolDetail))
        await pilot.press("escape", "escape")
        await until(pilot, lambda: not page.is_search_open)
        assert app.screen is page


async def test_narrow_goes_from_the_list_to_the_contents_and_back(
    open_app: Open, past: Script
) -> None:
    async with open_app(past, autostart=False, size=(80, 24)) as pilot:
        app = ralph(pilot)
        page = await open_page(pilot, "4", "iterations 2")
        assert "activity" not in screen_text(app)
        await pilot.press("enter")
        await see(pilot, "activity", "iteration 4 · demo-02 · complete")
        await pilot.press("escape")
        await see(pilot, "iterations 2")
        assert app.screen is page
        await pilot.press("v")  # not the view of something behind the list
        await see(pilot, "▶ changes")


# History.


async def test_history_has_sessions_and_metrics(open_app: Open, past: Script) -> None:
    async with open_app(past, autostart=False) as pilot:
        app = ralph(pilot)
        await open_page(pilot, "5", "1 run · 2 iterations · $0.63")
        await see(pilot, "5 tasks left, about 11m 06s and $3.15", "pace of the last task")
        await see(pilot, "started", "58s", "2026-03-02 09:00")
        await pilot.press("v")
        await see(pilot, "Completed tasks", "100 %", "meets the goal")
        await pilot.press("enter")
        await until(pilot, lambda: any("Choose a session first" in t for t in toasts(app)))
        await pilot.press("v", "j", "enter")
        await see(pilot, "iteration 3 · demo-02 · failed")


# Memory.


@pytest.mark.long
async def test_memory_shows_what_the_model_was_given_and_is_searched(
    open_app: Open, past: Script
) -> None:
    async with open_app(past, autostart=False) as pilot:
        app = ralph(pilot)
        page = await open_page(pilot, "6", "Ralph Building Mode")
        assert isinstance(page, MemoryPage)
        assert "Task ID: demo-02" in screen_text(app)
        await pilot.press("e")
        await until(pilot, lambda: any("as sent. Edit" in t for t in toasts(app)))
        await pilot.press("j")
        await see(pilot, "You are Ralph.")
        await pilot.press("j", "j", "j")
        await see(pilot, "titles may hold any Unicode")
        await pilot.press("G", "k")
        await see(pilot, "○ An empty title is an error", "✓ Commas go", "slugify('a, b')")
        await see(pilot, "missing: a section `## Problem Statement` that says", "incomplete")
        assert "**" not in screen_text(app)
        await pilot.press("slash", *"commas", "enter")
        await see(pilot, "1 of 1", "→")
        (past.controls.root / "specs" / "slugs.md").write_text("# Written meanwhile\n")
        page._read()
        await see(pilot, "Written meanwhile", "no matches")


async def test_archived_plans_are_read_and_never_changed(open_app: Open, past: Script) -> None:
    project = Project(past.controls.root)
    done = feed.task(1, TaskStatus.COMPLETE)
    project.transact(lambda docs: docs.replacing(plan=docs.plan.adding([done])))
    name = archive_plan(project, utc_now()).name
    async with open_app(past, autostart=False) as pilot:
        app = ralph(pilot)
        await open_page(pilot, "6", "Ralph Building Mode")
        await pilot.press("G")
        await see(pilot, name, "read-only", "[x] demo-01".replace("[x]", "✓"))
        await pilot.press("e")
        await until(pilot, lambda: any("read-only" in t for t in toasts(app)))


async def test_an_iteration_is_undone_after_a_look(open_app: Open, past: Script) -> None:
    async with open_app(past, autostart=False) as pilot:
        await open_page(pilot, "4", "every check passed")
        await pilot.press("u")
        await until(pilot, lambda: isinstance(ralph(pilot).screen, UndoDialog))
        await pilot.press("ctrl+y")
        await until(pilot, lambda: past.controls.asked[-1].startswith("undo "))
        assert past.controls.asked[0].removeprefix("look at undo ").isdecimal()


def test_what_an_iteration_is_about_stands_whole_in_a_narrow_list() -> None:
    long = Iteration(
        number=4, run_id="r", task_id="b", title="Titles into slugs: lower case, dashes"
    )
    short = long.model_copy(update={"title": "Slugs"})
    for iteration, rows in ((long, 3), (short, 2)):
        _, block = iteration_blocks([iteration], [], 34, UNICODE)
        assert len(block.lines) == len(list(block.lines)) == rows
        text = " ".join(plain(line).strip() for line in block.lines)
        assert text.endswith(iteration.title)


@pytest.mark.parametrize(
    ("task_id", "figures"),
    [("task-001", "$0.06    3.7s"), ("validation", "$0.06 3.7s"), ("a-long-task-id", "$0.06")],
)
def test_the_outcome_of_an_iteration_is_never_cut_for_its_figures(
    task_id: str, figures: str
) -> None:
    done = Iteration(
        number=10,
        run_id="r",
        task_id=task_id,
        outcome=IterationOutcome.COMPLETE,
        cost_usd=0.06,
        seconds=3.7,
        end=1,
    )
    _, block = iteration_blocks([done], [], 38, UNICODE)
    first = plain(block.lines[0])
    assert f"{task_id}  complete " in first
    assert first.rstrip().endswith(f" {figures}")


async def test_an_editor_needs_a_terminal(open_app: Open, past: Script) -> None:
    async with open_app(past, autostart=False) as pilot:
        await open_page(pilot, "6", "Ralph Building Mode")
        await pilot.press("j", "j", "e")
        await until(pilot, lambda: any("cannot be opened here" in t for t in toasts(ralph(pilot))))


# Why.


async def test_why_this_task_and_why_not_yet(open_app: Open, past: Script) -> None:
    past.first = feed.running()
    async with open_app(past) as pilot:
        await open_page(pilot, "7", "Why this task")
        await see(
            pilot,
            "demo-02  Turn titles into slugs",
            "priority 2, the highest of 2 ready",
            "Why blocked (1)",
            "needs an account that only a person can make",
            "demo-03  waits for demo-02, which is in progress",
            "demo-05  waits for demo-03 (after demo-02, which is in progress)",
        )


async def test_why_waiting(open_app: Open, past: Script) -> None:
    past.first = waiting.limited()
    async with open_app(past) as pilot:
        await open_page(pilot, "7", "Why waiting")
        await see(pilot, "resets at 09:43, in 42m 05s", "press w to retry now, x to stop")


async def test_the_breaker_is_shown_with_its_evidence_and_reset_with_a_reason(
    open_app: Open, past: Script
) -> None:
    project = Project(past.controls.root)
    opened = next(e for e in feed.stopped() if isinstance(e, ev.BreakerChanged)).breaker
    project.transact(lambda docs: docs.model_copy(update={"breaker": opened}))
    async with open_app(past, autostart=False) as pilot:
        app = ralph(pilot)
        await open_page(pilot, "7", "Why stopped")
        await pilot.press("v", "v")
        await see(pilot, "✗ open", "mypy failed", "History, newest first", "(3 iterations in a")
        await pilot.press("R")
        await until(pilot, lambda: isinstance(app.screen, BreakerReasonDialog))
        await pilot.press(*"fixed", "ctrl+s")
        await see(pilot, "✓ closed", "Last reset: fixed")
        breaker = project.load().breaker
        assert (breaker.state, breaker.reset_reason) == (BreakerState.CLOSED, "fixed")
        await pilot.press("R")
        await until(pilot, lambda: any("at zero" in t for t in toasts(app)))


def cooling_on_disk(docs: Documents) -> Documents:
    """What the loop wrote before it told that it cools down."""
    told = [e.breaker for e in waiting.cooling() if isinstance(e, ev.BreakerChanged)]
    approval = Approval(kind=ApprovalKind.RECOVERY, summary="failures 3/3")
    state = docs.state.model_copy(update={"approval": approval})
    return docs.model_copy(update={"breaker": told[-1], "state": state})


async def test_a_breaker_that_cools_down_counts_the_seconds_and_is_reset_with_a_reason(
    open_app: Open, past: Script
) -> None:
    root = past.controls.root
    past.first = waiting.cooling()
    Project(root).transact(cooling_on_disk)
    moment = Moment()
    async with open_app(past, clock=moment) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, ApprovalDialog))
        await pilot.pause()
        moment.passes(2)
        app.lifecycle.refresher.tick()
        await pilot.press("escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        await see(pilot, "breaker open", "Retrying once, automatically, in 29m 58s")
        await open_page(pilot, "7", "your approval of one more iteration")
        await see(pilot, "retrying once, automatically, in 29m 58s, at 09:31")
        moment.passes(60)
        app.lifecycle.refresher.tick()
        await see(pilot, "retrying once, automatically, in 28m 58s")
        await pilot.press("v", "v")
        await see(pilot, "✗ open", "cool-down retrying once, automatically, in 28m 58s")
        await click_on(pilot, "R to reset")
        await until(pilot, lambda: isinstance(app.screen, BreakerReasonDialog))
        await pilot.press(*"fixed", "ctrl+s")
        await until(pilot, lambda: any("Closed the breaker: fixed" in t for t in toasts(app)))
        approval = Project(root).load().state.approval
        assert approval is not None
        assert approval.approved, "the loop that asks goes on"


# Settings.


async def test_a_setting_is_changed_in_the_file_and_a_wrong_value_is_said(
    open_app: Open, past: Script
) -> None:
    root = past.controls.root
    async with open_app(past, autostart=False) as pilot:
        app = ralph(pilot)
        page = await open_page(pilot, "8", "iterations of this run")
        await see(pilot, "from default")
        await pilot.press("v", "slash", *"you QUESTIONS disc")
        await see(pilot, "2 of ", "phases.discovery.human_in_loop", "Questions and approval")
        assert "models.primary" not in screen_text(app)
        await pilot.press("backspace", "backspace", *"zz")
        await see(pilot, "0 of ", "No setting matches.")
        await pilot.press("escape")
        await see(pilot, "project.name")
        await pilot.press("v")
        await see(pilot, "dollars in total")
        await pilot.press("g", "enter")
        await until(pilot, lambda: isinstance(app.screen, ValueDialog))
        await pilot.press("backspace", "backspace", "backspace", *"many", "enter")
        await until(pilot, lambda: any("must be a whole number" in t for t in toasts(app)))
        await until(pilot, lambda: app.screen is page)
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(app.screen, ValueDialog))
        await pilot.press("backspace", "backspace", "backspace", *"7", "enter")
        await see(pilot, "from project .ralph/config.yaml:")
        assert load_settings(root, environ={}).phases.building.max_iterations == 7


async def test_limits_of_a_run_are_changed_while_it_goes_on(open_app: Open, past: Script) -> None:
    past.first = feed.running()
    root = past.controls.root
    lock = LoopLock(Project(root).layout)
    lock.acquire("run")
    try:
        async with open_app(past) as pilot:
            app = ralph(pilot)
            await open_page(pilot, "8", "1 started")
            await see(pilot, "$0.19 spent", "applies from the next session")
            await pilot.press("j", "j", "enter")
            await until(pilot, lambda: isinstance(app.screen, ValueDialog))
            await pilot.press("backspace", "backspace", *"12.5", "enter")
            await see(pilot, "changed here; configured: 50")
            assert Project(root).load().state.adjusted == Adjusted(per_session=12.5)
            await pilot.press("j", "enter")
            await until(pilot, lambda: isinstance(app.screen, ValueDialog))
            await pilot.press("x", "enter")
            await until(pilot, lambda: any("is not an amount in dollars" in t for t in toasts(app)))
    finally:
        lock.release()


async def test_a_theme_is_chosen_in_the_settings_and_kept(open_app: Open, past: Script) -> None:
    async with open_app(past, autostart=False) as pilot:
        app = ralph(pilot)
        await open_page(pilot, "8", "iterations of this run")
        await pilot.press("v", "slash", *"screen.theme", "enter", "j", "enter")
        await until(pilot, lambda: isinstance(app.screen, CommandPalette))
        await pilot.press(*"ralph-light")
        await until(pilot, lambda: "ralph-light" in screen_text(app))
        await pilot.press("down", "enter")
        await until(pilot, lambda: any("Saved the theme" in t for t in toasts(app)))
        await pilot.press("v", "escape")
        await until(pilot, lambda: isinstance(app.screen, Dashboard))
        assert app.theme == "ralph-light"
        assert load_settings(past.controls.root, environ={}).screen.theme == "ralph-light"


async def test_contents_that_come_after_the_keys_have_a_cursor(
    open_app: Open, past: Script
) -> None:
    async with open_app(past, autostart=False, size=(80, 24)) as pilot:
        page = await open_page(pilot, "4", "iterations 2")
        assert isinstance(page, IterationsPage)
        await pilot.press("enter")
        await until(pilot, lambda: page.transcript.has_focus)
        page.transcript.restart(page.transcript.timeline)
        assert page.transcript.cursor is not None
        await pilot.press("enter")
        await until(pilot, lambda: isinstance(ralph(pilot).screen, ToolDetail))
