"""The features page: another feature is chosen, another one made, and the screen turns to it."""

from pathlib import Path

from ralph_tui.config.settings import Settings
from ralph_tui.engine.control.feature_control import choose_feature, make_feature
from ralph_tui.engine.core.ports import Agent
from ralph_tui.engine.core.services import RunServices
from ralph_tui.engine.run.launch_factory import make_launch
from ralph_tui.store.archive import read_archives
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.feature_folders import Features
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.screens.pages.page import Page
from tests.cli.test_feature import worked
from tests.harness.projects import make_project, task
from tests.tui.conftest import screen_text, until


def no_agent() -> Agent:
    raise AssertionError("nothing runs here")


def app_on(root: Path) -> RalphApp:
    return RalphApp(make_launch(root, RunServices(no_agent, Settings())))


async def test_choosing_and_making_a_feature_turns_the_screen_to_it(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("root-task")])
    make_feature(root, "login")
    worked(root, "", "root-task", "root-task")
    worked(root, "login", "login-task")
    choose_feature(root, "")
    app = app_on(root)
    async with app.run_test(size=(120, 40)) as pilot:
        await until(pilot, lambda: "root-task" in app.view.tasks)
        await pilot.press("9")
        await until(pilot, lambda: "feature/login" in screen_text(app))
        await pilot.press("j", "enter")
        await until(pilot, lambda: app.view.feature == "login")
        await until(pilot, lambda: not app.view.tasks)  # the other plan is gone from the screen
        assert layout_of(root).feature == "login"
        await pilot.press("4")
        await until(
            pilot, lambda: all(t in screen_text(app) for t in ("iterations 1", "login-task"))
        )
        assert "root-task" not in screen_text(app), "and of no other"
        await pilot.press("9")
        await until(pilot, lambda: "feature/login" in screen_text(app))
        app.launch.controls.inject("to login")
        assert len(Project(root, "login").load().pending) == 1

        plan = Project(root, "").load().plan
        Project(root, "login").transact(lambda docs: docs.replacing(plan=plan))
        await pilot.press("z")
        await until(pilot, lambda: bool(read_archives(Layout(root))[0]))
        assert read_archives(Layout(root))[0][0].feature == "login"

        await pilot.press("A")
        await until(pilot, lambda: "New feature" in screen_text(app))
        await pilot.press(*"search", "enter")
        await until(pilot, lambda: app.view.feature == "search")
        assert Features(root).names == ("login", "search")
        await until(pilot, lambda: isinstance(app.screen, Page))
        await pilot.press("escape")
        shown = ("\N{BLACK RIGHT-POINTING SMALL TRIANGLE} search", "What should Ralph build?")
        await until(pilot, lambda: any(t in screen_text(app) for t in shown))


async def test_what_cannot_be_chosen_is_said(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("a")])
    make_feature(root, "login")
    plan = Project(root, "").load().plan
    Project(root, "login").transact(lambda docs: docs.replacing(plan=plan))
    app = app_on(root)
    async with app.run_test(size=(120, 40), notifications=True) as pilot:
        await until(pilot, lambda: app.view.feature == "login")
        await pilot.press("9")
        await until(pilot, lambda: "feature/login" in screen_text(app))
        lock = LoopLock(Layout(root, "login"))
        lock.acquire("elsewhere")
        try:
            await pilot.press("k", "enter")
            await until(
                pilot,
                lambda: any(
                    "A loop is running on `login`" in n.message for n in app._notifications
                ),
            )
        finally:
            lock.release()
        await pilot.press("A")
        await until(pilot, lambda: "New feature" in screen_text(app))
        await pilot.press(*"No", "enter")
        await until(
            pilot,
            lambda: any("is not a valid feature name" in n.message for n in app._notifications),
        )
        assert Features(root).names == ("login",)
