"""`ralph undo`: it shows what it would change, asks, and changes nothing where nobody can answer."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.control.undo import snapshots_of
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.projects import make_project, task, task_of


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
    assert "Give --yes to undo this" in done.stderr
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


def test_a_task_that_is_called_like_an_iteration_is_meant_first(root: Path) -> None:
    done = inside("undo", "1", "--yes", cwd=root)
    assert "No work on 1 can be undone." in done.stderr


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
    assert "No work on a can be undone." in inside("undo", "a", "--yes", cwd=root).stderr
