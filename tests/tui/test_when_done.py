"""A finished project offers what can be done with it: to look at what was built, or to ask for more."""

from pathlib import Path

from textual.widgets import TextArea

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.tui.screens.dialogs.text_input import RequestDialog
from tests.tui import feed
from tests.tui.conftest import Open, ralph, screen_text, script_of, toasts, until


async def test_a_finished_project_offers_what_was_built_and_the_next_request(
    open_app: Open,
) -> None:
    script = script_of(feed.complete())
    script.takes_requests = True
    async with open_app(script, size=(60, 20)) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: not app.bridge.running and app.request is not None)
        await until(pilot, lambda: "new request" in screen_text(app).splitlines()[-1])
        foot = screen_text(app).splitlines()[-1]
        assert "n new request  4 iterations" in foot
        assert "build" not in foot
        assert "skip" not in foot
        said = " ".join(screen_text(app).replace("│", " ").split())
        assert "Press 4 for changes, 6 for the report, 5 for costs" in said
        costs, limits = app.view.costs, app.view.limits
        assert limits.per_session != limits.per_iteration
        assert f"cost ${costs.session:.2f}/${limits.per_session:.0f}" in said, "of this run"
        await pilot.press("b")
        await until(pilot, lambda: any("Every task is complete." in text for text in toasts(app)))


async def test_as_long_as_something_is_left_the_foot_offers_to_build_it(open_app: Open) -> None:
    async with open_app(script_of(), size=(80, 24), autostart=False) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: app.view.is_known)
        await until(pilot, lambda: "b build" in screen_text(app).splitlines()[-1])


async def test_a_project_without_a_plan_offers_to_say_what_to_build(open_app: Open) -> None:
    script = script_of()
    script.takes_requests, script.idle = True, [feed.read(), ev.PlanLoaded(tasks=())]
    async with open_app(script, size=(80, 24), autostart=False) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, RequestDialog))
        await pilot.press("escape")
        await until(pilot, lambda: screen_text(app).splitlines()[-1].startswith("  n new request"))
        shown = screen_text(app).splitlines()
        assert "skip" not in shown[-1]
        assert "building" not in shown[0], "nothing was begun"
        await pilot.resize_terminal(120, 40)
        await until(pilot, lambda: "discovery" in screen_text(app).splitlines()[0])
        assert "✓" not in screen_text(app).splitlines()[0]


async def test_no_dialog_covers_the_reason_of_a_run_that_failed_before_there_was_a_plan(
    open_app: Open, tmp_path: Path
) -> None:
    failed = ev.LoopFinished(status=LoopStatus.ERROR, reason="There is no login.", exit_code=1)
    script = feed.Script(tmp_path, [failed])
    script.takes_requests, script.idle = True, [feed.read(), ev.PlanLoaded(tasks=())]
    async with open_app(script, size=(80, 24), autostart=False) as pilot:
        app = ralph(pilot)
        await until(pilot, lambda: isinstance(app.screen, RequestDialog))
        await pilot.press(*"A habit tracker", "ctrl+s")
        await until(pilot, lambda: script.requests == ["A habit tracker"])
        await until(pilot, lambda: screen_text(app).splitlines()[-1].startswith("  n new request"))
        assert "There is no login." in screen_text(app)
        await pilot.press("n")
        await until(pilot, lambda: isinstance(app.screen, RequestDialog))
        assert app.screen.query_one(TextArea).text == "A habit tracker", "it is not typed again"
        await pilot.press("ctrl+s")
        await until(pilot, lambda: script.requests == ["A habit tracker"] * 2)
