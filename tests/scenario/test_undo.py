"""Work is undone on the real CLI: with commits, without a repository, and where it must be refused."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.events import EVENT, IterationFinished, WorkUndone
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.domain.run.undo_result import UndoneHow
from ralph_tui.engine.control.controls import Controls
from tests.cli.processes import inside
from tests.harness.model import serving
from tests.harness.projects import git, make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import play
from tests.scenario.test_commits import committing, subjects


def edits(task_id: str, *commands: str) -> str:
    ran = "\n".join(f"        - bash: {command}" for command in commands)
    return f"""
    - name: edits for {task_id}
      task: "{task_id}"
      turns:
{ran}
        - ralph: {{mark_task_complete: {{task_id: "{task_id}", verification_notes: Done.}}}}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done.
    """


FILES = {"kept.txt": "1\r\n2\n", "gone.txt": "here\n", ".gitattributes": "* text=auto\n"}


@pytest.mark.usefixtures("played_cli")
async def test_a_task_is_undone_byte_for_byte_without_a_repository(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a"), task("b")], ["test -f new/a.txt"], files=FILES)
    script = scenario(
        edits("a", "mkdir new; echo a > new/a.txt; echo 3 >> kept.txt; rm gone.txt"),
        edits("b", "echo b > b.txt"),
    )
    async with serving(script) as server:
        run = await play(project, server)
    end = run.end
    assert end.status is LoopStatus.COMPLETE, end.reason
    assert (end.files_changed, end.lines_added, end.lines_removed) == (4, 3, 1), (
        "and its end says it"
    )
    changed = ("gone.txt", "kept.txt", "new/a.txt")
    assert run.of(IterationFinished)[0].files_changed == changed, "commands changed them"
    progress = (project / "progress.txt").read_text()
    assert "new/a.txt" in progress
    assert "new/a.txt" in (project / ".ralph/memory/iterations/iter-001.md").read_text()
    controls = Controls(project)
    shown = controls.undo_preview("a")
    assert [(f.path, f.how) for f in shown.files] == [
        ("gone.txt", UndoneHow.BRING_BACK),
        ("kept.txt", UndoneHow.RESTORE),
        ("new/a.txt", UndoneHow.REMOVE),
    ]
    assert (project / "new/a.txt").exists(), "a preview changes nothing"
    done = controls.undo(shown)
    assert done.commit == ""
    assert {name: (project / name).read_bytes().decode() for name in FILES} == FILES
    assert not (project / "new").exists()
    assert (project / "b.txt").read_text() == "b\n"
    undone = task_of(project, "a")
    assert (undone.status, undone.verification) == (TaskStatus.PENDING, None)
    assert task_of(project, "b").status is TaskStatus.COMPLETE
    lines = (project / ".ralph/events.jsonl").read_bytes().splitlines()
    last = EVENT.validate_json(lines[-1])
    assert isinstance(last, WorkUndone)
    assert (last.task_id, last.iterations) == ("a", (1,))
    report = json.loads(inside("report", "--json", cwd=project).stdout)
    assert [line["outcome"] for line in report["timeline"]] == ["undone", "complete"]
    assert report["files"] == ["b.txt"]
    assert "You undid a" in report["ending"]
    assert "undone by the person" in inside("memory", "--show", cwd=project).stdout
    assert "UNDONE: The person undid a" in (project / "progress.txt").read_text()


@pytest.mark.long
async def test_a_committed_task_is_undone_by_a_new_commit(tmp_path: Path) -> None:
    project = committing(tmp_path, task("a"), task("b"))
    assert inside("export", "prd.json", "--as", "prd", "--follow", cwd=project).returncode == 0
    git(project, "add", "-A")
    git(project, "commit", "-q", "-m", "Follow the plan")
    script = scenario(edits("a", "echo a > a.txt"), edits("b", "echo b > b.txt"))
    async with serving(script) as server:
        await play(project, server)
    assert passes(project) == {"a": True, "b": True}
    before = subjects(project)
    controls = Controls(project)
    shown = controls.undo_preview("1")
    assert shown.commits_to == "feature/project"
    done = controls.undo(shown)
    assert subjects(project) == ["Undo a: Do a", *before]
    assert git(project, "rev-parse", "HEAD").strip() == done.commit
    assert git(project, "show", "--format=", "--name-status", "HEAD").split() == ["D", "a.txt"]
    assert passes(project) == {"a": False, "b": True}
    # The next run starts all the same, because ralph itself wrote what is not committed.
    assert git(project, "status", "--porcelain").split() == ["M", "prd.json", "M", "progress.txt"]
    assert task_of(project, "a").status is TaskStatus.PENDING
    with pytest.raises(RalphError, match="There are no snapshots of iteration 1"):
        controls.undo_preview("1")
    async with serving(script) as server:  # and the next run builds it again, on the same branch
        again = await play(project, server)
    assert again.end.status is LoopStatus.COMPLETE, again.end.reason
    assert subjects(project)[0] == "feat: a - Do a"
    assert git(project, "status", "--porcelain") == ""


def passes(project: Path) -> dict[str, bool]:
    stories = json.loads((project / "prd.json").read_text())["userStories"]
    return {story["id"]: story["passes"] for story in stories}


@pytest.mark.long
async def test_what_cannot_be_undone_cleanly_is_refused_with_the_reason(tmp_path: Path) -> None:
    tasks = [task("a"), task("b"), task("c", dependencies=["a"])]
    project = make_project(tmp_path, tasks, ["test -f one.txt"])
    script = scenario(
        edits("a", "echo a > one.txt; echo a > two.txt"),
        edits("b", "echo b >> one.txt"),
        edits("c", "echo c > three.txt"),
    )
    async with serving(script) as server:
        await play(project, server)
    controls = Controls(project)
    with pytest.raises(RalphError, match="c depends on a, so a cannot be undone alone"):
        controls.undo_preview("a")
    controls.undo(controls.undo_preview("c"))
    with pytest.raises(RalphError, match=r"b later changed the same files \(one.txt\)") as refused:
        controls.undo_preview("a")
    assert "ralph undo b" in refused.value.hint
    (project / "one.txt").write_text("mine\n")
    with pytest.raises(RalphError, match=r"1 file of b was changed since then \(one.txt\)"):
        controls.undo_preview("b")
    assert (project / "one.txt").read_text() == "mine\n"
    with pytest.raises(RalphError, match="There are no snapshots of iteration 9"):
        controls.undo_preview("9")
    with pytest.raises(RalphError, match="There is no task 'zz'"):
        controls.undo_preview("zz")
