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
    "after the failure": (ASSERTS, f"import atexit, os\natexit.register(os._exit, 0)\n{BROKEN}"),
}  # fmt: skip


@pytest.mark.parametrize("name", CHEATS)
async def test_the_work_does_not_end_a_python_check(tmp_path: Path, name: str) -> None:
    check, total = CHEATS[name]
    tried = Tried(tmp_path / "p", {"check.py": check, "total.py": BROKEN}, PYTHON)
    examined = await tried.claim({"total.py": total})
    assert examined.passed, "the status alone would be believed"
    assert examined.question, examined.runs


HONEST = {
    "reaches_its_end": ASSERTS,
    "exits_at_its_end": MAIN,
    "exits_early_itself": f"import sys\n{ASSERTS}sys.exit(0)\nprint('never')\n",
    "ends_in_the_work": "import app\n\n\ndef main():\n    app.run()\n\n\nmain()\n",
}  # fmt: skip


async def test_honest_python_checks_pass(tmp_path: Path) -> None:
    files = {f"{name}.py": text for name, text in HONEST.items()}
    work = {"total.py": BROKEN, "app.py": ""}
    chain = " && ".join(f"{REAL} {name}" for name in files)
    tried = Tried(tmp_path / "p", {**files, **work}, chain)
    examined = await tried.claim({"total.py": RIGHT, "app.py": APP})
    found = (*examined.faults, *filter(None, [examined.question]))
    assert examined.passed, f"{found}\n{examined.result.tail}"
    assert not found


NODE_CHECK = "import assert from 'node:assert';\nimport { total } from './total.mjs';\nassert.equal(total([1, 2]), 3);\n"
NODE_RIGHT = "export const total = (n) => n.reduce((a, b) => a + b, 0);\n"
NODE_BROKEN = "export const total = () => 0;\n"
NODE_EXITS = "process.exit(0);\nexport const total = 0;\n"
node = pytest.mark.needs("node")


@node
async def test_the_work_does_not_end_a_node_check(tmp_path: Path) -> None:
    tried = Tried(tmp_path, {"check.mjs": NODE_CHECK, "total.mjs": NODE_BROKEN}, "node check.mjs")
    examined = await tried.claim({"total.mjs": NODE_EXITS})
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
