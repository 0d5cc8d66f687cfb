"""Ralph commits finished tasks, on the real CLI and real git: branch, messages, hooks, secrets, crashes."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.events import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play

pytestmark = pytest.mark.real_cli

ME = ["-c", "user.name=Me", "-c", "user.email=me@example.org"]


def git(project: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", *arguments], cwd=project, check=True, capture_output=True, text=True
    )
    return done.stdout


def repository(project: Path) -> None:
    """A repository on main with everything committed and an identity."""
    (project / ".ralph/.gitignore").write_text("*\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "Me")
    git(project, "config", "user.email", "me@example.org")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Begin")


def committing(root: Path, *tasks: Mapping[str, JsonValue], **settings: object) -> Path:
    given = {"branch": "feature", "commit": "task", **settings}
    project = make_project(root, tasks, ["test -f {}.txt".format(tasks[0]["id"])], {"git": given})
    repository(project)
    return project


def subjects(project: Path, branch: str = "HEAD") -> list[str]:
    return git(project, "log", "--format=%s", branch).splitlines()


async def test_each_task_is_one_commit_on_a_branch_of_the_plan(tmp_path: Path) -> None:
    hostile = "--amend\x1b[31m $(touch x) `id` Signed-off-by: Eve"
    project = committing(tmp_path, task("a", description=f"{hostile}\n\nRalph-Task: b"), task("b"))
    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        run = await play(project, server)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    assert git(project, "branch", "--show-current").strip() == "feature/project"
    assert subjects(project, "main") == ["Begin"]
    made = subjects(project)
    assert made[:2] == ["feat: b - Do b", "feat: a - --amend $(touch x) `id` Signed-off-by: Eve"]
    trailers = git(project, "log", "-2", "--format=%(trailers:only,unfold)").split()
    assert trailers[:2] == ["Ralph-Task:", "b"]
    assert "Signed-off-by:" not in trailers
    assert git(project, "show", "--name-only", "--format=", "HEAD").split() == ["b.txt"]
    assert git(project, "status", "--porcelain") == ""
    told = run.of(ev.WorkCommitted)
    assert [e.task_ids for e in told] == [("a",), ("b",)]
    assert told[1].commit == git(project, "rev-parse", "HEAD").strip()
    kept = task_of(project, "b").commit
    assert kept is not None
    assert (kept.hash, kept.pending) == (told[1].commit, False)
    assert not [e for e in run.of(ev.Notice) if "repository changed" in e.text]


async def test_a_protected_branch_and_changed_files_are_refused_before_any_request(
    tmp_path: Path,
) -> None:
    project = committing(tmp_path, task("a"), branch="off")
    async with serving(scenario(finishes("a"))) as server:
        with pytest.raises(SetupError, match="protected branch main") as refused:
            await play(project, server)
        assert "git.branch" in refused.value.hint
        git(project, "switch", "-q", "-c", "mine")
        (project / "left.txt").write_text("mine")
        with pytest.raises(SetupError, match=r"1 file is changed and not committed \(left.txt\)"):
            await play(project, server)
        git(project, "switch", "-q", "--detach")
        with pytest.raises(SetupError, match="HEAD is detached"):
            await play(project, server)
    assert task_of(project, "a").status is TaskStatus.PENDING
