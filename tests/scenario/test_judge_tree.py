"""Projects whose checks need what git ignores, on the real CLI: judged with the originals, and nothing is copied."""

import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.verification.verification import Place
from ralph_tui.store.backup.mirror import mirror_of
from tests.engine.verification.evidence.projects import write
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import play

NODE = """\
import test from 'node:test'
import assert from 'node:assert'
import { pad } from '../src.js'
test('pad', () => assert.equal(pad('x'), '    x'))
"""
PYTHON = """\
import unittest
from site_only import NAME

class Names(unittest.TestCase):
    def test_name(self):
        self.assertEqual(NAME, "site")
"""
FILES = {
    "package.json": '{"private": true, "scripts": {"test": "node --test packages/app/test/"}}',
    "packages/app/package.json": '{"name": "app", "type": "module"}',
    "packages/app/node_modules/leftpad/package.json": '{"name": "leftpad", "main": "index.js"}',
    "packages/app/node_modules/leftpad/index.js": "module.exports = (s, n) => String(s).padStart(n)\n",
    "packages/app/src.js": "import leftpad from 'leftpad'\nexport const pad = s => leftpad(s, 5)\n",
    "packages/app/test/pad.test.js": NODE,
    "api/test_api.py": PYTHON,
    "data/small": "",
    ".gitignore": "node_modules/\n.venv/\ndata/\n",
}
CHECKS = ("npm test", "(cd api && .venv/bin/python -m unittest -q test_api)")
SPARSE, LARGEST = 3 * 2**30, 64 * 2**20
"""Bytes of a file that is not copied, and of the largest file that anything may write."""


@contextmanager
def only_small_files() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def with_environments(root: Path) -> None:
    write(root, FILES)
    subprocess.run(["truncate", "-s", str(SPARSE), root / "data/data.mdb"], check=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", root / "api/.venv"], check=True)
    (site,) = (root / "api/.venv/lib").glob("python*/site-packages")
    write(site, {"site_only.py": "NAME = 'site'\n"})


def kept(directory: Path) -> int:
    """The bytes on disk below a directory."""
    return sum(path.lstat().st_blocks * 512 for path in directory.rglob("*"))


@pytest.mark.costly
@pytest.mark.parametrize("sandbox", [pytest.param("off", marks=pytest.mark.long), "auto"])
async def test_a_monorepo_with_changed_tests_is_judged_with_what_git_ignores(
    tmp_path: Path, sandbox: str
) -> None:
    criteria: list[JsonValue] = [f"$ {check}" for check in CHECKS]
    project = make_project(
        tmp_path,
        [task("a", verification_criteria=criteria)],
        [],
        config={"safety": {"sandbox": sandbox}},
    )
    with_environments(project)
    more = "test('pad again', () => assert.equal(pad('xy'), '   xy'))"
    script = f"""
    - name: extends the tests
      task: "a"
      turns:
        - bash: |
            echo "{more}" >> packages/app/test/pad.test.js
            printf '\\n    def test_more(self):\\n        self.assertTrue(NAME)\\n' >> api/test_api.py
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Done.}}}}
        - when: {{last_result: "NOT YET"}}
          ralph: {{mark_task_blocked: {{task_id: a, reason: refused}}}}
    """
    async with serving(scenario(script)) as server:
        with only_small_files():
            run = await play(project, server)
    receipts = run.of(ev.GateFinished)[-1].receipts
    assert task_of(project, "a").status is TaskStatus.COMPLETE, receipts
    assert [(one.place, one.counts is not None) for one in receipts] == [(Place.COPY, True)] * 2
    assert kept(mirror_of(project)) < LARGEST
    assert not list(project.rglob("packages/app/node_modules/.*"))
