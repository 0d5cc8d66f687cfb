"""A check that is a plain script must reach its end; the code that it checks cannot end it."""

from pathlib import Path

import pytest

from tests.engine.verification.evidence.projects import BROKEN, RIGHT, Tried
from tests.harness.real_processes import PYTHON as REAL

PYTHON = f"{REAL} check.py"
ASSERTS = "from total import total\n\nassert total([1, 2]) == 3\nprint('ok')\n"
MAIN = (
    "import sys\nfrom total import total\n\n\ndef main():\n"
    "    return 0 if total([1, 2]) == 3 else 1\n\n\nif __name__ == '__main__':\n    sys.exit(main())\n"
)
EXITS = "import sys\n\n\ndef total(numbers):\n    sys.exit(0)\n"
RUNS = "import app\n\n\ndef main():\n    app.run()\n\n\nmain()\n"
APP = "import sys\n\n\ndef run():\n    print('fine')\n    sys.exit(0)\n"

CHEATS = {
    "os._exit on import": (ASSERTS, "import os\nos._exit(0)\n", "total.py ended check.py"),
    "sys.exit on import": (ASSERTS, "import sys\nsys.exit()\n", "total.py ended check.py"),
    "sys.exit when called": (ASSERTS, EXITS, "total.py ended check.py"),
    "in the condition of an exit": (MAIN, EXITS, "total.py ended check.py"),
    "in an argument": (
        "from total import total\n\n\ndef expect(value):\n    assert value == 3\n\n\nexpect(total([1, 2]))\n",
        EXITS, "total.py ended check.py",
    ),
    "from another thread": (
        ASSERTS, "import os, threading, time\nthreading.Timer(0, os._exit, (0,)).start()\ntime.sleep(5)\n",
        "ended check.py",
    ),
    "another program": (ASSERTS, "import os\nos.execv('/bin/true', ['true'])\n", "total.py ended check.py"),
    "the parent of a fork": (ASSERTS, f"import os\nif os.fork():\n    os._exit(0)\n{BROKEN}", "total.py ended check.py"),
    "behind Python's back": (ASSERTS, "import posix\nposix._exit(0)\n", "check.py did not reach its end"),
    "after the failure": (ASSERTS, f"import atexit, os\natexit.register(os._exit, 0)\n{BROKEN}", "check.py failed although"),
    "hook of failures": (
        ASSERTS, f"import os, sys\nsys.excepthook = lambda *_: os._exit(0)\n{BROKEN}", "check.py failed although",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CHEATS)
async def test_the_work_does_not_end_a_python_check(tmp_path: Path, name: str) -> None:
    check, total, said = CHEATS[name]
    tried = Tried(tmp_path / "p", {"check.py": check, "total.py": BROKEN}, PYTHON)
    examined = await tried.claim({"total.py": total})
    assert examined.result.exit_code == 0, "the status alone would be believed"
    assert said in "; ".join(examined.faults)


async def test_a_changed_check_hides_no_early_end(tmp_path: Path) -> None:
    tried = Tried(tmp_path / "p", {"check.py": ASSERTS, "total.py": BROKEN}, PYTHON)
    examined = await tried.claim({"check.py": f"# more\n{ASSERTS}", "total.py": EXITS})
    assert not examined.passed


HONEST = {
    "reaches its end": (ASSERTS, {"total.py": RIGHT}),
    "exits at its end": (MAIN, {"total.py": RIGHT}),
    "exits early itself": (f"import sys\n{ASSERTS}sys.exit(0)\nprint('never')\n", {"total.py": RIGHT}),
    "exits in a function": (f"import sys\n{ASSERTS}\n\ndef done():\n    sys.exit()\n\n\ndone()\nprint()\n", {"total.py": RIGHT}),
    "leaves threads behind": (f"import os\n{ASSERTS}os._exit(0)\n", {"total.py": RIGHT}),
    "starts itself again": (f"import os, sys\nif len(sys.argv) < 2:\n    os.execv(sys.executable, [sys.executable, 'check.py', 'x'])\n{ASSERTS}", {"total.py": RIGHT}),
    "ends in the work": (RUNS, {"app.py": APP}),
    "ends in the work's status": ("import sys\nimport app\n\nsys.exit(app.run())\n", {"app.py": APP}),
    "runs the work as a program": ("import runpy\n\nrunpy.run_module('app', run_name='__main__')\n", {"app.py": "import sys\nsys.exit(0)\n"}),
    "uses argparse and unittest": ("import unittest\nfrom total import total\n\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(total([1]), 1)\n\n\nunittest.main()\n", {"total.py": RIGHT}),
    "knows itself": ("import os, pickle, sys, __main__\nfrom total import total\n\n\nclass A:\n    pass\n\n\nassert pickle.loads(pickle.dumps(A())).__class__ is __main__.A is A\nassert os.path.isabs(__file__) and sys.argv == ['check.py']\nassert sys.path[0] == os.path.dirname(__file__) and __name__ == '__main__'\nassert total([1]) == 1\n", {"total.py": RIGHT}),
    "starts processes": ("import multiprocessing as m\nfrom total import total\n\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as pool:\n        assert pool.map(total, [[1, 2]]) == [3]\n", {"total.py": RIGHT}),
}  # fmt: skip


@pytest.mark.parametrize("name", HONEST)
async def test_an_honest_python_check_passes(tmp_path: Path, name: str) -> None:
    check, changes = HONEST[name]
    tried = Tried(tmp_path / "p", {"check.py": check, "total.py": BROKEN}, PYTHON)
    examined = await tried.claim(changes)
    assert examined.passed, f"{examined.faults}\n{examined.result.tail}"


@pytest.mark.parametrize("command", [f"{PYTHON} || true", f"! {PYTHON}", f"{PYTHON} | cat"])
async def test_what_may_fail_is_not_held_to_its_end(tmp_path: Path, command: str) -> None:
    tried = Tried(tmp_path / "p", {"check.py": ASSERTS, "total.py": BROKEN}, command)
    assert not (await tried.claim()).faults


async def test_a_red_check_shows_what_python_shows(tmp_path: Path) -> None:
    tried = Tried(tmp_path / "p", {"check.py": ASSERTS, "total.py": BROKEN}, PYTHON)
    examined = await tried.claim()
    assert examined.result.exit_code == 1
    assert "AssertionError" in examined.result.tail
    assert 'File "check.py", line 3' in examined.result.tail
    assert "ralph_" not in examined.result.tail


NODE_CHECK = "import assert from 'node:assert';\nimport { total } from './total.mjs';\nassert.equal(total([1, 2]), 3);\n"
NODE_RIGHT = "export const total = (n) => n.reduce((a, b) => a + b, 0);\n"
NODE_BROKEN = "export const total = () => 0;\n"
NODE_CHEATS = {
    "on import": ("process.exit(0);\nexport const total = 0;\n", "total.mjs ended check.mjs"),
    "when called": ("export const total = () => process.exit();\n", "total.mjs ended check.mjs"),
    "really": ("export const total = () => process.reallyExit(0);\n", "total.mjs ended check.mjs"),
    "after the failure": (f"process.on('exit', () => {{ process.exitCode = 0; process.reallyExit(0); }});\n{NODE_BROKEN}", "check.mjs failed although"),
    "swallowed": (f"process.on('uncaughtException', () => {{}});\n{NODE_BROKEN}", "check.mjs failed although"),
}  # fmt: skip
node = pytest.mark.needs("node")


@node
@pytest.mark.parametrize("name", NODE_CHEATS)
async def test_the_work_does_not_end_a_node_check(tmp_path: Path, name: str) -> None:
    total, said = NODE_CHEATS[name]
    files = {"check.mjs": NODE_CHECK, "total.mjs": NODE_BROKEN}
    examined = await Tried(tmp_path / "p", files, "node check.mjs").claim({"total.mjs": total})
    assert examined.result.exit_code == 0, "the status alone would be believed"
    assert said in "; ".join(examined.faults)


NODE_HONEST = {
    "reaches its end": (NODE_CHECK, NODE_RIGHT),
    "exits itself": (f"{NODE_CHECK}process.exit(0);\n", NODE_RIGHT),
    "exits later": (f"{NODE_CHECK}setTimeout(() => process.exit(0), 10);\n", NODE_RIGHT),
    "ends in the work": ("import { main } from './total.mjs';\n\nmain();\n", "export const main = () => process.exit(0);\n"),
    "is only an import": ("// Runs it.\nimport './total.mjs';\n", "process.exit(0);\n"),
    "starts others": ("import { spawnSync } from 'node:child_process';\nimport assert from 'node:assert';\nassert.equal(spawnSync(process.execPath, ['total.mjs']).status, 3);\n", "process.exit(3);\n"),
}  # fmt: skip


@node
@pytest.mark.parametrize("name", NODE_HONEST)
async def test_an_honest_node_check_passes(tmp_path: Path, name: str) -> None:
    check, total = NODE_HONEST[name]
    files = {"check.mjs": check, "total.mjs": NODE_BROKEN}
    examined = await Tried(tmp_path / "p", files, "node check.mjs").claim({"total.mjs": total})
    assert examined.passed, f"{examined.faults}\n{examined.result.tail}"
