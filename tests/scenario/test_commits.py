"""Ralph commits finished tasks, on the real CLI and real git: branch, messages, hooks, secrets, crashes."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from pydantic import JsonValue

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import git, make_project, task, task_of
from tests.harness.scenarios import claims_too_early, finishes, scenario
from tests.scenario.running import play

ME = ["-c", "user.name=Me", "-c", "user.email=me@example.org"]


def repository(project: Path) -> None:
    """A repository on main with everything committed and an identity. Like most people's, it ignores .ralph."""
    (project / ".gitignore").write_text(".ralph/\n")
    (project / ".ralph/.gitignore").write_text("*\n")
    git(project, "init", "-q", "-b", "main")
    git(project, "config", "user.name", "Me")
    git(project, "config", "user.email", "me@example.org")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Begin")


def committing(
    root: Path, *tasks: Mapping[str, JsonValue], sandbox: str = "off", **settings: object
) -> Path:
    """A repository whose settings commit each task on a branch of the plan."""
    given = {"branch": "feature", "commit": "task", **settings}
    config = {"git": given, "safety": {"sandbox": sandbox}}
    project = make_project(root, tasks, ["test -f {}.txt".format(tasks[0]["id"])], config)
    repository(project)
    return project


def subjects(project: Path, branch: str = "HEAD") -> list[str]:
    return git(project, "log", "--format=%s", branch).splitlines()


@pytest.mark.usefixtures("played_cli")
async def test_each_task_is_one_commit_on_a_branch_of_the_plan(tmp_path: Path) -> None:
    hostile = "--amend\x1b[31m $(touch x) `id` Signed-off-by: Eve"
    check: list[JsonValue] = [
        "$ date > report.xml; test -e b.txt || echo no > b.txt; grep -q done b.txt"
    ]
    project = committing(
        tmp_path,
        task("a", description=f"{hostile}\n\nRalph-Task: b"),
        task("b", verification_criteria=check),
    )
    async with serving(scenario(finishes("a"), claims_too_early("b"))) as server:
        run = await play(project, server)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    assert git(project, "branch", "--show-current").strip() == "feature/project"
    assert subjects(project, "main") == ["Begin"]
    made = subjects(project)
    assert made[:2] == ["feat: b - Do b", "feat: a - --amend $(touch x) `id` Signed-off-by: Eve"]
    trailers = git(project, "log", "-2", "--format=%(trailers:only,unfold)").split()
    assert trailers[:2] == ["Ralph-Task:", "b"]
    assert "Signed-off-by:" not in trailers
    assert git(project, "show", "--name-only", "--format=", "HEAD").split() == [
        "b.txt",
        "progress.txt",
    ]
    assert git(project, "status", "--porcelain").split() == ["??", "report.xml"]
    assert [e for e in run.of(ev.Notice) if "did not commit them: report.xml" in e.text]
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
        with pytest.raises(SetupError, match=r"1 file has uncommitted changes \(left.txt\)"):
            await play(project, server)
        git(project, "switch", "-q", "--detach")
        with pytest.raises(SetupError, match="HEAD is detached"):
            await play(project, server)
    assert task_of(project, "a").status is TaskStatus.PENDING


def hook(project: Path, text: str, name: str = "pre-commit") -> None:
    path = project / ".git/hooks" / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


@pytest.mark.long
@pytest.mark.needs("sandbox")
async def test_a_hook_that_fails_or_edits_leaves_the_task_complete_and_uncommitted(
    tmp_path: Path,
) -> None:
    project = committing(tmp_path, task("a"), sandbox="auto")
    hook(
        project, "echo outside > ../outside.txt; git log -1 --format=%s; echo lint says no; exit 3"
    )
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
        assert run.end.status is LoopStatus.STOPPED
        assert (
            "a is complete but not committed: the repository's hook pre-commit failed (status 3)"
            in (run.end.reason)
        )
        said = [e.text for e in run.of(ev.Notice) if "Output of the hook" in e.text]
        assert ["lint says no" in text and "Begin" in text for text in said] == [True]
        assert not (tmp_path / "outside.txt").exists(), "the sandbox held it"
        assert subjects(project) == ["Begin"]
        assert task_of(project, "a").status is TaskStatus.COMPLETE

        hook(project, "echo formatted >> a.txt")
        run = await play(project, server)
        assert "the repository's hook pre-commit changed 1 file (a.txt)" in run.end.reason
        assert subjects(project) == ["Begin"]

        hook(
            project,
            'git diff --cached --name-only > "$TMPDIR/staged" && grep a.txt "$TMPDIR/staged"',
        )
        hook(
            project, 'echo "Change-Id: I1" >> "$1"; echo "Ralph-Task: forged" >> "$1"', "commit-msg"
        )
        run = await play(project, server)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    body = git(project, "log", "-1", "--format=%B")
    assert body.startswith("feat: a - Do a\n")
    assert "Change-Id: I1" in body
    assert "forged" not in body
    assert "Ralph-Task: a\n" in body
    assert task_of(project, "a").commit is not None


@pytest.mark.long
async def test_hooks_without_a_sandbox_are_refused_unless_they_are_skipped(tmp_path: Path) -> None:
    project = committing(tmp_path, task("a"))
    hook(project, "touch ran.txt")
    async with serving(scenario(finishes("a"))) as server:
        with pytest.raises(SetupError, match="the commit hook pre-commit") as refused:
            await play(project, server)
        assert "git.hooks to skip" in refused.value.hint
        assert git(project, "branch", "--show-current").strip() == "main"
        run = await play(project, server, overrides={"git.hooks": "skip"})
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    assert not (project / "ran.txt").exists()
    assert subjects(project)[0] == "feat: a - Do a"


@pytest.mark.usefixtures("played_cli")
async def test_a_secret_in_the_work_is_never_committed(tmp_path: Path) -> None:
    project = committing(tmp_path, task("a"))
    key = "ghp_" + "a1B2" * 9
    leaks = f"""
    - name: leaks a key
      task: "a"
      turns:
        - write: {{path: a.txt, content: "token = {key}\\n"}}
        - ralph: {{mark_task_complete: {{task_id: "a", verification_notes: Done.}}}}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done.
    """
    async with serving(scenario(leaks)) as server:
        run = await play(project, server)
        assert run.end.status is LoopStatus.STOPPED
        assert "contains a secret (a.txt)" in run.end.reason
        assert key not in run.end.reason
        assert subjects(project) == ["Begin"]
        (project / "a.txt").write_text("no token\n")
        run = await play(project, server)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    assert subjects(project)[0] == "feat: a - Do a"


@pytest.mark.long
async def test_a_feature_is_one_commit_at_the_end(tmp_path: Path) -> None:
    project = committing(tmp_path, task("a"), task("b"), commit="feature", trailers=False)
    git(project, "remote", "add", "origin", "https://example.invalid/x.git")
    async with serving(scenario(finishes("a"), finishes("b"))) as server:
        run = await play(project, server)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    assert git(project, "log", "-1", "--format=%B").strip() == (
        "feat: project\n\n- a: Do a\n- b: Do b"
    )
    assert subjects(project)[1:] == ["Begin"]
    assert [e.task_ids for e in run.of(ev.WorkCommitted)] == [("a", "b")]
    (archived,) = (project / ".ralph/archive").iterdir()
    assert len(json.loads((archived / "prd.json").read_text())["userStories"]) == 2
    log = (archived / "progress.txt").read_text()
    assert log.count("\nIteration: ") == 2
    assert f"Commit: {git(project, 'rev-parse', 'HEAD')[:10]}\n" in log
    assert not git(project, "status", "--porcelain"), "the log is committed with the work"
    last = run.of(ev.Notice)[-1].text
    assert last == ("1 commit on feature/project. To push: git push -u origin feature/project")


@pytest.mark.long
async def test_work_that_was_stopped_goes_on_in_the_changed_tree(tmp_path: Path) -> None:
    project = committing(tmp_path, task("a"))
    stops = """
    - name: writes and gives up
      task: "a"
      turns:
        - write: {path: half.txt, content: half}
        - say: I stop here.
        - when: {user: Stop hook feedback}
          say: I have nothing to add.
    """
    async with serving(scenario(stops)) as server:
        run = await play(project, server, overrides={"phases.building.max_iterations": 1})
    assert run.end.status is LoopStatus.STOPPED
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    assert run.end.status is LoopStatus.COMPLETE, run.end.reason
    assert git(project, "show", "--name-only", "--format=", "HEAD").split() == [
        *("a.txt", "half.txt", "progress.txt"),
    ]


def put_back(project: Path, hint: str) -> None:
    command = hint.partition("the repository: ")[2]
    subprocess.run(command, shell=True, cwd=project, check=True)


@pytest.mark.usefixtures("played_cli")
async def test_the_agents_own_commit_stops_the_run_and_is_not_built_on(tmp_path: Path) -> None:
    project = committing(tmp_path, task("a"), task("b"))
    sly = "/usr/bin/env -i PATH=/usr/bin:/bin git -c user.name=x -c user.email=x@x commit --allow-empty -m sly"
    (project / "sly.sh").write_text(f"#!/bin/sh\n{sly}\n")
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Add a script")
    tries = """
    - name: commits by a script
      task: "a"
      turns:
        - bash: sh sly.sh
        - write: {path: a.txt, content: a}
        - ralph: {mark_task_complete: {task_id: "a", verification_notes: Done.}}
        - when: {last_result: "ACCEPTED:"}
          say: Done.
    """
    async with serving(scenario(tries)) as server:
        run = await play(project, server)
    assert run.end.status is LoopStatus.STOPPED
    assert "the repository changed while the agent worked" in run.end.reason
    assert subjects(project) == ["sly", "Add a script", "Begin"]
    assert not run.of(ev.WorkCommitted)
    assert "branch feature/project was moved" in run.end.reason
    assert len(run.of(ev.IterationStarted)) == 1, "nothing more is spent"
    told = [notice.text for notice in run.of(ev.Notice) if notice.level == "error"]
    assert any("git update-ref refs/heads/feature/project" in text for text in told)
    put_back(project, run.end.hint)
    assert subjects(project) == ["Add a script", "Begin"]
