"""`ralph until`, on the real CLI; checks as people write them are in `runs/commands.txt`."""

from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from tests.cli.processes import inside
from tests.harness.model import serving_in_thread
from tests.harness.projects import make_project, plan_of, task_of
from tests.harness.real_processes import ralph_environment
from tests.harness.scenarios import finishes, scenario, stops_without_claim


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
