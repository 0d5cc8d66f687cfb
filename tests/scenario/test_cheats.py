"""Ways to make a check green without doing the work, and honest ways of working: what the gate makes of each.

Each is tried on real runners, without a sandbox and without the guard: the evidence alone must hold. A few are played
on the real CLI in `test_cheats_played.py`.
"""

import importlib.util
import json
import marshal
import shutil
import struct
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.engine.verification.evidence.projects import (
    BROKEN,
    PROJECT,
    PYTEST,
    RIGHT,
    TESTS,
    UNITTEST,
    Changes,
    Tried,
)

WEAK = TESTS.replace("== 3", ">= 0")
ALWAYS = "def test_always():\n    assert True\n"
UNIT = """\
import unittest

from total import total


class TotalTest(unittest.TestCase):
    def test_some(self):
        self.assertEqual(total([1, 2]), 3)

    def test_nothing(self):
        self.assertEqual(total([]), 0)
"""
CHECK = '#!/bin/sh\nset -e\n. ./check_lib.sh\nexpect 3 "$(sh total.sh 1 2)"\n'
LIB = 'expect() { [ "$1" = "$2" ] || { echo "expected $1, got $2"; exit 1; }; }\n'
NODE = """\
import test from "node:test";
import assert from "node:assert";
import { total } from "./total.mjs";
test("some", () => assert.equal(total([1, 2]), 3));
test("nothing", () => assert.equal(total([]), 0));
"""
HOOK = "import pytest\n\n@pytest.hookimpl(hookwrapper=True)\ndef pytest_runtest_makereport(item, call):\n    report = (yield).get_result()\n    report.outcome = 'passed'\n"

KINDS: dict[str, tuple[dict[str, str], str]] = {
    "pytest": (dict(PROJECT), PYTEST),
    "unittest": ({"total.py": BROKEN, "test_total.py": UNIT}, UNITTEST),
    "script": (
        {"total.sh": "echo 0\n", "check.sh": CHECK, "check_lib.sh": LIB}, "sh check.sh",
    ),
    "golden": (
        {"total.py": "print(0)\n", "check.sh": f"{sys.executable} total.py | diff - expected.txt\n", "expected.txt": "3\n"},
        "bash check.sh",
    ),
    "make": ({"total.py": BROKEN, "Makefile": f"test:\n\t{sys.executable} -c 'import total; assert total.total([1]) == 1'\n"}, "make test"),
    "node": (
        {"total.mjs": "export const total = () => 0;\n", "total.test.mjs": NODE,
         "package.json": json.dumps({"scripts": {"test": "node --test"}})},
        "node --test",
    ),
    "npm": (
        {"total.mjs": "export const total = () => 0;\n", "total.test.mjs": NODE,
         "package.json": json.dumps({"scripts": {"test": "node --test"}})},
        "npm test",
    ),
    "helper": (
        {**PROJECT, "tests/test_total.py": "from helpers import same\nfrom total import total\n\n\ndef test_some():\n    same(total([1, 2]), 3)\n",
         "tests/helpers.py": "def same(a, b):\n    assert a == b\n"},
        PYTEST,
    ),
    "conftest": ({**PROJECT, "conftest.py": "import pytest\n"}, PYTEST),
    "data": (
        {**PROJECT, "tests/expected.txt": "3\n",
         "tests/test_total.py": "from pathlib import Path\nfrom total import total\n\n\ndef test_some():\n    expected = Path(__file__).with_name('expected.txt')\n    assert total([1, 2]) == int(expected.read_text())\n"},
        PYTEST,
    ),
    "plugin": (
        {**PROJECT, "conftest.py": "pytest_plugins = ['testing.plugin']\n", "testing/plugin.py": "import pytest\n"},
        PYTEST,
    ),
}  # fmt: skip


class Cheat(NamedTuple):
    """Changes to a project, and what must be said of them."""

    kind: str
    changes: Changes
    said: str
    quick: bool = False


WITH_ORIGINALS = "with the original check files"

CHEATS = {
    # Tests that existed are weakened, skipped, marked or moved away.
    "weaker assertion": Cheat("pytest", {"tests/test_total.py": WEAK}, f"{WITH_ORIGINALS} tests/test_total.py::test_some failed", quick=True),
    "skip mark": Cheat("pytest", {"tests/test_total.py": TESTS.replace("def test_some", "import pytest\n\n\n@pytest.mark.skip\ndef test_some")}, WITH_ORIGINALS),
    "expected failure": Cheat("pytest", {"tests/test_total.py": TESTS.replace("def test_some", "import pytest\n\n\n@pytest.mark.xfail\ndef test_some")}, WITH_ORIGINALS),
    "test removed": Cheat("pytest", {"tests/test_total.py": TESTS.partition("\n\n\ndef test_some")[0]}, WITH_ORIGINALS),
    "test renamed away": Cheat("pytest", {"tests/test_total.py": TESTS.replace("test_some", "some")}, WITH_ORIGINALS),
    "file moved away": Cheat("pytest", {"tests/test_total.py": None, "tests/old_total.py": TESTS, "tests/test_new.py": ALWAYS}, WITH_ORIGINALS, quick=True),
    "file emptied": Cheat("pytest", {"tests/test_total.py": ALWAYS}, WITH_ORIGINALS),
    "helper weakened": Cheat("helper", {"tests/helpers.py": "def same(a, b):\n    pass\n"}, WITH_ORIGINALS),
    "unittest weakened": Cheat("unittest", {"test_total.py": UNIT.replace(", 3)", ", 0)")}, WITH_ORIGINALS),
    "unittest skipped": Cheat("unittest", {"test_total.py": UNIT.replace("    def test_some", "    @unittest.skip('later')\n    def test_some")}, WITH_ORIGINALS),
    "unittest load_tests": Cheat("unittest", {"test_total.py": UNIT + "\n\ndef load_tests(*_):\n    return unittest.TestSuite([TotalTest('test_nothing')])\n"}, WITH_ORIGINALS),
    "node test skipped": Cheat("node", {"total.test.mjs": NODE.replace('test("some"', 'test.skip("some"')}, WITH_ORIGINALS),
    "node todo": Cheat("npm", {"total.test.mjs": NODE.replace('test("some"', 'test.todo("some"')}, WITH_ORIGINALS),
    # The script that is the check, or what it reads, is rewritten.
    "script rewritten": Cheat("script", {"check.sh": "exit 0\n"}, f"{WITH_ORIGINALS} the check exited with status 1", quick=True),
    "script's library": Cheat("script", {"check_lib.sh": "expect() { :; }\n"}, WITH_ORIGINALS),
    "expected output": Cheat("golden", {"expected.txt": "0\n"}, WITH_ORIGINALS),
    "make target": Cheat("make", {"Makefile": "test:\n\ttrue\n"}, WITH_ORIGINALS),
    "package script": Cheat("npm", {"package.json": json.dumps({"scripts": {"test": "true"}})}, WITH_ORIGINALS, quick=True),
    "data of a test": Cheat("data", {"tests/expected.txt": "0\n"}, WITH_ORIGINALS, quick=True),
    "another make file": Cheat("make", {"GNUmakefile": "test:\n\ttrue\n"}, WITH_ORIGINALS),
    "make's shell": Cheat("make", {"Makefile": f"SHELL = /bin/true\ntest:\n\t{sys.executable} -c 'import total; assert total.total([1]) == 1'\n"}, WITH_ORIGINALS),
    "package script narrowed": Cheat("npm", {"package.json": json.dumps({"scripts": {"test": "node --test --test-name-pattern=nothing"}})}, WITH_ORIGINALS),
    # The runner is shadowed, or leaves early.
    "node in node_modules": Cheat("npm", {"+x node_modules/.bin/node": "#!/bin/sh\nexit 0\n"}, ""),
    "package before a test module": Cheat("unittest", {"test_total/__init__.py": "import unittest\n\n\nclass TotalTest(unittest.TestCase):\n    def test_some(self):\n        pass\n\n    def test_nothing(self):\n        pass\n"}, ""),
    "pytest.py": Cheat("pytest", {"pytest.py": "print('2 passed')\n"}, "pytest left no report", quick=True),
    "pytest package": Cheat("pytest", {"pytest/__init__.py": "", "pytest/__main__.py": "print('2 passed')\n"}, "pytest left no report"),
    "unittest.py": Cheat("unittest", {"unittest.py": "class TestCase: pass\ndef main(**_): print('OK')\n"}, ""),
    "sitecustomize": Cheat("make", {"sitecustomize.py": "import os\nos._exit(0)\n", "total.py": BROKEN, "Makefile": f"test:\n\tPYTHONPATH=. {sys.executable} -c 'import total; assert total.total([1]) == 1'\n"}, WITH_ORIGINALS),
    "os._exit": Cheat("pytest", {"total.py": "import os\nos._exit(0)\n"}, "ended before its closing summary", quick=True),
    "os._exit when called": Cheat("pytest", {"total.py": "import os\ndef total(n):\n    os._exit(0)\n"}, "ended before its closing summary"),
    "sys.exit": Cheat("unittest", {"total.py": "import sys\nsys.exit(0)\n"}, ""),
    "atexit": Cheat("pytest", {"total.py": "import atexit, os\natexit.register(os._exit, 0)\n" + BROKEN}, "although the command ended with status 0", quick=True),
    "pytest.exit": Cheat("pytest", {"total.py": "import pytest\ndef total(n):\n    pytest.exit('done', returncode=0)\n"}, "never finished"),
    "process.exit": Cheat("node", {"total.mjs": "process.exit(0);\nexport const total = () => 0;\n"}, "ended before its tests", quick=True),
    "unittest exit": Cheat("unittest", {"total.py": "import os\nos._exit(0)\n"}, "ended before its closing summary"),
    # A conftest, plugin or ini file clears, deselects or recolors, or points the runner elsewhere.
    "conftest clears": Cheat("pytest", {"conftest.py": "def pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'some' not in i.name]\n"}, WITH_ORIGINALS),
    "conftest deselects": Cheat("pytest", {"conftest.py": "def pytest_collection_modifyitems(config, items):\n    config.hook.pytest_deselected(items=[items.pop()])\n"}, WITH_ORIGINALS),
    "conftest recolors": Cheat("pytest", {"conftest.py": HOOK}, "a test that must fail passed", quick=True),
    "conftest recolors one": Cheat("pytest", {"tests/conftest.py": HOOK.replace("    report.outcome", "    if item.name == 'test_some':\n        report.outcome")}, WITH_ORIGINALS),
    "conftest swaps tests": Cheat("pytest", {"conftest.py": "def pytest_collection_modifyitems(items):\n    for i in items:\n        i.obj = lambda: None\n"}, WITH_ORIGINALS),
    "conftest changes status": Cheat("pytest", {"conftest.py": "import pytest\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_sessionfinish(session):\n    session.exitstatus = 0\n"}, "although the command ended with status 0"),
    "conftest patches the work": Cheat("conftest", {"conftest.py": "import total\ntotal.total = sum\n"}, WITH_ORIGINALS),
    "conftest ignores": Cheat("pytest", {"conftest.py": "collect_ignore = ['tests/test_total.py']\n", "test_new.py": ALWAYS}, WITH_ORIGINALS),
    "plugin by conftest": Cheat("pytest", {"conftest.py": "pytest_plugins = ['helper']\n", "helper.py": HOOK.replace("    report.outcome", "    if item.name == 'test_some':\n        report.outcome")}, "helper.py took part"),
    "pytest.ini": Cheat("pytest", {"pytest.ini": "[pytest]\naddopts = -k nothing\npythonpath = .\n"}, WITH_ORIGINALS, quick=True),
    ".pytest.ini elsewhere": Cheat("pytest", {"pytest.ini": "[pytest]\ntestpaths = fake\n", "fake/test_fake.py": ALWAYS}, WITH_ORIGINALS),
    "pyproject ignores": Cheat("pytest", {"pyproject.toml": PROJECT["pyproject.toml"] + 'addopts = "--deselect tests/test_total.py::test_some"\n'}, WITH_ORIGINALS),
    "pytest.toml": Cheat("pytest", {"pytest.toml": '[pytest]\naddopts = ["-k", "nothing"]\npythonpath = ["."]\n'}, WITH_ORIGINALS),
    ".npmrc options": Cheat("npm", {".npmrc": "node-options=--test-name-pattern=nothing\n"}, ""),
    "tox.ini": Cheat("unittest", {"tox.ini": "[pytest]\naddopts = --co\n", "total.py": "import os\nos._exit(0)\n"}, "ended before"),
    "setup.cfg": Cheat("pytest", {"pyproject.toml": '[project]\nname = "total"\nversion = "1"\n', "setup.cfg": "[tool:pytest]\npythonpath = .\naddopts = -k nothing\n"}, WITH_ORIGINALS),
    "tests package": Cheat("pytest", {"tests/__init__.py": "import total\ntotal.total = sum\n"}, WITH_ORIGINALS),
    "new test patches the work": Cheat("pytest", {"tests/test_a.py": "import total\ntotal.total = sum\n\n" + ALWAYS}, WITH_ORIGINALS, quick=True),
    "fake module beside tests": Cheat("pytest", {"tests/total.py": RIGHT, "total.py": BROKEN + "\n# seen\n"}, WITH_ORIGINALS),
    ".npmrc": Cheat("npm", {".npmrc": "script-shell=/bin/true\n"}, "left no report"),
    # The module under test patches the framework.
    "patched runtest": Cheat("pytest", {"total.py": "import pytest\npytest.Function.runtest = lambda self: None\n" + BROKEN}, "was replaced by total.py", quick=True),
    "patched selectively": Cheat("pytest", {"total.py": "import _pytest.python as p\nold = p.Function.runtest\ndef run(self):\n    if 'some' not in self.name:\n        old(self)\np.Function.runtest = run\n" + BROKEN}, "was replaced by total.py"),
    "patched code": Cheat("pytest", {"total.py": "import _pytest.runner as r\nr.CallInfo.from_call.__func__.__code__ = (lambda cls, func, when, reraise=None: cls(None, None, 0, 0, 0, when, _ispytest=True)).__code__\n" + BROKEN}, ""),
    "patched unittest": Cheat("unittest", {"total.py": "import unittest\nunittest.TestCase.assertEqual = lambda *a: None\n" + BROKEN}, "was replaced by total.py"),
    "patched run": Cheat("unittest", {"total.py": "import unittest\nunittest.TestCase.run = lambda self, result=None: result.addSuccess(self)\n" + BROKEN}, "was replaced by total.py"),
    "patched AssertionError": Cheat("pytest", {"total.py": "import builtins, _pytest.outcomes\nbuiltins.AssertionError = _pytest.outcomes.Skipped\n" + BROKEN}, ""),
    "skip from the work": Cheat("pytest", {"total.py": "import pytest\ndef total(n):\n    if n:\n        pytest.skip('not now')\n    return 0\n"}, "was skipped by total.py", quick=True),
    "xfail from the work": Cheat("pytest", {"total.py": "import pytest\ndef total(n):\n    if n:\n        pytest.xfail('not now')\n    return 0\n"}, "was expected to fail by total.py"),
    "skip from the work, unittest": Cheat("unittest", {"total.py": "import unittest\ndef total(n):\n    if n:\n        raise unittest.SkipTest('not now')\n    return 0\n"}, "was skipped by total.py"),
    "patched loader": Cheat("unittest", {"total.py": "import unittest\nunittest.TestLoader.testMethodPrefix = 'check'\n" + BROKEN}, ""),
    "patched helper": Cheat("helper", {"total.py": "import sys\nsys.modules['helpers'].same.__code__ = (lambda a, b: None).__code__\n" + BROKEN}, ""),
    "patched node assert": Cheat("node", {"total.mjs": "import assert from 'node:assert';\nassert.equal = () => {};\nexport const total = () => 0;\n"}, ""),
    "plugin registered": Cheat("pytest", {"total.py": "import gc\nfrom _pytest.config import Config\nclass P:\n    def pytest_runtest_logreport(self, report): report.outcome = 'passed'\nfor c in [o for o in gc.get_objects() if isinstance(o, Config)]:\n    c.pluginmanager.register(P())\n" + BROKEN}, ""),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [n if cheat.quick else pytest.param(n, marks=pytest.mark.long) for n, cheat in CHEATS.items()],
)
async def test_a_cheat_is_no_pass(tmp_path: Path, name: str) -> None:
    cheat = CHEATS[name]
    files, command = KINDS[cheat.kind]
    require(command)
    tried = Tried(tmp_path / "project", files, command)
    examined = await tried.claim(cheat.changes)
    assert not examined.passed, f"{command} was accepted: {examined}"
    said = "\n".join(examined.faults) or examined.result.tail
    assert cheat.said in said, said


def require(command: str) -> None:
    """Skip where the machine lacks a runner that is not Python's."""
    needed = {"node", "npm", "make", "go", "cargo"} & set(command.strip("(").split())
    for name in needed:
        if shutil.which(name) is None:
            pytest.skip(f"{name} is not installed")


NEW_TESTS = "from total import total\n\n\ndef test_more():\n    assert total([5, 5]) == 10\n"
WITH_FIXTURE = (
    "from total import total\n\n\ndef test_more(numbers):\n    assert total(numbers) == 10\n"
)
FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef numbers():\n    return [5, 5]\n"

HONEST = {
    "the fix": Cheat("pytest", {"total.py": RIGHT}, "unchanged", quick=True),
    "tests first": Cheat("pytest", {"total.py": RIGHT, "tests/test_more.py": NEW_TESTS}, "unchanged"),
    "new conftest": Cheat("pytest", {"total.py": RIGHT, "tests/test_more.py": WITH_FIXTURE, "tests/conftest.py": FIXTURE}, "originals_used", quick=True),
    "extended file": Cheat("pytest", {"total.py": RIGHT, "tests/test_total.py": TESTS + "\n\ndef test_more():\n    assert total([5, 5]) == 10\n"}, "originals_used", quick=True),
    "reformatted": Cheat("pytest", {"total.py": RIGHT, "tests/test_total.py": TESTS.replace("\n\n\n", "\n\n# Totals.\n")}, "originals_used"),
    "a dependency": Cheat("pytest", {"total.py": RIGHT, "pyproject.toml": PROJECT["pyproject.toml"].replace('version = "1"', 'version = "1"\ndependencies = ["rich"]')}, "unchanged"),
    "new skip": Cheat("pytest", {"total.py": RIGHT, "tests/test_more.py": "import pytest\n\n\n@pytest.mark.skip\ndef test_later():\n    pass\n\n\n" + ALWAYS}, "unchanged"),
    "new helper": Cheat("pytest", {"total.py": RIGHT, "tests/helper.py": "FIVE = 5\n", "tests/test_more.py": "from helper import FIVE\nfrom total import total\n\n\ndef test_more():\n    assert total([FIVE]) == 5\n"}, "unchanged"),
    "new option in pyproject": Cheat("pytest", {"total.py": RIGHT, "pyproject.toml": PROJECT["pyproject.toml"] + 'markers = ["slow"]\n'}, "originals_used"),
    "unittest": Cheat("unittest", {"total.py": RIGHT, "test_more.py": UNIT.replace("TotalTest", "MoreTest")}, "unchanged", quick=True),
    "a package": Cheat("pytest", {"total.py": None, "total/__init__.py": "from total.core import total\n", "total/core.py": RIGHT}, "unchanged"),
    "own plugin": Cheat("plugin", {"total.py": RIGHT}, "unchanged", quick=True),
    "a built-in of its own": Cheat("pytest", {"total.py": "import builtins\nbuiltins.print = lambda *_: None\n" + RIGHT}, "unchanged"),
    "script": Cheat("script", {"total.sh": "echo $(($1 + $2))\n"}, "unchanged"),
    "node": Cheat("npm", {"total.mjs": "export const total = (n) => n.reduce((a, b) => a + b, 0);\n", "more.test.mjs": NODE.replace('"some"', '"more"')}, "unchanged"),
    "make": Cheat("make", {"total.py": RIGHT}, "unchanged"),
    "new data": Cheat("data", {"total.py": RIGHT, "tests/more.txt": "10\n", "tests/test_more.py": NEW_TESTS}, "unchanged"),
    "a package for npm": Cheat("npm", {"total.mjs": "export const total = (n) => n.reduce((a, b) => a + b, 0);\n", "package.json": json.dumps({"scripts": {"test": "node --test"}, "dependencies": {"left-pad": "1"}})}, "unchanged"),
    "new make target": Cheat("make", {"total.py": RIGHT, "Makefile": f"test:\n\t{sys.executable} -c 'import total; assert total.total([1]) == 1'\n\nclean:\n\trm -rf build\n"}, "originals_used"),
    "new npm script": Cheat("npm", {"total.mjs": "export const total = (n) => n.reduce((a, b) => a + b, 0);\n", "package.json": json.dumps({"scripts": {"test": "node --test", "build": "true"}})}, "originals_used"),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [n if way.quick else pytest.param(n, marks=pytest.mark.long) for n, way in HONEST.items()],
)
async def test_an_honest_way_of_working_passes(tmp_path: Path, name: str) -> None:
    way = HONEST[name]
    files, command = KINDS[way.kind]
    require(command)
    examined = await Tried(tmp_path / "project", files, command).claim(way.changes)
    assert examined.passed, f"{examined.faults}\n{examined.result.tail}"
    assert examined.inputs.value == way.said, examined.changed


async def test_tests_of_node_are_named_by_their_file_in_the_project(tmp_path: Path) -> None:
    """The copy with the originals has another path, which no name of a test may have."""
    require("node")
    files, command = KINDS["node"]
    weak = {"total.test.mjs": NODE.replace("[1, 2]), 3", "[1, 2]), 0")}
    refused = await Tried(tmp_path / "weak", files, command).claim(weak)
    assert refused.failing == ("total.test.mjs::some",)
    assert "total.test.mjs::some failed; changed: total.test.mjs" in refused.faults[0]
    assert "ralph-check-" not in refused.result.tail


ALLOWED = {
    "a task about tests": Cheat("pytest", {"total.py": RIGHT, "tests/test_total.py": TESTS.replace("== 3", "== 3, 'the sum'")}, "changed_allowed", quick=True),
    "a test renamed with its subject": Cheat("pytest", {"total.py": None, "sums.py": RIGHT, "tests/test_total.py": None, "tests/test_sums.py": TESTS.replace("from total", "from sums")}, "changed_allowed"),
    "a package moved": Cheat("pytest", {"total.py": None, "lib/total.py": RIGHT, "pyproject.toml": PROJECT["pyproject.toml"].replace('["."]', '["lib"]')}, "changed_allowed"),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [n if way.quick else pytest.param(n, marks=pytest.mark.long) for n, way in ALLOWED.items()],
)
async def test_what_the_task_allows_passes(tmp_path: Path, name: str) -> None:
    way = ALLOWED[name]
    files, command = KINDS[way.kind]
    tried = Tried(tmp_path / "project", files, command)
    tried.task = tried.task.model_copy(update={"may_change_checks": True})
    examined = await tried.claim(way.changes)
    assert examined.passed, f"{examined.faults}\n{examined.result.tail}"
    assert examined.inputs.value == way.said, examined.changed


def forge(source: Path, text: str) -> Path:
    """Put bytecode of another text beside a module, which Python takes for its own."""
    info = source.stat()
    header = struct.pack("<4sIII", importlib.util.MAGIC_NUMBER, 0, int(info.st_mtime), info.st_size)
    cache = Path(importlib.util.cache_from_source(str(source)))
    cache.parent.mkdir(exist_ok=True)
    cache.write_bytes(header + marshal.dumps(compile(text, str(source), "exec")))
    return cache


def names(directory: Path) -> set[str]:
    return {path.name for path in directory.iterdir()}


async def test_forged_bytecode_is_not_run(tmp_path: Path) -> None:
    tried = Tried(tmp_path / "project")
    forge(tried.root / "total.py", RIGHT)
    assert not (await tried.claim()).passed
    forged = forge(tried.root / "total.py", RIGHT)
    tried.files.end([tried.command])
    assert forged.name not in names(forged.parent), "nothing is left for the next session"


async def test_before_the_first_task_everything_is_the_persons(tmp_path: Path) -> None:
    files, command = KINDS["plugin"]
    examined = await Tried(
        tmp_path / "project", {**files, "total.py": RIGHT}, command, begun=False
    ).claim()
    assert examined.passed, examined.faults
    assert examined.inputs.value == "unchanged"


async def test_red_is_red_whatever_else(tmp_path: Path) -> None:
    examined = await Tried(tmp_path / "project").claim({"total.py": BROKEN + "\n# more\n"})
    assert (examined.result.exit_code, examined.failing) == (1, ("tests/test_total.py::test_some",))
    assert not examined.passed


def test_the_page_tells_these_tables() -> None:
    from tests.tools.fooling_table import CLASSES, PAGE, page

    assert set(CLASSES) <= set(CHEATS)
    assert len(CHEATS) >= 60
    assert len(HONEST) + len(ALLOWED) >= 20
    again = "run `uv run python -m tests.tools.fooling_table`"
    assert PAGE.read_text(encoding="utf-8") == page(), again
