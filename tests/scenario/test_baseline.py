"""What was red before the run, on the real CLI: told, not held against a task with a check of its own, never worse."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.verification.verification import ReceiptStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task
from tests.harness.real_processes import PYTHON
from tests.harness.scenarios import scenario, writes
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
        writes(name, json.dumps([{"path": p, "content": c} for p, c in files.items()]))
        for name, files in (("extends", honest), ("weakens", lie))
    ]
    async with serving(scenario(*scripts)) as server:
        run = await play(project, server)
    assert [gate.passed for gate in run.of(ev.GateFinished)] == [True, False]
    first = [gate.receipts[0].status for gate in run.of(ev.GateFinished)]
    assert first == [ReceiptStatus.RED_BEFORE, ReceiptStatus.FAILED]
