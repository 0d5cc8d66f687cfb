"""The full-screen app on a real terminal: opened, watched, left; and the terminal given back."""

import signal
import uuid
from pathlib import Path

import pytest

from ralph_tui.domain.plan import TaskStatus
from tests.harness.model import serving_in_process
from tests.harness.processes import marked_processes, ralph_environment
from tests.harness.projects import event_types, make_project, plan_of, task, task_of
from tests.harness.scenarios import finishes, scenario, works_forever
from tests.harness.waiting import wait_until
from tests.pty.terminal import app_process, terminal

pytestmark = [pytest.mark.pty, pytest.mark.real_cli]


def test_the_demo_plays_to_its_end_and_gives_the_terminal_back(tmp_path: Path) -> None:
    project = tmp_path / "demo"
    mark = uuid.uuid4().hex
    environment = ralph_environment(None, tmp_path, mark)
    args = ["demo", "--speed", "1000", "--keep-at", str(project)]
    with terminal(args, cwd=tmp_path, notes=tmp_path, environment=environment) as shown:
        shown.until_shown("demo-01")
        shown.until(lambda: done(project) > 0, "the first complete task")
        shown.until(lambda: done(project) == 5, "all tasks complete", 90)
        shown.until_shown("all 5 tasks are complete")
        shown.press("q")
        assert shown.exit_status() == 0
        assert shown.left_over() == []
        assert shown.after_screen == "", "something was said on stderr"
        assert marked_processes(mark) == []
    assert event_types(project)[-1] == "loop_finished"


def test_a_small_terminal_shows_a_plan_being_finished(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    mark = uuid.uuid4().hex
    with serving_in_process(scenario(finishes("a"), finishes("b")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, mark)
        with terminal(
            ["build"], cwd=project, notes=tmp_path, environment=environment, size=(80, 24)
        ) as shown:
            shown.until(lambda: done(project) == 2, "both tasks complete")
            shown.until_shown("all 2 tasks are complete")
            assert max(len(line) for line in shown.text.splitlines()) <= 80
            shown.press("q")
            assert shown.exit_status() == 0
            assert shown.left_over() == []
            assert shown.after_screen == ""
            assert marked_processes(mark) == []


def test_q_while_it_runs_asks_then_stops_and_leaves_nothing_behind(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    mark = uuid.uuid4().hex
    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, mark)
        with terminal(["build"], cwd=project, notes=tmp_path, environment=environment) as shown:
            shown.until(lambda: "tool_finished" in event_types(project), "a tool call")
            shown.press("q")
            shown.until_shown("Keep running")
            assert task_of(project, "a").status is TaskStatus.IN_PROGRESS, "asking stops nothing"
            shown.press("s")
            assert shown.exit_status() == 130
            assert shown.left_over() == []
            assert shown.after_screen == ""
            assert marked_processes(mark) == []
    assert task_of(project, "a").status is TaskStatus.PENDING
    assert event_types(project)[-1] == "loop_finished"


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_ends_the_loop_and_gives_the_terminal_back(
    tmp_path: Path, sent: signal.Signals
) -> None:
    project = make_project(tmp_path, [task("a")])
    mark = uuid.uuid4().hex
    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, mark)
        with terminal(["build"], cwd=project, notes=tmp_path, environment=environment) as shown:
            shown.until(lambda: "tool_finished" in event_types(project), "a tool call")
            app_process(mark).send_signal(sent)
            status = shown.exit_status()
            assert shown.left_over() == []
            wait_until(lambda: not marked_processes(mark), what="an empty machine")
            assert status == 130
    assert task_of(project, "a").status is TaskStatus.PENDING
    assert event_types(project)[-1] == "loop_finished"


def done(project: Path) -> int:
    """Complete tasks on disk."""
    plan = project / ".ralph" / "implementation_plan.json"
    return plan_of(project).counts()[TaskStatus.COMPLETE] if plan.exists() else 0
