"""Checks as people write them, on the real CLI: run as written, and questioned before anything is spent."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, plan_of, task, task_of
from tests.harness.real_processes import run_ralph
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play
from tests.scenario.test_sandbox import SANDBOX

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


BASELINE = {"phases": {"building": {"baseline": True, "gate_timeout_seconds": 20}}}
WATCH = "import fs from 'fs';console.log(' PASS  Waiting for file changes...');fs.watch('.',()=>{});setInterval(()=>{},1e6);"
SECRET = """[ -n "$DJANGO_SECRET_KEY" ] || { echo 'ImproperlyConfigured: The SECRET_KEY setting is empty.'; exit 1; }
test -f a.txt
"""


@pytest.mark.parametrize(
    ("criterion", "files", "told"),
    [
        (
            "sh check.sh || echo failed",
            {"check.sh": "exit 1\n"},
            "the status of `sh check.sh` is lost; write it as `sh check.sh`",
        ),
        (
            "npm test",
            {
                "package.json": '{"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "1"}}'
            },
            "`npm test` cannot start: the dependencies of package.json are not installed. Run `npm install`",
        ),
        (
            "node watch.mjs",
            {"watch.mjs": WATCH},
            "`node watch.mjs` does not end: it waits for changes of files. It last printed: PASS Waiting",
        ),
        ("sh check.sh", {"check.sh": SECRET}, "add DJANGO_SECRET_KEY to safety.check_environment"),
    ],
    ids=["masked", "not installed", "watch mode", "hidden variable"],
)
async def test_a_check_that_shows_nothing_ends_the_run_before_anything_is_spent(
    tmp_path: Path, criterion: str, files: dict[str, str], told: str
) -> None:
    tasks = [task("a", verification_criteria=[f"$ {criterion}"])]
    project = make_project(tmp_path, tasks, (), config=BASELINE, files=files)
    async with serving(scenario(finishes("a"))) as server:
        ran = await run_ralph(
            ["build", "--headless"], project, server, {"DJANGO_SECRET_KEY": "dev-only"}
        )
        assert ran.status == 3, ran.stdout
        assert told in " ".join((ran.stdout + ran.stderr).split())
        assert not server.requests


async def test_a_variable_is_passed_on_and_ci_ends_a_watch_mode(tmp_path: Path) -> None:
    watch = f"{WATCH}if (process.env.CI) process.exit(fs.existsSync('a.txt') ? 0 : 1);"
    criteria: list[JsonValue] = ["$ sh check.sh", "$ node watch.mjs"]
    config = {**BASELINE, "safety": {"check_environment": ["DJANGO_SECRET_KEY"]}}
    project = make_project(
        tmp_path,
        [task("a", verification_criteria=criteria)],
        (),
        config=config,
        files={"check.sh": SECRET, "watch.mjs": watch},
    )
    async with serving(scenario(finishes("a"))) as server:
        ran = await run_ralph(
            ["build", "--headless"], project, server, {"DJANGO_SECRET_KEY": "dev-only"}
        )
    assert ran.status == 0, ran.stdout


async def test_until_works_until_the_command_passes(tmp_path: Path) -> None:
    project = make_project(tmp_path, (), (), files={"check.sh": "test -f task-001.txt\n"})
    words = ["until", "sh check.sh", "Write the file", "--headless"]
    async with serving(scenario(finishes("task-001"))) as server:
        ran = await run_ralph(words, project, server)
        assert ran.status == 0, ran.stdout
        assert task_of(project, "task-001").description == "Write the file"
        spent = len(server.requests)
        again = await run_ralph(words, project, server)
        assert again.status == 0, again.stdout
        assert "nothing to do: `sh check.sh` passes already" in again.stdout
        assert len(server.requests) == spent
        assert len(plan_of(project).tasks) == 1
