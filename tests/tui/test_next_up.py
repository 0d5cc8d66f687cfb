"""Building is offered where a run would do something, and else it is said why not."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path
from threading import Event

import pytest

from ralph_tui.config.settings import Settings
from ralph_tui.domain import events as ev
from ralph_tui.domain.documents.validation_report import ValidationReport
from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.view.loop_view import LoopView
from ralph_tui.domain.view.reducer import reduce
from ralph_tui.engine.control.controls import Controls
from ralph_tui.engine.control.plan_edits import TaskFields
from ralph_tui.engine.run.observer import project_read
from ralph_tui.present.sections.banner import banner_of
from ralph_tui.present.sections.header_lines import Facts, header_lines
from ralph_tui.present.text.glyphs import UNICODE
from ralph_tui.present.text.spans import plain
from ralph_tui.present.text.status_labels import look_of
from ralph_tui.store.project import Project
from ralph_tui.tui.app.app import RalphApp
from ralph_tui.tui.commands.availability import CommandContext, cannot_build
from ralph_tui.tui.commands.registry import DEFAULT_KEYS
from ralph_tui.tui.data.project_files import open_request
from ralph_tui.tui.host.widget_host import TOAST
from tests.harness.projects import make_project, task
from tests.tui import feed
from tests.tui.conftest import drained, screen_text, script_of, until

READY, HELD = Task(id="r"), Task(id="h", held=True)
BLOCKED = Task(id="b", status=TaskStatus.BLOCKED)
WAITS = Task(id="w", dependencies=("b",))
DONE, WORKED = Task(id="d", status=TaskStatus.COMPLETE), Task(id="i", status=TaskStatus.IN_PROGRESS)
ASKED = "Build a thing"


@pytest.mark.parametrize(
    ("tasks", "asked", "phase", "why"),
    [
        ((), "", Phase.BUILDING, "There is no plan to build. Press n"),
        ((BLOCKED, WAITS), "", Phase.BUILDING, "rest are blocked, or depend"),
        ((HELD,), ASKED, Phase.BUILDING, "Select a held task and press enter to release it."),
        ((DONE,), "", Phase.BUILDING, "Every task is complete. Press 4 for changes"),
        ((DONE,), ASKED, Phase.BUILDING, ""),
        ((DONE,), ASKED, Phase.VALIDATION, ""),
        ((), ASKED, Phase.DISCOVERY, ""),
        ((), ASKED, Phase.BUILDING, ""),
        ((BLOCKED,), ASKED, Phase.PLANNING, ""),
        ((DONE,), None, Phase.VALIDATION, ""),
        ((HELD, BLOCKED, READY), "", Phase.BUILDING, ""),
        ((DONE, WORKED), "", Phase.BUILDING, ""),
    ],
)
def test_building_is_offered_where_a_run_would_do_something(
    tasks: tuple[Task, ...], asked: str | None, phase: Phase, why: str
) -> None:
    view = reduce(LoopView(), feed.read().model_copy(update={"phase": phase}))
    view = reduce(view, ev.PlanLoaded(tasks=tasks))
    now = CommandContext(view, DEFAULT_KEYS, running=False, request=asked)
    reason = cannot_build(now)
    assert why in reason
    assert bool(reason) is bool(why)
    assert len(reason) <= TOAST, "it is not cut"


@pytest.mark.parametrize("finished", [False, True])
async def test_a_missing_login_is_said_before_b_and_only_where_something_is_left_to_run(
    *, finished: bool
) -> None:
    script = script_of()
    done = BLOCKED.model_copy(update={"status": TaskStatus.COMPLETE})
    left = done if finished else BLOCKED.model_copy(update={"status": TaskStatus.PENDING})
    script.idle = [
        feed.read().model_copy(update={"finished": finished}), ev.PlanLoaded(tasks=(done, left))
    ]  # fmt: skip
    looked = Event()

    def readiness() -> tuple[ev.Notice, ...]:
        looked.set()
        return (ev.Notice(level="error", text="login: none. Set ANTHROPIC_API_KEY."),)

    app = RalphApp(replace(script.launch, readiness=readiness), autostart=False)
    async with app.run_test(size=(120, 40)) as pilot:
        headline = "Finished" if finished else "Ready to build"
        await until(pilot, lambda: headline in screen_text(app))
        await until(pilot, looked.is_set)
        await until(pilot, lambda: finished or "login: none" in screen_text(app))
        await drained(pilot)
        assert ("login: none" in screen_text(app)) is not finished


def test_what_was_validated_is_not_open_any_more(tmp_path: Path) -> None:
    root = make_project(tmp_path, [task("a", status="complete", completed_at="2026-03-01T12:00Z")])
    project = Project(root)
    project.create()
    state = {"request": ASKED, "current_phase": Phase.VALIDATION}
    project.transact(
        lambda docs: docs.model_copy(update={"state": docs.state.model_copy(update=state)})
    )

    def finished() -> bool:
        return project_read(project, Settings(), project.load()).finished

    assert open_request(root) == ASKED
    assert not finished()
    for made, left in (("2026-03-01T11:00Z", ASKED), ("2026-03-01T13:00Z", "")):
        report = ValidationReport(round=1, created_at=datetime.fromisoformat(made))
        project.write_report(report)
        assert open_request(root) == left
        assert finished() is (left == "")
    Controls(root).add_task(TaskFields("More"))
    assert open_request(root) == ASKED
    assert not finished()


def test_a_project_that_is_finished_looks_so_when_it_is_opened_again() -> None:
    read = feed.read().model_copy(update={"phase": Phase.VALIDATION, "finished": True})
    view = reduce(reduce(LoopView(), read), ev.PlanLoaded(tasks=(DONE,)))
    facts = Facts(view, "", "/home/dev/slug-demo", 0.0, DEFAULT_KEYS, None)
    first = plain(header_lines(facts, 140, UNICODE)[0])
    assert "✓ complete" in first
    assert first.count("✓") == 1 + len(Phase)
    banner = banner_of(view, None, "", glyphs=UNICODE, keys=DEFAULT_KEYS)
    assert banner is not None
    assert banner.headline.startswith("Finished.")
    again = reduce(view, feed.started())
    assert not again.finished
    assert look_of(reduce(view, read.model_copy(update={"finished": False}))).word == "idle"
