"""Two real processes and one loop: watching it from another terminal, and leaving it to the background."""

import json
import signal
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ralph_tui.engine.control.controls import Controls
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.harness.model import serving_in_process
from tests.harness.projects import event_types, make_project, task
from tests.harness.real_processes import MARK, marked_processes, ralph_environment
from tests.harness.scenarios import scenario, works_forever
from tests.harness.waiting import wait_until
from tests.pty.terminal import Terminal, terminal

pytestmark = pytest.mark.serial


def owner_pid(project: Path) -> int | None:
    owner = LoopLock(Project(project).layout).owner()
    return owner.pid if owner else None


@contextmanager
def owner_running(
    project: Path, environment: dict[str, str]
) -> Iterator["subprocess.Popen[bytes]"]:
    words = [sys.executable, "-m", "ralph_tui", "build", "--headless"]
    process = subprocess.Popen(
        words, cwd=project, env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        wait_until(lambda: "tool_finished" in event_types(project), what="a tool call")
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.mark.long
def test_a_viewer_steers_the_loop_of_another_process_and_outlives_it(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, uuid.uuid4().hex)
        with owner_running(project, environment) as owner:
            first = {**environment, MARK: uuid.uuid4().hex}
            with terminal([], cwd=project, notes=tmp_path, environment=first) as shown:
                steer(shown, project, owner.pid)
                shown.press("q")
                assert shown.exit_status() == 0
                assert shown.left_over() == []
                assert f"The loop continues in process {owner.pid}" in shown.after_screen
            assert owner.poll() is None, "quitting the viewer ends nothing"
            assert owner_pid(project) == owner.pid
            second = {**environment, MARK: uuid.uuid4().hex}
            with terminal(["attach"], cwd=project, notes=tmp_path, environment=second) as shown:
                shown.until_shown(f"attached to process {owner.pid}")
                owner.send_signal(signal.SIGKILL)
                owner.wait()
                shown.until_shown("Disconnected: process")
                shown.press("q")
                assert shown.exit_status() == 0


def steer(shown: Terminal, project: Path, owner: int) -> None:
    """Every request reaches the loop through `.ralph/`, and what it does about it comes back."""
    shown.until_shown(f"attached to process {owner}")
    shown.until_shown("print(1)")  # its calls, from the journal
    shown.press("b")
    shown.until_shown(f"The loop is already running in process {owner}.")
    shown.press("i")
    shown.until_shown("send to the next iteration")
    shown.press("Prefer sqlite.\x13")
    shown.until_shown("Queued for the next iteration.")
    waiting = (project / ".ralph" / "injections.json").read_text().splitlines()
    assert [json.loads(line)["guidance"] for line in waiting] == ["Prefer sqlite."]
    shown.press("p")
    shown.until_shown("pausing")
    shown.press("p")
    shown.until_shown("Paused between iterations")
    assert "loop_paused" in event_types(project)


@pytest.mark.long
def test_the_owner_leaves_its_loop_to_a_process_in_the_background(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")])
    mark = uuid.uuid4().hex
    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path, mark)
        with terminal(["build"], cwd=project, notes=tmp_path, environment=environment) as shown:
            shown.until(lambda: "tool_finished" in event_types(project), "a tool call")
            here = owner_pid(project)
            shown.press("q")
            shown.until_shown("Detach now")
            shown.press("T")
            assert shown.exit_status(60) == 0
            assert shown.left_over() == []
            there = owner_pid(project)
            assert there not in (None, here)
            assert f"The loop continues in background process {there}." in shown.after_screen
            before = event_types(project).count("tool_finished")
            wait_until(
                lambda: event_types(project).count("tool_finished") > before, what="more work"
            )
            assert not psutil.Process(there).terminal(), "it has no terminal to lose"
            Controls(project).stop(now=True)
            wait_until(lambda: owner_pid(project) is None, what="the end of the loop")
            wait_until(lambda: not marked_processes(mark), what="an empty machine")
    assert event_types(project).count("loop_started") == 2
    assert event_types(project)[-1] == "loop_finished"
