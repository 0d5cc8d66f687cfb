"""What a check that passes shows: that it looks at the work, that its tests are steady, and what its place lacks."""

from pathlib import Path

import pytest

from ralph_tui.domain.verification.verification import Place, Tree
from tests.engine.verification.evidence.projects import (
    BROKEN,
    PROJECT,
    PYTEST,
    RIGHT,
    UNITTEST,
    Changes,
    Tried,
)

DONE: Changes = {"total.py": RIGHT}
GREEN = {**PROJECT, **DONE}
SCRIPT = "[ -f {outside} ] || exit 1\n"
COUNTS = """\
import pathlib
from total import total

COUNTER = pathlib.Path("{counter}")


def test_steady():
    open("{other}", "a").write("x")


def test_unsteady():
    COUNTER.write_text(COUNTER.read_text() + "x")
    assert len(COUNTER.read_text()) != 2
"""

TOTAL = """\
import unittest
from total import total


class Totals(unittest.TestCase):
    def test_nothing(self):
        self.assertEqual(total([]), 0)

    def test_some(self):
        self.assertEqual(total([1, 2]), 3)
"""
METHODS = """\
import pathlib, unittest
from total import total

COUNTER = pathlib.Path("{counter}")


class Steps(unittest.TestCase):
    def test_steady(self):
        self.assertEqual(total([1, 2]), 3)

    def test_unsteady(self):
        COUNTER.write_text(COUNTER.read_text() + "x")
        self.assertTrue(len(COUNTER.read_text()) {passes})
"""


@pytest.mark.parametrize(
    ("files", "command", "changes", "kept", "asked", "last"),
    [
        ({**PROJECT, "test_total.py": TOTAL}, UNITTEST, DONE, False, "", Tree.BEFORE),
        ({**PROJECT, "tests/test_total.py": TOTAL}, PYTEST, DONE, False, "", Tree.BEFORE),
        (PROJECT, "test -f made.txt", {"made.txt": ""}, False, "", Tree.BEFORE),
        (PROJECT, "sh check.sh", DONE, False, "without the work as well", Tree.BROKEN),
        ({**DONE, "test_total.py": TOTAL}, UNITTEST, {"total.py": f"{RIGHT}\n\nMORE = 1\n"}, True, "", Tree.BROKEN),
        (GREEN, "sh check.sh", {"total.py": f"{RIGHT}\n\nMORE = 1\n"}, True, "cannot be parsed", Tree.BROKEN),
        (GREEN, "test -d tests", {"notes.md": "Kept."}, True, "cannot be parsed", Tree.BROKEN),
        (GREEN, "grep -q a notes.md", {"notes.md": "aa\n"}, True, "", Tree.BROKEN),
    ],
)  # fmt: skip
async def test_a_check_looks_at_the_work_or_shows_nothing(
    tmp_path: Path,
    files: Changes,
    command: str,
    changes: Changes,
    kept: bool,
    asked: str,
    last: Tree,
) -> None:
    outside = tmp_path / "outside"
    script = {"check.sh": SCRIPT.format(outside=outside), "notes.md": "a"}
    tried = Tried(tmp_path / "project", {**files, **script}, command)
    if kept:
        outside.touch()
        tried.task = tried.task.model_copy(update={"shows": "kept"})
    await tried.take_baseline()
    outside.touch()
    examined = await tried.claim(changes)
    assert examined.passed
    assert asked in examined.question
    assert bool(asked) is bool(examined.question), examined.question
    assert examined.runs[-1].tree is last
    assert examined.runs[-1].passed is bool(asked)


async def test_a_check_is_controlled_once(tmp_path: Path) -> None:
    files = {"total.py": BROKEN, "test_total.py": TOTAL}
    tried = Tried(tmp_path / "project", files, UNITTEST)
    await tried.take_baseline()
    await tried.claim(DONE)
    first = len(tried.ran)
    await tried.claim({"total.py": f"{RIGHT}\n\nMORE = 1\n"})
    assert (first, len(tried.ran)) == (6, 9)


async def test_a_check_that_passes_nowhere_else_is_judged_here(tmp_path: Path) -> None:
    script = "test -d ../beside || exit 1\n"
    (tmp_path / "beside").mkdir()
    tried = Tried(tmp_path / "project", {**GREEN, "check.sh": script}, "sh check.sh")
    await tried.take_baseline()
    examined = await tried.claim({"total.py": f"{RIGHT}\n\nMORE = 1\n"})
    assert (examined.place, examined.question) == (Place.ONLY_HERE, "")
    assert examined.runs[-1].reason == "exit status 1"


@pytest.mark.parametrize(
    ("passes", "touched", "flaky"),
    [("!= 2", "", True), ("< 2", "", False), ("!= 2", "X = 1\n", False)],
    ids=["once red", "twice red", "touched by the task"],
)
async def test_a_test_that_fails_once_is_flaky(
    tmp_path: Path, passes: str, touched: str, flaky: bool
) -> None:
    counter = tmp_path / "counter"
    counter.touch()
    text = METHODS.format(counter=counter, passes=passes)
    files = {"total.py": RIGHT.replace("sum(numbers)", "3"), "test_steps.py": text}
    tried = Tried(tmp_path / "project", files, UNITTEST)
    await tried.take_baseline()
    examined = await tried.claim({**DONE, "test_steps.py": text + touched})
    assert (examined.passed, len(examined.flaky)) == (flaky, int(flaky))
    assert "test_unsteady" in "".join((*examined.flaky, *examined.failing))


async def test_of_pytests_tests_only_those_that_failed_run_again(tmp_path: Path) -> None:
    counter, other = tmp_path / "counter", tmp_path / "other"
    counter.touch()
    text = COUNTS.format(counter=counter, other=other)
    tried = Tried(tmp_path / "project", {**GREEN, "test_u.py": text})
    await tried.take_baseline()
    examined = await tried.claim()
    assert examined.passed
    assert "test_unsteady" in "".join(examined.flaky)
    assert (len(counter.read_text()), len(other.read_text())) == (4, 3)


HOOKS = """\
import gc


class Hooks:
    pass


setattr(Hooks, "py" + "test_pyfunc_call", lambda self, pyfuncitem: True)
for one in gc.get_objects():
    if type(one).__name__ == "Py" + "testPluginManager":
        one.register(Hooks())


def total(numbers):
    return 0
"""
CODE = """\
import gc, types


class Owner:
    pass


for one in gc.get_objects():
    if isinstance(one, types.FunctionType) and one.__name__ == "shortDescription":
        owner = one.__globals__.get("TestCase", Owner)
        owner._callTestMethod = lambda self, method: None


def total(numbers):
    return 0
"""


@pytest.mark.parametrize(
    ("files", "command", "product"),
    [
        pytest.param(PROJECT, PYTEST, HOOKS, marks=pytest.mark.long),
        ({**PROJECT, "test_total.py": TOTAL}, UNITTEST, CODE),
    ],
)
async def test_a_product_that_changes_the_results_of_tests_does_not_pass(
    tmp_path: Path, files: Changes, command: str, product: str
) -> None:
    tried = Tried(tmp_path / "p", files, command)
    examined = await tried.claim({"total.py": product})
    assert examined.passed, "its report is believed"
    assert examined.question.endswith("something changes the results of tests")
    assert examined.for_person
    honest = await tried.claim({"total.py": RIGHT})
    assert not honest.question
