"""What `git clean -fdx` takes away comes back, and only that."""

import contextlib
import errno
import os
import shutil
import stat
import subprocess
import time
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import StoreError
from ralph_tui.store.backup import mirror
from ralph_tui.store.backup.check_store import BASE, BaseRecord, CheckStore
from ralph_tui.store.backup.mirror import mirror_of
from ralph_tui.store.journal.journal import JournalWriter, read_events
from ralph_tui.store.journal.journal_location import move_journal
from ralph_tui.store.project import Project
from ralph_tui.store.reset import made_by_ralph, reset
from ralph_tui.store.restore import restore_from_mirror
from tests.store.helpers import NOW, Faults, count_up, with_tasks


def tell(project: Project, text: str) -> None:
    writer = JournalWriter(move_journal(project.layout))
    writer.write([writer.stamp(ev.Notice(text=text))])
    writer.close()


def worked_on(project: Project) -> Project:
    with_tasks(project, "a", "b")
    project.write_active_memory("remember this\n")
    project.write_memory("hand-off\n")
    project.layout.specs.mkdir()
    (project.layout.specs / "what.md").write_text("# What\n")
    project.layout.config.write_text("git: {}\n")
    tell(project, "one")
    project.queue_injection("be careful")
    project.append_learning("build", "uv works")
    project.transact(count_up)
    tell(project, "two")
    return project


def test_git_clean_costs_nothing(project: Project) -> None:
    before = worked_on(project).load()
    for command in (["init", "-q"], ["clean", "-fdxq"]):
        subprocess.run(["git", *command], cwd=project.root, check=True)
    assert [path.name for path in project.root.iterdir()] == [".git"]
    for act in (Project(project.root).load, lambda: Project.find(project.root)):
        with pytest.raises(
            StoreError, match=r"is missing\. Ralph has a copy of its state from 20"
        ) as caught:
            act()
        assert "ralph restore" in caught.value.hint
    names = restore_from_mirror(project.root)
    assert {".ralph/state.json", "specs/what.md", "MEMORY.md", "progress.txt"} <= set(names)
    again = Project(project.root)
    assert again.load() == before
    assert again.damage() == ()
    assert again.read_memory() == "hand-off\n"
    assert again.layout.active_memory.read_text() == "remember this\n"
    assert "uv works" in again.read_learnings(1)[0]
    assert (again.layout.specs / "what.md").read_text() == "# What\n"
    read = read_events(again.layout.events)
    texts = [event.text for _, event in read if isinstance(event, ev.Notice)]
    assert texts == ["one", "two"], "the journal too, up to its last line"
    assert again.transact(count_up).state.iteration_count == before.state.iteration_count + 1


def test_everything_kept_is_for_the_owner_only(project: Project) -> None:
    worked_on(project)
    directory = mirror_of(project.root)
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    assert [p.name for p in directory.iterdir() if p.stat().st_mode & 0o077] == []
    restored = project.layout.dot
    shutil.rmtree(restored)
    restore_from_mirror(project.root)
    assert stat.S_IMODE(restored.stat().st_mode) == 0o700
    assert [p.name for p in restored.rglob("*.json") if p.stat().st_mode & 0o077] == []


def test_what_is_there_is_left_alone(project: Project) -> None:
    worked_on(project)
    project.layout.memory.write_text("mine\n")
    shutil.rmtree(project.layout.specs)
    assert restore_from_mirror(project.root) == ("specs/what.md",)
    assert project.layout.memory.read_text() == "mine\n"
    with pytest.raises(StoreError, match="nothing to restore"):
        restore_from_mirror(project.root)


def test_without_a_copy_there_is_nothing_to_restore(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no copy"):
        restore_from_mirror(tmp_path)
    with pytest.raises(StoreError, match="No ralph project"):
        Project.find(tmp_path)


@pytest.mark.parametrize("is_clone", [False, True])
def test_a_new_project_at_the_same_place_does_not_write_over_the_old_ones_copy(
    project: Project, is_clone: bool
) -> None:
    worked_on(project)
    shutil.rmtree(project.layout.dot)
    fresh = Project(project.root)
    if is_clone:  # of a repository with ralph's settings
        project.layout.dot.mkdir()
        project.layout.config.write_text("git: {}\n")
        with pytest.raises(StoreError, match=r"has no plan and no state\. Ralph has a copy"):
            fresh.transact(count_up)
    fresh.create()
    fresh.transact(count_up)
    directory = mirror_of(project.root)
    assert (
        b'"a"'
        in (
            directory.with_name(directory.name + ".previous") / ".ralph--implementation_plan.json"
        ).read_bytes()
    )
    assert not (directory / ".ralph--implementation_plan.json").exists()


def test_a_home_that_cannot_be_written_is_told_once_and_stops_nobody(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(file))
    project.transact(count_up)
    assert project.transact(count_up).state.iteration_count == 2
    (told,) = project.damage()
    assert "Ralph cannot keep a copy of its state" in told
    assert "git clean" in told


@pytest.mark.parametrize("is_reset", [True, False])
def test_a_restore_killed_at_any_call_is_finished_by_the_next(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
    *,
    is_reset: bool,
) -> None:
    before = worked_on(project).load()
    shutil.rmtree(project.layout.specs)
    if is_reset:
        reset(project.layout, made_by_ralph(project.layout, (), keep_specs=True), lambda _: None)
        project.create()
    else:
        shutil.rmtree(project.layout.dot)
    aside = tmp_path_factory.mktemp("aside")
    places = {aside / "a": project.root, aside / "b": mirror_of(project.root).parent}
    for kept, place in places.items():
        shutil.copytree(place, kept, symlinks=True)
    for nth in range(1, 200):
        for kept, place in places.items():
            shutil.rmtree(place)
            shutil.copytree(kept, place, symlinks=True)
        with monkeypatch.context() as patch:
            dying = Faults(patch, nth, errno.EIO, for_good=True)
            with contextlib.suppress(StoreError, OSError):
                restore_from_mirror(project.root)
        with contextlib.suppress(StoreError):  # it says that all is there
            restore_from_mirror(project.root)
        assert not list(project.root.glob(".ralph-*"))
        assert Project(project.root).load() == before, f"killed at call {nth}"
        assert project.read_memory() == "hand-off\n"
        assert [spec.text for spec in project.read_specs()] == ["# What\n"]
        if dying.left > 0:
            return
    pytest.fail("the restore never ran to its end")


def test_copies_of_projects_long_gone_are_forgotten(project: Project, tmp_path: Path) -> None:
    for name in ("old", "new"):
        other = Project(tmp_path / name)
        (tmp_path / name).mkdir()
        other.create()
        other.transact(count_up)
        shutil.rmtree(tmp_path / name)
    past = time.time() - 2 * mirror.KEPT_SECONDS
    os.utime(mirror_of(tmp_path / "old"), (past, past))
    reset = [Path(f"{mirror_of(tmp_path / name)}.previous") for name in ("old", "new")]
    for directory, when in zip(reset, (past, time.time()), strict=True):
        shutil.copytree(mirror_of(tmp_path / "new"), directory)
        os.utime(directory, (when, when))
    project.transact(count_up)
    assert [directory.exists() for directory in reset] == [False, True]
    assert not mirror_of(tmp_path / "old").exists()
    assert mirror_of(tmp_path / "new").exists()


@pytest.mark.parametrize("name", ["with space", "Ünïcode", "-dash", "." + "x" * 80, "new\nline"])
def test_any_name_of_a_project_has_a_place(tmp_path: Path, name: str) -> None:
    root = tmp_path / name
    root.mkdir()
    project = Project(root, clock=lambda: NOW)
    project.create()
    before = project.transact(count_up)
    shutil.rmtree(project.layout.dot)
    restore_from_mirror(root)
    assert project.load() == before


def test_a_user_without_a_home_has_no_records_of_the_gate(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> Path:
        raise RuntimeError

    monkeypatch.delenv("XDG_STATE_HOME")
    monkeypatch.setattr(Path, "home", nowhere)
    store = CheckStore(tmp_path)
    store.save(BASE, BaseRecord())
    assert store.trouble == "Your home directory is not known."
    assert store.load(BASE, BaseRecord) is None
    assert store.outcomes("make") is None
