"""Checks as people write them, on the real CLI: run as written, and questioned before anything is spent."""

import json
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.verification import check_command
from tests.cli.processes import inside
from tests.harness.model import serving, serving_in_thread
from tests.harness.projects import make_project, plan_of, task, task_of
from tests.harness.real_processes import ralph_environment
from tests.harness.scenarios import finishes, scenario, stops_without_claim
from tests.scenario.running import play
from tests.scenario.test_sandbox import SANDBOX

UNITTEST = """import unittest


class Made(unittest.TestCase):
    def test_made(self):
        open("a.txt").close()


if __name__ == "__main__":
    unittest.main()
"""


BASELINE = {"phases": {"building": {"baseline": True, "gate_timeout_seconds": 20}}}
WATCH = "import fs from 'fs';console.log(' PASS  Waiting for file changes...');fs.watch('.',()=>{});setInterval(()=>{},1e6);"
SECRET = """[ -n "$DJANGO_SECRET_KEY" ] || { echo 'ImproperlyConfigured: The SECRET_KEY setting is empty.'; exit 1; }
test -f a.txt
"""


@pytest.fixture(autouse=True)
def secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SECRET_KEY", "dev-only")
    monkeypatch.setattr(check_command, "IDLE_SECONDS", 0.3)


@pytest.mark.usefixtures("played_cli")
@pytest.mark.needs("sandbox", "node")
async def test_a_criterion_runs_as_written_with_a_variable_and_ci(tmp_path: Path) -> None:
    written = [
        "python3 -m unittest -q",
        "PYTHONHASHSEED=0 python3 test_x.py",
        "cat a.txt | head -1",
        "node --test",
        "sh check.sh",
        "node watch.mjs",
    ]
    criteria: list[JsonValue] = [f"$ {command}" for command in written]
    files = {
        "test_x.py": UNITTEST,
        "a.test.js": "require('node:test').test('a', () => require('fs').readFileSync('a.txt'))\n",
        "check.sh": SECRET,
        "watch.mjs": f"{WATCH}if (process.env.CI) process.exit(fs.existsSync('a.txt') ? 0 : 1);",
    }
    tasks = [task("a", verification_criteria=criteria)]
    safety = {**SANDBOX["safety"], "check_environment": ["DJANGO_SECRET_KEY"]}
    config = {**SANDBOX, **BASELINE, "safety": safety}
    project = make_project(tmp_path, tasks, (), config=config, files=files)
    (project / "pyproject.toml").unlink()
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    (gate,) = run.of(ev.GateFinished)
    assert [r.command for r in gate.receipts] == written
    assert gate.passed, json.dumps([r.tail for r in gate.receipts], indent=1)
    assert task_of(project, "a").status is TaskStatus.COMPLETE


@pytest.mark.costly
async def test_checks_that_show_nothing_end_the_run_before_anything_is_spent(
    tmp_path: Path,
) -> None:
    checks = ("sh red.sh || echo failed", "npm test", "node watch.mjs", "sh check.sh")
    told = (
        "the status of `sh red.sh` is lost; write it as `sh red.sh`",
        "`npm test` cannot start: the dependencies of package.json are not installed.",
        "Run `npm install`",
        "`node watch.mjs` does not end: it waits for changes of files. It last printed: PASS Waiting",
        "add DJANGO_SECRET_KEY to safety.check_environment",
    )
    package = {"scripts": {"test": "vitest run"}, "devDependencies": {"vitest": "1"}}
    files = {"red.sh": "exit 1\n", "watch.mjs": WATCH, "check.sh": SECRET}
    files["package.json"] = json.dumps(package)
    tasks = [task("a", verification_criteria=[f"$ {command}" for command in checks])]
    project = make_project(tmp_path, tasks, (), config=BASELINE, files=files)
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
        assert not server.requests
    assert run.end.exit_code == 3
    said = " ".join(f"{run.end.reason} {run.end.hint}".split())
    assert [words for words in told if words not in said] == [], said


@pytest.mark.costly
@pytest.mark.usefixtures("played_cli")
def test_until_works_until_the_command_passes(tmp_path: Path) -> None:
    count = "echo >> ../runs; test -f task-001.txt || test -f task-002.txt\n"
    files = {"check.sh": count, "guard.sh": "true\n"}
    project = make_project(tmp_path, (), ("sh guard.sh",), files=files)
    dead = "http://127.0.0.1:9"
    with serving_in_thread(scenario(finishes("task-001"), finishes("task-002"))) as server:

        def until(*words: str, place: str = server.url) -> tuple[int, str]:
            environ = {**ralph_environment(server, tmp_path), "ANTHROPIC_BASE_URL": place}
            ended = inside("until", *words, "--headless", cwd=project, environ=environ)
            return ended.returncode, ended.stdout + ended.stderr

        for command, place, status, said in (
            (
                "nosuchtool",
                server.url,
                3,
                "`nosuchtool` cannot start: `nosuchtool` is not installed",
            ),
            ("sh check.sh || true", server.url, 3, "the status of `sh check.sh` is lost"),
            ("git push", server.url, 3, "`git push` may not run"),
            ("sh check.sh", dead, 3, f"Nothing listens at {dead}"),
            ("true", dead, 0, "Nothing to do: `true` passes already."),
        ):
            code, told = until(command, place=place)
            assert (code, said in told) == (status, True), told
            assert not plan_of(project).tasks
        assert not server.requests
        runs = tmp_path / "runs"
        runs.unlink()
        (project / "guard.sh").write_text("nosuchtool\n")
        assert until("test -f b.txt")[0] == 3
        assert plan_of(project).tasks, "the check of the project failed after the task was written"
        (project / "guard.sh").write_text("true\n")
        code, told = until("sh check.sh", "Write the file")
        assert code == 0, told
        (only,) = plan_of(project).tasks
        assert (only.description, only.status) == ("Write the file", TaskStatus.COMPLETE)
        assert len(runs.read_text()) == 2, (
            "once before the work, once for the claim; the judge tree has its own"
        )


@pytest.mark.usefixtures("played_cli")
def test_until_replaces_only_a_task_of_its_own_that_nobody_began(tmp_path: Path) -> None:
    project = make_project(tmp_path, (), (), files={})
    with serving_in_thread(scenario(stops_without_claim("task-001"))) as server:
        environ = ralph_environment(server, tmp_path)
        stuck = ["until", "test -f a.txt", "--headless", "--once"]
        assert inside(*stuck, cwd=project, environ=environ).returncode == 1
        another = ["until", "test -f b.txt", "--headless"]
        other = inside(*another, cwd=project)
        assert "remove it: ralph drop task-001" in other.stderr
        assert inside(*stuck, cwd=project, environ=environ).returncode == 1, "it continues"
        assert task_of(project, "task-001").iterations == 2
        for words in (["drop", "task-001"], ["add", "Mine", "--check", "test -f c.txt"]):
            assert inside(*words, cwd=project).returncode == 0
        other = inside(*another, cwd=project)
        assert "remove them (`ralph drop task-001`)" in other.stderr
        assert [task.description for task in plan_of(project).tasks] == ["Mine"]
