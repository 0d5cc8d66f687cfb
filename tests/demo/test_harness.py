"""The tools the other tests rely on."""

import asyncio
import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

from tests.harness.projects import event_types, events_of, make_project, plan_of, task, task_of
from tests.harness.real_processes import MARK, marked_processes, run_ralph
from tests.harness.waiting import until, wait_until


def test_a_detached_grandchild_is_found_by_its_mark() -> None:
    mark = uuid.uuid4().hex
    program = (
        "import subprocess, sys;"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'],"
        " start_new_session=True)"
    )
    subprocess.run([sys.executable, "-c", program], env={**os.environ, MARK: mark}, check=True)
    wait_until(lambda: len(marked_processes(mark)) == 1)
    [orphan] = marked_processes(mark)
    orphan.kill()
    wait_until(lambda: not marked_processes(mark))


async def test_waiting_says_what_it_waited_for() -> None:
    with pytest.raises(TimeoutError, match="within 0 s: the moon"):
        wait_until(lambda: False, 0, "the moon")
    with pytest.raises(TimeoutError, match="within 0 s: the moon"):
        await until(lambda: False, 0, "the moon")
    done: list[bool] = []
    asyncio.get_running_loop().call_soon(done.append, True)
    await until(lambda: done)


def test_a_project_is_written_by_hand(tmp_path: Path) -> None:
    project = make_project(
        tmp_path,
        [task("a", priority=2), task("b", dependencies=["a"])],
        backpressure=["uv run true"],
        config={"phases": {"building": {"max_iterations": 3}}},
        files={"src/x.py": "x = 1\n"},
    )
    assert [t.id for t in plan_of(project).tasks] == ["a", "b"]
    assert task_of(project, "b").dependencies == ("a",)
    with pytest.raises(KeyError):
        task_of(project, "c")
    config = (project / ".ralph" / "config.yaml").read_text()
    assert "max_iterations: 3" in config
    assert "uv run true" in config
    assert (project / "src" / "x.py").read_text() == "x = 1\n"


def test_a_journal_that_is_being_written_can_be_read(tmp_path: Path) -> None:
    project = make_project(tmp_path)
    assert events_of(project) == []
    line = (
        '{"type": "phase_changed", "seq": 1, "phase": "building", "time": "2026-01-01T00:00:00Z"}'
    )
    (project / ".ralph" / "events.jsonl").write_text(line + "\n" + line[:20])
    assert event_types(project) == ["phase_changed"]


async def test_the_real_program_is_run(tmp_path: Path) -> None:
    ran = await run_ralph(["--version"], tmp_path)
    assert ran.status == 0
    assert "0." in ran.last_line
