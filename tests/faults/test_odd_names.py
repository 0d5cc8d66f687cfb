"""Lines 21, 30: names of directories and tasks that a careless program stumbles over."""

import os
from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from tests.cli.processes import inside
from tests.harness.model import serving, serving_in_thread
from tests.harness.projects import events_of, make_project, plan_of, task
from tests.harness.real_processes import ralph_environment, run_ralph
from tests.harness.scenarios import finishes, scenario

NAMES = ("two words", "new\nline", "[red]\N{SNOWMAN} 'q\"", "-rf", "e\N{COMBINING ACUTE ACCENT}")


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
async def test_a_project_may_have_any_name(tmp_path: Path, name: str) -> None:
    (tmp_path / name).mkdir()
    project = make_project(tmp_path / name, [task("a")])
    async with serving(scenario(finishes("a"))) as server:
        ran = await run_ralph(["build", "--headless"], project, server)
        status = await run_ralph(["status"], project)
    assert (ran.status, status.status) == (0, 0), ran.stdout[-500:] + ran.stderr[-500:]
    assert plan_of(project).tasks[0].status is TaskStatus.COMPLETE
    assert (project / "a.txt").read_text() == "done\n"


def test_a_name_the_cli_cannot_be_told_is_refused_before_anything_is_spent(
    tmp_path: Path,
) -> None:
    odd = tmp_path / os.fsdecode(b"caf\xe9")
    odd.mkdir()
    project = make_project(odd, [task("a")])
    with serving_in_thread(scenario(finishes("a"))) as server:
        environ = ralph_environment(server, tmp_path)
        ran = inside("build", "--headless", cwd=project, environ=environ)
        assert not server.requests
    assert ran.returncode == 3
    assert "caf\N{REPLACEMENT CHARACTER}/project, because its name is not valid UTF-8" in ran.stderr
    assert "Traceback" not in ran.stdout + ran.stderr
    assert events_of(project) == []
    assert inside("status", cwd=project).returncode == 0
