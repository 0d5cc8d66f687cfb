"""What was red before the run, on the real CLI: told, not held against a task with a check of its own, never worse."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.demo.server import ModelServer
from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.verification.verification import ReceiptStatus, VerificationOutcome
from tests.cli.processes import beside
from tests.harness.model import serving
from tests.harness.projects import HAS_FILE, make_project, task, task_of
from tests.harness.real_processes import PYTHON, run_ralph
from tests.harness.scenarios import scenario
from tests.scenario.running import play

UNITTEST = f"{PYTHON} -m unittest"
CALC = "def add(a, b):\n    return a + b\n"
TESTS = """import unittest

from calc import add


class Sums(unittest.TestCase):
    def test_adds(self):
        self.assertEqual(add(1, 2), 3)

    def test_old_and_red(self):
        self.assertEqual(add(1, 1), 3)
"""


def works(task_id: str, write: str) -> str:
    """Writes one file, claims, and gives up when that is refused."""
    return f"""
    - name: works on {task_id}
      task: "{task_id}"
      turns:
        - read: calc.py
        - write: {write}
        - ralph: {{mark_task_complete: {{task_id: "{task_id}", verification_notes: Done.}}}}
        - when: {{last_result: "NOT YET"}}
          ralph: {{mark_task_blocked: {{task_id: "{task_id}", reason: refused}}}}
    """


@pytest.mark.long
@pytest.mark.parametrize(
    "twice", [False, pytest.param(True, marks=pytest.mark.long)], ids=["one run", "three runs"]
)
async def test_what_was_red_before_is_told_and_must_not_get_worse(
    tmp_path: Path, *, twice: bool
) -> None:
    own: list[JsonValue] = [f"`{HAS_FILE.format(name='a.txt')}`"]
    plan = [
        task("a", priority=1, verification_criteria=own),
        task("bare", priority=2, verification_criteria=["It is pretty"]),
        task("itself", priority=3, verification_criteria=[f"`{UNITTEST}`"]),
        task("worse", priority=4, verification_criteria=own),
    ]
    project = make_project(
        tmp_path,
        plan,
        [UNITTEST],
        config={"phases": {"building": {"baseline": True}}},
        files={"calc.py": CALC, "test_calc.py": TESTS},
    )
    scripts = scenario(
        works("a", "{path: a.txt, content: done}"),
        works("bare", "{path: b.txt, content: done}"),
        works("itself", "{path: c.txt, content: done}"),
        works("worse", '{path: calc.py, content: "def add(a, b): return 0"}'),
    )
    async with serving(scripts) as server:
        run = await play(project, server)
        prompt = str(server.requests[0].body["messages"])
        told = [e.text for e in run.of(ev.Notice)]
        assert told[0] == "Running 2 checks once before the first task."
        assert told[1].startswith(f"`{UNITTEST}` already failed before this run (1 test failed: ")
        assert "test_old_and_red" in told[1]
        assert told[2].endswith("and complete only when it passes: bare.")
        assert "## Failed before this run" in prompt
        rests = task_of(project, "a").verification
        assert rests is not None
        assert rests.outcome is VerificationOutcome.VERIFIED
        assert rests.reason == "1 check passed, 1 failed before this run, too"
        states = {name: task_of(project, name).status for name in ("bare", "itself", "worse")}
        assert set(states.values()) == {TaskStatus.BLOCKED}, states
        gates = run.of(ev.GateFinished)
        assert [gate.passed for gate in gates] == [True, False, False, False]
        first = [gate.receipts[0].status for gate in gates]
        before, failed = ReceiptStatus.RED_BEFORE, ReceiptStatus.FAILED
        assert first == [before, before, failed, failed]

        if twice:
            await _goes_on_without_calling_its_damage_old(project, server)


async def _goes_on_without_calling_its_damage_old(project: Path, server: ModelServer) -> None:
    await beside("retry", "worse", cwd=project)
    again = await run_ralph(["build", "--headless"], project, server)
    assert "Running 1 check" not in again.stdout
    assert "already failed before this run" in again.stdout
    assert task_of(project, "worse").status is TaskStatus.BLOCKED
    await beside("retry", "worse", cwd=project)
    await beside("config", "set", "phases.building.baseline", "false", cwd=project)
    without = await run_ralph(["build", "--headless"], project, server)
    assert "already failed before this run" not in without.stdout


@pytest.mark.usefixtures("played_cli")
async def test_a_test_added_beside_an_old_failure_is_judged_with_the_original_tests(
    tmp_path: Path,
) -> None:
    code = f"{CALC}def sub(a, b):\n    return a - b\n"
    more = TESTS.replace("import add", "import add, sub")
    more += "\n    def test_subtracts(self):\n        self.assertEqual(sub(3, 1), 2)\n"
    honest = {"calc.py": code, "test_calc.py": more}
    lie = {
        "calc.py": code.replace("a + b", "0"),
        "test_calc.py": more.replace("add(1, 2), 3", "add(1, 2), 0"),
        "b.txt": "done",
    }
    has_sub = f"$ {PYTHON} -c 'import calc; assert calc.sub(3, 1) == 2'"
    project = make_project(
        tmp_path,
        [
            task("extends", priority=1, verification_criteria=[has_sub]),
            task("weakens", priority=2, verification_criteria=["$ test -f b.txt"]),
        ],
        [UNITTEST],
        config={"phases": {"building": {"baseline": True}}},
        files={"calc.py": CALC, "test_calc.py": TESTS},
    )
    scripts = [
        works(name, json.dumps([{"path": p, "content": c} for p, c in files.items()]))
        for name, files in (("extends", honest), ("weakens", lie))
    ]
    async with serving(scenario(*scripts)) as server:
        run = await play(project, server)
    assert [gate.passed for gate in run.of(ev.GateFinished)] == [True, False]
    first = [gate.receipts[0].status for gate in run.of(ev.GateFinished)]
    assert first == [ReceiptStatus.RED_BEFORE, ReceiptStatus.FAILED]
