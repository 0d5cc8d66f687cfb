"""The work cannot end a check that is a plain script: it would end it with other values in the script as well."""

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
    "on import": (ASSERTS, "import os\nos._exit(0)\n"),
    "in the condition of an exit": (MAIN, EXITS),
    "from another thread": (
        ASSERTS, "import os, threading, time\nthreading.Timer(0, os._exit, (0,)).start()\ntime.sleep(5)\n",
    ),
    "the parent of a fork": (ASSERTS, f"import os\nif os.fork():\n    os._exit(0)\n{BROKEN}"),
    "after the failure": (ASSERTS, f"import atexit, os\natexit.register(os._exit, 0)\n{BROKEN}"),
    "hook of failures": (ASSERTS, f"import os, sys\nsys.excepthook = lambda *_: os._exit(0)\n{BROKEN}"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHEATS)
async def test_the_work_does_not_end_a_python_check(tmp_path: Path, name: str) -> None:
    check, total = CHEATS[name]
    tried = Tried(tmp_path / "p", {"check.py": check, "total.py": BROKEN}, PYTHON)
    examined = await tried.claim({"total.py": total})
    assert examined.passed, "the status alone would be believed"
    assert examined.question, examined.runs


async def test_a_changed_check_hides_no_early_end(tmp_path: Path) -> None:
    tried = Tried(tmp_path / "p", {"check.py": ASSERTS, "total.py": BROKEN}, PYTHON)
    examined = await tried.claim({"check.py": f"# more\n{ASSERTS}", "total.py": EXITS})
    assert not examined.passed or examined.question


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
    found = (*examined.faults, *filter(None, [examined.question]))
    assert examined.passed, f"{found}\n{examined.result.tail}"
    assert not found


NODE_CHECK = "import assert from 'node:assert';\nimport { total } from './total.mjs';\nassert.equal(total([1, 2]), 3);\n"
NODE_RIGHT = "export const total = (n) => n.reduce((a, b) => a + b, 0);\n"
NODE_BROKEN = "export const total = () => 0;\n"
NODE_CHEATS = {
    "on import": "process.exit(0);\nexport const total = 0;\n",
    "after the failure": f"process.on('exit', () => {{ process.exitCode = 0; process.reallyExit(0); }});\n{NODE_BROKEN}",
    "swallowed": f"process.on('uncaughtException', () => {{}});\n{NODE_BROKEN}",
}  # fmt: skip
node = pytest.mark.needs("node")


@node
@pytest.mark.parametrize("name", NODE_CHEATS)
async def test_the_work_does_not_end_a_node_check(tmp_path: Path, name: str) -> None:
    files = {"check.mjs": NODE_CHECK, "total.mjs": NODE_BROKEN}
    claimed = {"total.mjs": NODE_CHEATS[name]}
    examined = await Tried(tmp_path / "p", files, "node check.mjs").claim(claimed)
    assert examined.passed, "the status alone would be believed"
    assert examined.question, examined.runs


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
    found = (*examined.faults, *filter(None, [examined.question]))
    assert examined.passed, f"{found}\n{examined.result.tail}"
    assert not found
