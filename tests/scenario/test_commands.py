"""Checks as people write them, on the real CLI: run as written, and questioned before anything is spent."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play
from tests.scenario.test_sandbox import SANDBOX

pytestmark = pytest.mark.real_cli

UNITTEST = """import unittest


class Made(unittest.TestCase):
    def test_made(self):
        open("a.txt").close()


if __name__ == "__main__":
    unittest.main()
"""


@pytest.mark.needs("sandbox", "node")
async def test_a_criterion_runs_as_written(tmp_path: Path) -> None:
    written = [
        "python3 -m unittest -q",
        "python3 -m unittest test_x.py",
        "PYTHONHASHSEED=0 python3 test_x.py",
        "cat a.txt | head -1",
        "node --test",
    ]
    criteria: list[JsonValue] = [f"$ {command}" for command in written]
    files = {
        "test_x.py": UNITTEST,
        "a.test.js": "require('node:test').test('a', () => require('fs').readFileSync('a.txt'))\n",
    }
    tasks = [task("a", verification_criteria=criteria)]
    project = make_project(tmp_path, tasks, (), config=SANDBOX, files=files)
    (project / "pyproject.toml").unlink()
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    (gate,) = run.of(ev.GateFinished)
    assert [r.command for r in gate.receipts] == written
    assert gate.passed, json.dumps([r.tail for r in gate.receipts], indent=1)
    assert task_of(project, "a").status is TaskStatus.COMPLETE


async def test_a_command_that_hides_its_status_verifies_nothing(tmp_path: Path) -> None:
    tasks = [task("a", verification_criteria=["$ sh check.sh || echo failed"])]
    project = make_project(tmp_path, tasks, (), files={"check.sh": "exit 1\n"})
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, overrides={"limits.max_attempts_per_task": 1})
    gate = run.of(ev.GateFinished)[0]
    assert not gate.passed
    assert (
        gate.receipts[0].reason == "the status of `sh check.sh` is lost; write it as `sh check.sh`"
    )
