"""The watcher learns a commit of ralph's own: exactly that commit, and nothing beside it."""

import subprocess
from pathlib import Path

import pytest

from ralph_tui.guard.repository.changes import OwnCommit, compare, with_commit
from ralph_tui.guard.repository.watcher import RepositoryWatcher
from ralph_tui.vcs.commits import CommitRequest, Committer, MadeCommit


def git(root: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=root, check=True, capture_output=True)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "work")
    git(tmp_path, "config", "user.name", "Me")
    git(tmp_path, "config", "user.email", "me@example.org")
    for name in ("kept", "changed", "gone"):
        (tmp_path / name).write_text("1\n")
    git(tmp_path, "add", "-A")
    git(tmp_path, "commit", "-q", "-m", "Begin")
    return tmp_path


def committed(root: Path) -> MadeCommit:
    (root / "changed").write_text("2\n")
    (root / "gone").unlink()
    (root / "new ü\n").write_text("3\n")
    made = Committer(root, None).commit(CommitRequest("feat: a"))
    assert made is not None
    return made


def own(made: MadeCommit) -> OwnCommit:
    return OwnCommit(made.branch, made.commit, made.staged)


def test_ralphs_commit_is_expected(root: Path) -> None:
    watcher = RepositoryWatcher(root)
    before = watcher.snapshot()
    assert before is not None
    made = committed(root)
    assert compare(with_commit(before, own(made)), watcher.snapshot()) is None
    assert compare(before, watcher.snapshot()) is not None


def test_a_commit_on_top_of_ralphs_is_still_seen(root: Path) -> None:
    watcher = RepositoryWatcher(root)
    before = watcher.snapshot()
    assert before is not None
    made = committed(root)
    git(root, "commit", "-q", "--allow-empty", "-m", "sneaky")
    change = compare(with_commit(before, own(made)), watcher.snapshot())
    assert change is not None
    assert "branch work was moved" in change.summary


def test_what_is_staged_beside_ralphs_commit_is_still_seen(root: Path) -> None:
    watcher = RepositoryWatcher(root)
    before = watcher.snapshot()
    assert before is not None
    made = committed(root)
    (root / "kept").write_text("4\n")
    git(root, "add", "kept")
    change = compare(with_commit(before, own(made)), watcher.snapshot())
    assert change is not None
    assert change.summary == "the index was changed (kept)"


def test_what_was_staged_and_then_taken_back_is_no_change_beside_the_commit(root: Path) -> None:
    (root / "kept").write_text("staged\n")
    git(root, "add", "kept")
    (root / "kept").write_text("1\n")
    watcher = RepositoryWatcher(root)
    before = watcher.snapshot()
    assert before is not None
    made = committed(root)
    assert (made.files, len(made.staged), "kept" in made.staged) == (3, 4, True)
    assert compare(with_commit(before, own(made)), watcher.snapshot()) is None
