"""Snapshots outside of the project: every byte comes back, and a plan of an undo touches nothing else."""

import itertools
import os
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.errors import SetupError
from ralph_tui.vcs import snapshots
from ralph_tui.vcs.snapshots import Content, Difference, SnapshotStore, plan_undo


@pytest.fixture
def store(tmp_path: Path) -> SnapshotStore:
    root = tmp_path / "project"
    root.mkdir()
    return SnapshotStore(root, tmp_path / "outside" / "work.git")


def undo(store: SnapshotStore, before: str, after: str) -> None:
    """Undo what lies between two trees, in the files as they are."""
    current = store.take()
    changed, conflicts = plan_undo(store.contents(current), [store.differences(before, after)])
    assert not conflicts
    store.switch(current, store.tree_with(current, changed))


def test_every_kind_of_file_comes_back_byte_for_byte(store: SnapshotStore) -> None:
    root = store.root
    (root / ".gitattributes").write_text(
        "* text=auto eol=lf ident filter=lfs\n*.x working-tree-encoding=UTF-16\n"
    )
    (root / "crlf.txt").write_bytes(b"one\r\ntwo\r\n$Id$\n")
    (root / "binary").write_bytes(bytes(range(256)))
    (root / "binary").chmod(0o600)
    (root / "u.x").write_bytes("ä\n".encode())
    (root / "run.sh").write_text("#!/bin/sh\n")
    (root / "run.sh").chmod(0o755)
    (root / "link").symlink_to("binary")
    (root / "place").mkdir()
    (root / "place/file").write_text("in a directory\n")
    name = os.fsdecode(b"odd \xff\n\"name'")
    (root / name).write_text("odd\n")
    before = store.take()
    kept = {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()}

    for path in ("crlf.txt", "binary", "u.x", name):
        (root / path).write_text("changed\n")
    (root / "run.sh").chmod(0o644)
    (root / "link").unlink()
    (root / "link").write_text("no link any more\n")
    (root / "place/file").unlink()
    (root / "place").rmdir()
    (root / "place").write_text("a file where a directory was\n")
    (root / "new").mkdir()
    (root / "new/deep").write_text("new\n")
    undo(store, before, store.take())

    assert {p.relative_to(root): p.read_bytes() for p in root.rglob("*") if p.is_file()} == kept
    assert (root / "link").is_symlink()
    assert os.access(root / "run.sh", os.X_OK)
    assert (root / "binary").stat().st_mode & 0o777 == 0o600
    assert not (root / "new").exists()


def test_what_gitignore_names_and_ralphs_own_notes_are_left_alone(store: SnapshotStore) -> None:
    root = store.root
    (root / ".gitignore").write_text("ignored\n")
    (root / "ignored").write_text("1")
    (root / "MEMORY.md").write_text("1")
    before = store.take()
    (root / "ignored").write_text("2")
    (root / "MEMORY.md").write_text("2")
    (root / "a").write_text("a")
    undo(store, before, store.take())
    assert [(root / n).read_text() for n in ("ignored", "MEMORY.md")] == ["2", "2"]
    assert not (root / "a").exists()


def test_a_file_that_changes_between_look_and_deed_is_not_overwritten(store: SnapshotStore) -> None:
    root = store.root
    (root / "a").write_text("1\n")
    before = store.take()
    (root / "a").write_text("2\n")
    current = store.take()
    (root / "a").write_text("mine, at the last moment\n")
    with pytest.raises(SetupError):
        store.switch(current, before)
    assert (root / "a").read_text() == "mine, at the last moment\n"


def test_a_large_file_is_not_kept(store: SnapshotStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "LARGEST_FILE", 100)
    root = store.root
    (root / "large").write_bytes(b"x" * 101)
    (root / "small").write_bytes(b"x" * 100)
    assert set(store.contents(store.take())) == {"small"}


def test_a_project_that_is_too_large_is_refused_before_anything_is_copied(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshots, "MAX_KIB", 1)
    root = store.root
    (root / "a").write_bytes(b"x" * 1000)
    store.take()
    (root / "b").write_bytes(b"x" * 1025)
    with pytest.raises(SetupError, match="too large for snapshots"):
        store.take()


def test_old_iterations_are_dropped(store: SnapshotStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshots, "MAX_POINTS", 4)
    monkeypatch.setattr(snapshots, "KEPT_POINTS", 2)
    for number in range(1, 6):
        store.begin(number, f"task {number}", "run")
        (store.root / "a").write_text(str(number))
        store.end(number)
    store.forget_old()
    assert [(p.iteration, p.task_id) for p in store.points()] == [(4, "task 4"), (5, "task 5")]


def test_an_iteration_that_is_tried_again_began_once(store: SnapshotStore) -> None:
    store.begin(1, "a", "run")
    first = store.points()[0].before
    (store.root / "a").write_text("a")
    store.begin(1, "a", "run")
    assert store.points()[0].before == first
    store.begin(1, "a", "a later run")
    assert store.points()[0].before != first


def commands_of(store: SnapshotStore, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The git commands that the store starts from now on, filled as they start."""
    started: list[str] = []
    git = store.git

    def counted(*words: str, **given: str) -> str:
        started.append(words[0])
        return git(*words, **given)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "git", counted)
    return started


def test_an_iteration_needs_few_processes(
    store: SnapshotStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.begin(1, "a", "run")
    store.end(1)
    started = commands_of(store, monkeypatch)
    store.begin(2, "b", "run")
    assert started == ["ls-files", "commit-tree", "update-ref"]
    started.clear()
    (store.root / "new").write_text("1")
    store.end(2)
    assert started == ["ls-files", "add", "write-tree", "update-ref"]
    assert set(store.contents(store.points()[1].after)) == {"new"}


def test_a_snapshot_that_another_took_meanwhile_is_no_reason_to_return_the_last_one(
    store: SnapshotStore,
) -> None:
    root = store.root
    (root / "a").write_text("1")
    first = store.take()
    (root / "a").write_text("2")
    second = SnapshotStore(root, store._git_dir).take()
    assert first != second
    assert store.take() == second


@pytest.mark.parametrize("change", ["content", "mode", "gone", "directory", "link", "new"])
def test_each_kind_of_change_makes_another_snapshot(store: SnapshotStore, change: str) -> None:
    file = store.root / "a"
    file.write_text("1")
    first = store.take()
    assert store.take() == first
    if change == "content":
        file.write_text("2")
    elif change == "mode":
        file.chmod(0o755)
    elif change == "new":
        (store.root / "b").write_text("1")
    else:
        file.unlink()
        if change == "directory":
            file.mkdir()
            (file / "b").write_text("1")
        elif change == "link":
            file.symlink_to("b")
    assert store.take() != first


def test_an_end_that_an_older_version_wrote_is_known(store: SnapshotStore) -> None:
    store.begin(1, "a", "run")
    (store.root / "a").write_text("1")
    tree = store.take()
    commit = store.git("commit-tree", tree, "-m", "{}").strip()
    store.git("update-ref", "refs/undo/00000001/after", commit)
    assert store.points()[0].after == tree


@pytest.mark.serial
@pytest.mark.long
def test_twenty_thousand_unchanged_files_take_milliseconds(store: SnapshotStore) -> None:
    root = store.root
    for number in range(200):
        (root / f"d{number}").mkdir()
        for inner in range(100):
            (root / f"d{number}/f{inner}").write_text(f"{number} {inner}\n")
    store.take()
    store.take()
    began = time.monotonic()
    store.take()
    assert time.monotonic() - began < 1


def test_the_persons_repository_is_not_written_to(store: SnapshotStore) -> None:
    root = store.root
    for words in (["init", "-q"], ["config", "user.name", "x"], ["config", "user.email", "x"]):
        subprocess.run(["git", *words], cwd=root, check=True)
    (root / "a").write_text("1\n")
    kept = sorted(p for p in (root / ".git").rglob("*"))
    before = store.take()
    (root / "a").write_text("2\n")
    undo(store, before, store.take())
    assert sorted(p for p in (root / ".git").rglob("*")) == kept


PATHS = st.sampled_from(["a", "b", "c/d", "e"])
TREES = st.dictionaries(PATHS, st.sampled_from("123"))


def held(tree: dict[str, str]) -> dict[str, Content]:
    return {path: Content("100644", text) for path, text in tree.items()}


def between(old: dict[str, str], new: dict[str, str]) -> list[Difference]:
    before, after = held(old), held(new)
    return [
        Difference(path, before.get(path), after.get(path))
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    ]


def applied(current: dict[str, str], changed: dict[str, Content | None]) -> dict[str, Content]:
    now: dict[str, Content | None] = {**held(current), **changed}
    return {path: content for path, content in now.items() if content is not None}


@given(st.lists(TREES, min_size=2, max_size=5))
def test_undoing_all_iterations_leads_back_to_the_first_tree(trees: list[dict[str, str]]) -> None:
    steps = [between(old, new) for old, new in itertools.pairwise(trees)]
    changed, conflicts = plan_undo(held(trees[-1]), reversed(steps))
    assert not conflicts
    assert applied(trees[-1], dict(changed)) == held(trees[0])


@given(TREES, TREES, TREES)
def test_only_paths_of_the_undone_iteration_change_and_changed_ones_are_conflicts(
    before: dict[str, str], after: dict[str, str], now: dict[str, str]
) -> None:
    step = between(before, after)
    changed, conflicts = plan_undo(held(now), [step])
    assert set(changed) <= {one.path for one in step}
    for one in step:
        untouched = held(now).get(one.path) in (one.new, one.old)
        assert (one.path in conflicts) is not untouched
    if not conflicts:
        again, _ = plan_undo(applied(now, dict(changed)), [step])
        assert not again, "an undo that is repeated changes nothing more"
