"""`ralph archive` as a person types it."""

import json
from pathlib import Path

from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.projects import make_project, plan_of, task


def test_the_plan_is_archived_listed_and_cleared_of_what_is_done(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a", status="complete"), task("b", dependencies=["a"])])
    assert "Nothing is archived yet" in inside("archive", "--list", cwd=project).stdout
    first = json.loads(inside("archive", "--json", cwd=project).stdout)
    assert (project / ".ralph/archive" / first["name"] / "plan.json").is_file()
    done = inside("archive", "--complete", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "1 complete task" in done.stdout
    assert [t.id for t in plan_of(project).tasks] == ["b"]
    listed = json.loads(inside("archive", "--list", "--json", cwd=project).stdout)["archives"]
    assert [(one["tasks_complete"], one["tasks_total"]) for one in listed] == [(1, 1), (1, 2)]
    again = inside("archive", "--complete", cwd=project)
    assert (again.returncode, "No complete task" in again.stderr) == (3, True)
    reset = inside("reset", "--yes", cwd=project)
    assert "archive" not in reset.stdout
    assert (project / ".ralph/archive" / first["name"]).is_dir(), "a reset keeps the archives"


def test_nothing_is_archived_beside_a_loop_or_under_a_wrong_name(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a", status="complete")])
    lock = LoopLock(Project(project).layout)
    lock.acquire("a run")
    try:
        refused = inside("archive", cwd=project)
    finally:
        lock.release()
    assert refused.returncode == 3
    assert not (project / ".ralph/archive").exists()
    for words in (("../x",), ("nobody",), ("--list", "--complete")):
        wrong = inside("archive", *words, cwd=project)
        assert wrong.returncode != 0, words
        assert "Traceback" not in wrong.stderr


def test_a_retired_task_is_not_imported_again(tmp_path: Path) -> None:
    todo = "- [x] Write it\n- [ ] Ship it\n"
    project = make_project(tmp_path, files={"TODO.md": todo})
    assert inside("import", "TODO.md", "--yes", cwd=project).returncode == 0
    assert inside("archive", "--complete", cwd=project).returncode == 0
    left = [t.title for t in plan_of(project).tasks]
    assert left == ["Ship it"]
    again = inside("import", "TODO.md", "--yes", cwd=project)
    assert again.returncode == 0, again.stderr
    assert [t.title for t in plan_of(project).tasks] == left
    assert (project / "TODO.md").read_text() == todo
