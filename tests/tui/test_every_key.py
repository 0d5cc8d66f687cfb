"""Every default key of every command, pressed on a screen where it works, and what comes of it.

A command without a row fails, and so does a key that does nothing where its row says it works.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from textual.pilot import Pilot
from textual.screen import Screen

from ralph_tui.config.load import load_settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.engine.control.feature_control import choose_feature, make_feature
from ralph_tui.engine.run.plan_import import PlanImport
from ralph_tui.store.project import Project
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.commands.command import Command
from ralph_tui.tui.commands.registry import COMMANDS, EVERY, PAGE_COMMANDS, name_of
from ralph_tui.tui.handlers.plan import ImportFileDialog
from ralph_tui.tui.screens.dialogs.command_palette import Palette
from ralph_tui.tui.screens.dialogs.confirm import Confirm, TaskMenu
from ralph_tui.tui.screens.dialogs.edit_task import AddTask, EditTask
from ralph_tui.tui.screens.dialogs.help import HelpDialog
from ralph_tui.tui.screens.dialogs.plan_review import PlanReview
from ralph_tui.tui.screens.dialogs.preview import UndoDialog
from ralph_tui.tui.screens.dialogs.question import QuestionDialog
from ralph_tui.tui.screens.dialogs.text_input import (
    GuidanceDialog,
    ReplanDialog,
    RequestDialog,
    SplitTask,
    ValueDialog,
)
from ralph_tui.tui.screens.pages.features import FeaturesPage
from ralph_tui.tui.screens.pages.history import HistoryPage
from ralph_tui.tui.screens.pages.iterations import IterationsPage
from ralph_tui.tui.screens.pages.memory import MemoryPage
from ralph_tui.tui.screens.pages.settings import SettingsPage
from ralph_tui.tui.screens.pages.why import BreakerReasonDialog, WhyPage
from tests.tui import feed, waiting
from tests.tui.conftest import SIZE, Moment, drained, ralph, screen_text, toasts, until
from tests.tui.feed import Script
from tests.tui.past import past_project

BY_NAME = {name_of(command): command for command in EVERY}


@dataclass(frozen=True, slots=True)
class Seen:
    """What a person sees, and what reached the loop since the key was pressed."""

    app: RalphApp
    script: Script
    before: str = ""
    """The screen before the key."""

    @property
    def text(self) -> str:
        return screen_text(self.app)


Effect = Callable[[Seen], bool]


@dataclass(frozen=True, slots=True)
class Row:
    """One command: what its keys do."""

    name: str
    does: Effect
    first: Sequence[str] = ()
    keys: Sequence[str] = ()
    typed: str = ""
    then: Sequence[str] = ()
    brings: Sequence[ev.Event] = ()


def opens(kind: type) -> Effect:
    return lambda seen: type(seen.app.screen) is kind


def asks(*words: str) -> Effect:
    return lambda seen: seen.script.controls.asked == [*words]


def copies(text: str) -> Effect:
    return lambda seen: text in seen.app.clipboard


def shows(text: str) -> Effect:
    return lambda seen: text in seen.text


def hides(text: str) -> Effect:
    return lambda seen: text not in seen.text


def says(text: str) -> Effect:
    return lambda seen: any(text in toast for toast in toasts(seen.app))


def both(one: Effect, other: Effect) -> Effect:
    return lambda seen: one(seen) and other(seen)


def goes_on(step: int) -> Effect:
    """The search goes to the match after or before, round the end."""

    def does(seen: Seen) -> bool:
        at, of = _match(seen.before)
        return _match(seen.text) == ((at - 1 + step) % of + 1, of)

    return does


def _match(text: str) -> tuple[int, int]:
    found = re.search(r" (\d+) of (\d+)$", text, re.MULTILINE)
    assert found, text
    return int(found[1]), int(found[2])


def stands_in(pane: str) -> Effect:
    return lambda seen: seen.app.screen is seen.app.dashboard and seen.app.dashboard.pane == pane


DURING_A_RUN = (
    Row("pause", asks("pause")),
    Row("stop", opens(Confirm)),
    Row("inject", opens(GuidanceDialog)),
    Row("edit", opens(EditTask), first=("1",)),
    Row("add", opens(AddTask)),
    Row("sooner", asks("move demo-02: -1"), first=("1",)),
    Row("later", asks("move demo-02: +1"), first=("1",)),
    Row("plan", opens(PlanReview)),
    Row("search", shows("enter confirm"), then=("escape",)),
    Row("sift", says("Activity filter:"), first=("2",)),
    Row("zoom", hides("─ tasks ─"), first=("2",), then=("M",)),
    Row("follow", lambda seen: seen.app.dashboard.stream.following, first=("2", "g")),
    Row("copy", copies("demo-02"), first=("1",)),
    Row("share", both(copies("demo-06"), says("Saved: .ralph/exports")), first=("1",)),
    Row("tasks", stands_in("tasks"), first=("2",)),
    Row("activity", stands_in("activity"), first=("1",)),
    Row("status", stands_in("status"), first=("1",)),
    Row("next_pane", stands_in("activity"), first=("1",)),
    Row("previous_pane", stands_in("tasks"), first=("2",)),
    Row("detail", opens(TaskMenu), first=("1",)),
    Row("fold", hides("waits for demo-02"), first=("1", "j", "j"), then=("Z",)),
    Row("skip", opens(Confirm), first=("1", "g"), keys=("s",)),
    Row("hold", asks("hold demo-02"), first=("1", "g"), keys=("h",)),
    Row("model", opens(ValueDialog), first=("1", "g"), keys=("m",)),
    Row("split", opens(SplitTask), first=("1", "g"), keys=("S",)),
    Row("drop", opens(Confirm), first=("1", "g"), keys=("D",)),
    Row("retry", asks("retry demo-06"), first=("1", "G", "k"), keys=("t",)),
    Row("iterations", opens(IterationsPage)),
    Row("history", opens(HistoryPage)),
    Row("memory", opens(MemoryPage)),
    Row("why", opens(WhyPage)),
    Row("settings", opens(SettingsPage)),
    Row("features", opens(FeaturesPage)),
    Row("help", opens(HelpDialog)),
    Row("palette", opens(Palette)),
    Row("quit", opens(Confirm)),
    Row("screenshot", says("Saved: .ralph/exports/screen"), keys=("enter",)),
    Row("resume", asks("resume"), keys=("enter",), brings=(ev.PauseRequested(), ev.LoopPaused())),
    Row("pause", asks("resume")),
)

BEFORE_A_RUN = (
    Row("request", opens(RequestDialog)),
    Row("import_plan", opens(ImportFileDialog)),
    Row("replan", opens(ReplanDialog), keys=("enter",)),
    Row("undo", opens(UndoDialog), first=("1", "G")),
    Row("build", lambda seen: seen.script.runs > 0),
)

WAITING = (
    Row("hurry", asks("retry now")),
    Row(
        "answer",
        opens(QuestionDialog),
        brings=(ev.QuestionAsked(question=waiting.asked(waiting.LANGUAGE)),),
    ),
)


def shared(page: str, word: str, copied: str) -> tuple[Row, ...]:
    """The commands that every page has, on one where `word` is found twice at least."""
    found = ("slash", *word, "enter")
    return (
        Row(f"{page}.search", shows("enter confirm"), then=("escape",)),
        Row(f"{page}.next_match", goes_on(1), first=found, then=("escape",)),
        Row(f"{page}.previous_match", goes_on(-1), first=found, then=("escape",)),
        Row(f"{page}.copy", copies(copied)),
        Row(f"{page}.share", both(copies(copied), says("Saved: .ralph/exports"))),
    )


ON_PAGES: dict[str, tuple[str, str, tuple[Row, ...]]] = {
    "iterations": (
        "4",
        "every check passed",
        (
            Row("iterations.look", shows("src/slugs.py  +3 -2"), then=("v", "v")),
            Row("iterations.older", shows("iteration 3 ·")),
            Row("iterations.newer", shows("iteration 4 ·")),
            Row("iterations.undo", opens(UndoDialog)),
            *shared("iterations", "demo", "demo-02"),
            Row("iterations.filter", shows("only tool calls"), then=("F", "F", "F")),
            Row(
                "iterations.open",
                lambda seen: (
                    isinstance(page := seen.app.screen, IterationsPage)
                    and page.transcript.has_focus
                ),
            ),
        ),
    ),
    "history": (
        "5",
        "2 iterations",
        (
            *shared("history", "demo", "demo-02"),
            Row("history.look", shows("Completed tasks")),
            Row("history.look", shows("run of")),
            Row("history.open", opens(IterationsPage)),
        ),
    ),
    "memory": (
        "6",
        "Ralph Building Mode",
        (
            *shared("memory", "a", "Ralph Building Mode"),
            Row("memory.edit", says("as sent. Edit")),
            Row(
                "memory.open",
                lambda seen: (
                    isinstance(page := seen.app.screen, MemoryPage) and page.contents().has_focus
                ),
            ),
        ),
    ),
    "why": (
        "7",
        "Why stopped",
        (
            *shared("why", "demo", "Why stopped"),
            Row("why.look", shows("2 denials")),
            Row("why.reset_breaker", opens(BreakerReasonDialog)),
        ),
    ),
    "settings": (
        "8",
        "iterations of this run",
        (
            *shared("settings", "o", "iterations"),
            Row("settings.look", shows("project.name")),
            Row("settings.open", opens(ValueDialog)),
        ),
    ),
    "features": (
        "9",
        "greeter",
        (
            *shared("features", "e", "greeter"),
            Row("features.archive", says("Archived"), first=("g",)),
            Row("features.new", opens(ValueDialog)),
            Row("features.choose", says("greeter"), first=("j",)),
        ),
    ),
}


def test_every_command_has_a_row() -> None:
    rows = [*DURING_A_RUN, *BEFORE_A_RUN, *WAITING]
    rows += [row for _, _, own in ON_PAGES.values() for row in own]
    assert {row.name for row in rows} == set(BY_NAME)


def test_the_task_menu_offers_each_command_by_its_letter() -> None:
    for row in DURING_A_RUN:
        if BY_NAME[row.name].within == "detail":
            assert row.keys == (BY_NAME[row.name].letter,)


@pytest.mark.costly
async def test_the_keys_while_the_loop_runs(tmp_path: Path) -> None:
    await walk(past(tmp_path, feed.running()), DURING_A_RUN)


async def test_the_keys_before_a_run(tmp_path: Path) -> None:
    script = past(tmp_path)
    script.takes_requests = script.can_replan = True
    await walk(script, BEFORE_A_RUN)


async def test_the_keys_while_the_loop_waits(tmp_path: Path) -> None:
    await walk(past(tmp_path, waiting.limited()), WAITING)


@pytest.mark.parametrize("page", ON_PAGES)
async def test_the_keys_of_a_page(page: str, tmp_path: Path) -> None:
    key, text, rows = ON_PAGES[page]
    script = past(tmp_path)
    if page == "features":
        make_feature(script.controls.root, "greeter")
        choose_feature(script.controls.root, "")
    await walk(script, rows, key, text)


def past(tmp_path: Path, run: Sequence[ev.Event] = ()) -> Script:
    """A project with a journal, a plan and an open breaker; `run` is what its loop tells."""
    script = past_project(tmp_path / "slug-demo")
    root = script.controls.root
    opened = next(e for e in feed.stopped() if isinstance(e, ev.BreakerChanged)).breaker
    plan = ImplementationPlan(tasks=feed.TASKS)
    Project(root).transact(
        lambda docs: docs.replacing(plan=plan).model_copy(update={"breaker": opened})
    )
    script.first = [*run]
    return script


async def walk(script: Script, rows: Iterable[Row], key: str = "", text: str = "") -> None:
    """Open the app, and the page with this key, and press the keys of the rows."""
    moment, controls = Moment(), script.controls
    launch = replace(
        script.launch,
        importer=lambda: PlanImport(controls, load_settings(controls.root), base=controls.root),
    )
    app = RalphApp(launch, autostart=bool(script.first), clock=moment)
    async with app.run_test(size=SIZE, notifications=True) as pilot:
        await until(pilot, lambda: bool(script.runs if script.first else script.watches))
        await drained(pilot)
        if key:
            await pilot.press(key)
            await until(pilot, lambda: app.screen is not app.dashboard and text in screen_text(app))
        await press_all(pilot, script, rows, moment)


async def press_all(pilot: Pilot[int], script: Script, rows: Iterable[Row], moment: Moment) -> None:
    """Press every key of these rows, and look at what each did."""
    app = ralph(pilot)
    base = app.screen
    for row in rows:
        for event in row.brings:
            script.news.put_nowait(event)
        await until(pilot, lambda: not script.news.qsize())
        await drained(pilot)
        await back_to(pilot, base, moment)
        command = BY_NAME[row.name]
        for key in row.keys or command.keys or ("enter",):
            await go_there(pilot, row, command)
            script.controls.asked.clear()
            app.clear_notifications()
            app._clipboard = ""
            seen = Seen(app, script, screen_text(app))
            assert not row.does(seen), f"{row.name}: so it is before {key}\n{seen.text}"
            await pilot.press(key)
            await effect(pilot, row, key, seen)
            await pilot.press(*row.then)
            await back_to(pilot, base, moment)


async def go_there(pilot: Pilot[int], row: Row, command: Command) -> None:
    """Press what comes before the key: a pane, a search, or what opens the menu."""
    app = ralph(pilot)
    base = app.screen
    await pilot.press(*row.first)
    if command.within:
        opener = next(
            other
            for other in (*PAGE_COMMANDS.get(command.area.lower(), ()), *COMMANDS)
            if other.name == command.within
        )
        await pilot.press(opener.keys[0])
        await until(pilot, lambda: app.screen is not base)
        await pilot.press(*row.typed)
    if command.within == "palette":
        await pilot.press(*("space" if sign == " " else sign for sign in command.title.lower()))
        others = [c for c in COMMANDS if c is not command and c.name != "palette"]
        await until(
            pilot,
            lambda: (
                command.title in screen_text(app)
                and not any(f": {c.title}" in screen_text(app) for c in others)
            ),
        )
        await pilot.press("down")


async def effect(pilot: Pilot[int], row: Row, key: str, seen: Seen) -> None:
    try:
        await until(pilot, lambda: row.does(seen))
    except AssertionError as error:
        pytest.fail(f"{key} did not do `{row.name}`; it said {toasts(seen.app)}: {error}")


async def back_to(pilot: Pilot[int], base: Screen[object], moment: Moment) -> None:
    app = pilot.app
    while app.screen is not base and base in app.screen_stack:
        above = app.screen
        await pilot.pause()
        moment.passes(2)  # a dialog that opens by itself takes no key at once
        await pilot.press("escape")
        await until(pilot, lambda top=above: app.screen is not top)  # type: ignore[misc]  # the default binds the loop's value
