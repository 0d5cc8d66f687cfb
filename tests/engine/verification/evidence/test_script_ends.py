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
    "reaches_its_end": ASSERTS,
    "exits_at_its_end": MAIN,
    "exits_early_itself": f"import sys\n{ASSERTS}sys.exit(0)\nprint('never')\n",
    "exits_in_a_function": f"import sys\n{ASSERTS}\n\ndef done():\n    sys.exit()\n\n\ndone()\nprint()\n",
    "leaves_threads_behind": f"import os\n{ASSERTS}os._exit(0)\n",
    "starts_itself_again": f"import os, sys\nif 'AGAIN' not in os.environ:\n    os.environ['AGAIN'] = ''\n    os.execv(sys.executable, [sys.executable, *sys.argv])\n{ASSERTS}",
    "ends_in_the_work": "import app\n\n\ndef main():\n    app.run()\n\n\nmain()\n",
    "ends_in_the_works_status": "import sys\nimport app\n\nsys.exit(app.run())\n",
    "runs_the_work_as_a_program": "import runpy\n\nrunpy.run_module('program', run_name='__main__')\n",
    "uses_argparse_and_unittest": "import unittest\nfrom total import total\n\n\nclass T(unittest.TestCase):\n    def test_one(self):\n        self.assertEqual(total([1]), 1)\n\n\nunittest.main()\n",
    "knows_itself": "import os, pickle, sys, __main__\nfrom total import total\n\n\nclass A:\n    pass\n\n\nassert pickle.loads(pickle.dumps(A())).__class__ is __main__.A is A\nassert os.path.isabs(__file__) and sys.argv == ['knows_itself.py']\nassert sys.path[0] == os.path.dirname(__file__) and __name__ == '__main__'\nassert total([1]) == 1\n",
    "starts_processes": "import multiprocessing as m\nfrom total import total\n\nif __name__ == '__main__':\n    with m.get_context('spawn').Pool(1) as pool:\n        assert pool.map(total, [[1, 2]]) == [3]\n",
}  # fmt: skip


async def test_honest_python_checks_pass(tmp_path: Path) -> None:
    files = {f"{name}.py": text for name, text in HONEST.items()}
    work = {"total.py": BROKEN, "app.py": "", "program.py": ""}
    chain = " && ".join(f"{REAL} {name}" for name in files)
    tried = Tried(tmp_path / "p", {**files, **work}, chain)
    done = {"total.py": RIGHT, "app.py": APP, "program.py": "import sys\nsys.exit(0)\n"}
    examined = await tried.claim(done)
    assert examined.passed, f"{examined.faults}\n{examined.result.tail}"


@pytest.mark.parametrize("command", [f"{PYTHON} || true", f"{PYTHON} | cat"])
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
    "reaches_its_end": NODE_CHECK,
    "exits_itself": f"{NODE_CHECK}process.exit(0);\n",
    "exits_later": f"{NODE_CHECK}setTimeout(() => process.exit(0), 10);\n",
    "ends_in_the_work": "import { main } from './main.mjs';\n\nmain();\n",
    "is_only_an_import": "// Runs it.\nimport './program.mjs';\n",
    "starts_others": "import { spawnSync } from 'node:child_process';\nimport assert from 'node:assert';\nassert.equal(spawnSync(process.execPath, ['three.mjs']).status, 3);\n",
}  # fmt: skip


@node
async def test_honest_node_checks_pass(tmp_path: Path) -> None:
    files = {f"{name}.mjs": text for name, text in NODE_HONEST.items()}
    work = {
        "total.mjs": NODE_RIGHT,
        "main.mjs": "export const main = () => process.exit(0);\n",
        "program.mjs": "process.exit(0);\n",
        "three.mjs": "process.exit(3);\n",
    }
    chain = " && ".join(f"node {name}" for name in files)
    tried = Tried(tmp_path / "p", {**files, **dict.fromkeys(work, NODE_BROKEN)}, chain)
    examined = await tried.claim(work)
    assert examined.passed, f"{examined.faults}\n{examined.result.tail}"
