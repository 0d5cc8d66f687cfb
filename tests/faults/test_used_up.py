"""Line 47: somebody uses up memory or file descriptors; ralph survives, or its run ends in order."""

import os
import resource
from itertools import count
from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.verification.check_command import run_command
from tests.harness.model import serving
from tests.harness.projects import event_types, make_project, plan_of, task
from tests.harness.real_processes import marked_processes, ralph_running, run_ralph
from tests.harness.scenarios import finishes, scenario
from tests.harness.waiting import until
from tests.scenario.running import WAITS_FOR_GO, let_go

GREEDY = {
    "memory": ("ulimit -v 400000; python3 -c 'x = bytearray(2 * 10**9)'", "MemoryError"),
    "descriptors": (
        "ulimit -n 64; python3 -c 'x = [open(\"/dev/null\") for _ in range(100)]'",
        "Too many open files",
    ),
}


@pytest.mark.parametrize("name", GREEDY)
async def test_a_program_that_takes_too_much_takes_only_itself_down(
    tmp_path: Path, name: str
) -> None:
    before = [resource.getrlimit(kind) for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE)]
    command, told = GREEDY[name]
    result = await run_command(
        f"{command}; echo status $?", cwd=tmp_path, environment=os.environ, limit_seconds=60
    )
    assert told in result.tail
    assert "status 1" in result.tail
    again = await run_command("echo fine", cwd=tmp_path, environment=os.environ, limit_seconds=60)
    assert again.tail == "fine\n"
    after = [resource.getrlimit(kind) for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE)]
    assert before == after


def leave_no_descriptor(pid: int) -> None:
    """Let the process open no file beside those that it has open, not even with a number between theirs."""
    _, most = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    used = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
    free = next(number for number in count() if number not in used)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (free, most))


@pytest.mark.long
async def test_a_run_without_a_descriptor_left_ends_in_order(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")], [WAITS_FOR_GO])
    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        async with ralph_running(["build", "--headless"], project, server) as ralph:
            await until(lambda: "gate_started" in event_types(project), what="the claim")
            leave_no_descriptor(ralph.process.pid)
            let_go(project)
            ran = await ralph.finished()
            left = [process.cmdline() for process in marked_processes(ralph.mark)]
        shown = ran.stdout[-1500:] + ran.stderr[-1500:]
        assert ran.status == 3, shown
        assert "Too many open files" in ran.last_line, shown
        assert ran.last_line.startswith("ralph: failed: "), shown
        assert "Traceback" not in ran.stdout + ran.stderr, shown
        assert "did not expect" not in ran.stderr, shown
        assert left == []
        again = await run_ralph(["build", "--headless"], project, server)
    assert again.status == 0, again.stdout[-800:] + again.stderr[-800:]
    assert {t.status for t in plan_of(project).tasks} == {TaskStatus.COMPLETE}
