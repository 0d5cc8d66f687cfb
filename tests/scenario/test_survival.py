"""Nothing of ours outlives ralph, however it ends; and the next run picks up where it ended."""

import contextlib
import os
import signal
import sys
from pathlib import Path

import pexpect
import psutil
import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving_in_process
from tests.harness.projects import event_types, events_of, make_project, task, task_of
from tests.harness.real_processes import (
    marked_processes,
    ralph_environment,
    ralph_running,
    run_ralph,
)
from tests.harness.scenarios import finishes, scenario, works_forever
from tests.harness.waiting import until
from tests.scenario.running import WAITS_FOR_GO, let_go
from tests.scenario.test_trouble import leaves_a_stray, sleeping


def busy_with_a_stray() -> str:
    return leaves_a_stray("a")


@pytest.mark.long
async def test_kill_9_of_ralph_leaves_no_process_and_loses_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    with serving_in_process(scenario(busy_with_a_stray()), tmp_path) as server:
        async with ralph_running(["build", "--headless"], project, server) as ralph:
            await until(lambda: sleeping(project), what="the detached sleep")
            assert ralph.process.pid in {p.pid for p in marked_processes(ralph.mark)}
            os.kill(ralph.process.pid, signal.SIGKILL)
            await ralph.process.wait()
            await until(lambda: not marked_processes(ralph.mark), what="an empty machine")
            assert not sleeping(project)
    assert task_of(project, "a").status is TaskStatus.IN_PROGRESS
    spent = [e.costs.total for e in events_of(project) if isinstance(e, ev.UsageReported)]
    with serving_in_process(scenario(finishes("a")), tmp_path) as server:
        ran = await run_ralph(["build", "--headless"], project, server)
    assert ran.status == 0, ran.stdout + ran.stderr
    notices = [e.text for e in events_of(project) if isinstance(e, ev.Notice)]
    assert any("Requeued after a run" in text and "a" in text for text in notices)
    starts = [e for e in events_of(project) if isinstance(e, ev.LoopStarted)]
    assert starts[1].costs.total >= max(spent, default=0.0) - 0.05, "the money spent is remembered"
    seqs = [e.seq for e in events_of(project)]
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.long
async def test_a_cli_that_is_killed_during_a_claim_leaves_no_traceback(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], [WAITS_FOR_GO])
    with serving_in_process(scenario(finishes("a")), tmp_path) as server:
        async with ralph_running(["build", "--headless"], project, server) as ralph:
            await until(lambda: "gate_started" in event_types(project), what="the claim")
            for child in psutil.Process(ralph.process.pid).children():
                with contextlib.suppress(psutil.NoSuchProcess):
                    if child.name() == "claude":
                        child.kill()
            let_go(project)
            ran = await ralph.finished()
    assert (ran.status, ran.stderr) == (0, "")


@pytest.mark.long
async def test_ctrl_c_once_finishes_the_iteration_twice_stops_now(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    with serving_in_process(scenario(works_forever("a")), tmp_path) as server:
        async with ralph_running(["build", "--headless"], project, server) as ralph:
            await until(lambda: "tool_finished" in event_types(project), what="a tool call")
            os.kill(ralph.process.pid, signal.SIGINT)
            await until(lambda: "stop_requested" in event_types(project), what="the request")
            assert psutil.pid_exists(ralph.process.pid)
            os.kill(ralph.process.pid, signal.SIGINT)
            ran = await ralph.finished()
    assert ran.status == 130
    asked = [e.now for e in events_of(project) if isinstance(e, ev.StopRequested)]
    assert asked == [False, True]
    assert "Traceback" not in ran.stderr


@pytest.mark.long
async def test_ctrl_c_in_a_terminal_does_not_reach_the_cli(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], [WAITS_FOR_GO])
    with serving_in_process(scenario(finishes("a")), tmp_path) as server:
        environment = ralph_environment(server, tmp_path)
        terminal = pexpect.spawn(
            sys.executable,
            ["-m", "ralph_tui", "build", "--headless"],
            cwd=str(project),
            env=environment,
            timeout=60,
        )
        await until(lambda: "gate_started" in event_types(project), what="the claim")
        terminal.sendintr()
        await until(lambda: "stop_requested" in event_types(project), what="the request")
        let_go(project)
        terminal.expect(pexpect.EOF)
        terminal.close()
    assert task_of(project, "a").status is TaskStatus.COMPLETE, "the iteration was finished"
    assert "agent_failed" not in event_types(project)


@pytest.mark.long
async def test_a_suspended_run_has_no_second_beside_it_and_goes_on(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], [WAITS_FOR_GO])
    with serving_in_process(scenario(finishes("a")), tmp_path) as server:
        async with ralph_running(["build", "--headless"], project, server) as ralph:
            await until(lambda: "gate_started" in event_types(project), what="the claim")
            os.kill(ralph.process.pid, signal.SIGSTOP)
            second = await run_ralph(["build", "--headless"], project, server)
            status = await run_ralph(["status"], project)
            before = events_of(project)
            let_go(project)
            os.kill(ralph.process.pid, signal.SIGCONT)
            ran = await ralph.finished()
    assert second.status == 3
    assert f"is already running (pid {ralph.process.pid}, started " in second.stderr
    assert status.status == 0, "who looks is not kept waiting"
    assert ran.status == 0, ran.stdout[-800:]
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    events = events_of(project)
    assert events[: len(before)] == before
    assert [e.seq for e in events] == list(range(1, len(events) + 1))
