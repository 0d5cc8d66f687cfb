"""`ralph undo`: it shows what it would change, asks, and changes nothing where nobody can answer."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import TaskCommit, TaskStatus
from ralph_tui.engine.control.undo import snapshots_of
from ralph_tui.store.backup.check_store import CheckStore
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.projects import git, make_project, repository, task, task_of


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A project in which iteration 1 has worked on task a, and task 1 waits."""
    root = make_project(tmp_path, [task("a", status="complete"), task("1")], files={"old": "1\n"})
    project = Project(root)
    project.transact(lambda docs: docs.with_state(started_at=datetime.now(UTC), iteration_count=1))
    store = snapshots_of(root)
    store.begin(1, "a", "run")
    (root / "old").write_text("2\n")
    (root / "new \x1b[31m").write_text("x\ny\n")
    store.end(1)
    return root


def test_without_an_answer_nothing_changes_and_the_status_says_so(root: Path) -> None:
    done = inside("undo", "a", cwd=root)
    assert done.returncode == 4
    assert "Give --yes to agree" in done.stderr
    assert done.stdout == (
        "a: Do a (iteration 1)\n"
        "  remove      new  +0 -2\n"
        "  restore     old  +1 -1\n"
        "2 files will change (+1 -3). a becomes pending again.\n"
    )
    assert (root / "old").read_text() == "2\n"
    assert task_of(root, "a").status is TaskStatus.COMPLETE


def test_yes_undoes_it_and_json_says_what_was_done(root: Path) -> None:
    asked = inside("undo", "a", "--json", cwd=root)
    assert (asked.returncode, json.loads(asked.stdout)["undone"]) == (4, False)
    done = inside("undo", "#1", "--yes", "--json", cwd=root)
    told = json.loads(done.stdout)
    assert (told["undone"], told["task_id"], told["iterations"]) == (True, "a", [1])
    assert (root / "old").read_text() == "1\n"
    assert sorted(p.name for p in root.iterdir() if p.name.startswith("new")) == []
    assert task_of(root, "a").status is TaskStatus.PENDING


def test_an_undone_task_has_all_its_attempts_and_iterations_again(root: Path) -> None:
    store = CheckStore(root)
    store.save_outcomes("pytest", {"test_of_a": "passed"})
    used = {"retry_count": 2, "iterations": 9, "review_rejections": 1}
    project = Project(root)
    project.transact(lambda docs: docs.replacing(plan=docs.plan.with_task("a", **used)))
    assert inside("undo", "a", "--yes", cwd=root).returncode == 0
    undone = task_of(root, "a")
    assert (undone.retry_count, undone.iterations, undone.review_rejections) == (0, 0, 0)
    assert store.outcomes("pytest") is None, "its tests are not missed"
    assert "is undone already" in inside("undo", "a", "--yes", cwd=root).stderr


def test_a_task_that_is_called_like_an_iteration_is_meant_first(root: Path) -> None:
    done = inside("undo", "1", "--yes", cwd=root)
    assert "There are no snapshots of 1, so its work cannot be undone." in done.stderr


def test_nothing_is_undone_while_a_loop_runs(root: Path) -> None:
    lock = LoopLock(Project(root).layout)
    lock.acquire("run-1")
    try:
        done = inside("undo", "a", "--yes", cwd=root)
    finally:
        lock.release()
    assert done.returncode == 3
    assert "A loop is running here" in done.stderr
    assert "ralph stop" in done.stderr
    assert (root / "old").read_text() == "2\n"


def test_snapshots_of_an_earlier_project_at_the_same_place_do_not_count(root: Path) -> None:
    later = datetime(2999, 1, 1, tzinfo=UTC)
    Project(root).transact(lambda docs: docs.with_state(started_at=later))
    assert (
        "There are no snapshots of a, so its work cannot be undone."
        in inside("undo", "a", "--yes", cwd=root).stderr
    )


def test_an_undo_that_git_refuses_changes_nothing(tmp_path: Path) -> None:
    config = {"git": {"commit": "task", "protected_branches": []}}
    key = "AKIAIOSFODNN7EXAMPLE\n"
    root = make_project(tmp_path, [task("a")], config=config, files={"key": key, "gone": "here\n"})
    repository(root)
    project, store = Project(root), snapshots_of(root)
    project.transact(lambda docs: docs.with_state(started_at=datetime.now(UTC), iteration_count=1))
    store.begin(1, "a", "run")
    (root / "key").write_text("none\n")
    (root / "new").write_text("x\n")
    (root / "gone").unlink()
    store.end(1)
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Do a")
    made = TaskCommit(hash=git(root, "rev-parse", "HEAD").strip(), branch="main")
    done = {"status": TaskStatus.COMPLETE, "commit": made}
    project.transact(lambda docs: docs.replacing(plan=docs.plan.with_task("a", **done)))
    for _ in range(2):  # the refused one does not stand in the way of the next
        refused = inside("undo", "a", "--yes", cwd=root)
        assert refused.returncode == 3
        assert "a secret (key)" in refused.stderr
        assert (root / "key").read_text() == "none\n"
        assert (root / "new").exists()
        assert not (root / "gone").exists()
        assert git(root, "status", "--porcelain") == ""
        assert git(root, "rev-parse", "HEAD").strip() == made.hash
        assert task_of(root, "a").status is TaskStatus.COMPLETE
