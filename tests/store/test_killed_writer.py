"""Whatever fails, and whenever it fails, the documents are all old or all new."""

import errno
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.documents import document_reader, multi_file_commit
from ralph_tui.store.io.files import write_atomic
from ralph_tui.store.project import Documents, Project
from tests.harness.waiting import wait_until
from tests.store.helpers import Faults, count_up, finished, process, read_line, with_tasks


@pytest.mark.parametrize(
    "number",
    [
        errno.EIO,
        pytest.param(errno.ENOSPC, marks=pytest.mark.long),
        pytest.param(errno.EACCES, marks=pytest.mark.long),
        pytest.param(errno.EINTR, marks=pytest.mark.long),
    ],
)
def test_the_nth_failing_call_leaves_old_or_new(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    nth = failures = 0
    while True:
        nth += 1
        root = tmp_path / f"{nth}"
        root.mkdir()
        project = Project(root)
        project.create()
        with_tasks(project, "a", "b")
        project.queue_injection("x")
        old = project.load()
        failed, fault_left = run_with_fault(project, monkeypatch, nth, number)
        seen = Project(root).load()
        assert seen.plan.tasks[0].retry_count == seen.state.iteration_count
        assert len(seen.pending) == 1 - seen.state.iteration_count
        assert seen.state.iteration_count in (0, 1)
        if seen.state.iteration_count == 0:
            assert seen == old
        assert Project(root).damage() == ()
        failures += failed
        # and work goes on, with nothing left lying about
        Project(root).transact(count_up)
        assert not list(project.layout.dot.glob(".*.tmp"))
        assert not project.layout.commit.exists()
        if fault_left > 0:
            break
    assert failures > 10


def change_three_files(documents: Documents) -> Documents:
    return count_up(documents).model_copy(update={"pending": ()})


def run_with_fault(
    project: Project, monkeypatch: pytest.MonkeyPatch, nth: int, number: int
) -> tuple[bool, int]:
    with monkeypatch.context() as patch:
        faults = Faults(patch, nth, number)
        try:
            project.transact(change_three_files)
        except StoreError as error:
            assert error.hint  # noqa: PT017  (not every call's failure is an error)
            return True, faults.left
    return False, faults.left


@pytest.mark.parametrize("existing", [b"old", None])
def test_an_atomic_write_is_old_or_new_at_every_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, existing: bytes | None
) -> None:
    path = tmp_path / "file"
    for nth in range(1, 100):
        path.unlink(missing_ok=True)
        if existing is not None:
            path.write_bytes(existing)
        with monkeypatch.context() as patch:
            faults = Faults(patch, nth, errno.EIO)
            with suppress(StoreError):
                write_atomic(path, b"new")
        content = path.read_bytes() if path.exists() else None
        assert content in (existing, b"new")
        assert [p.name for p in tmp_path.iterdir() if p != path] == []
        if faults.left > 0:
            assert content == b"new"
            return
    pytest.fail("the write never ran without a fault")


def test_a_damaged_plan_whose_replacement_fails_is_kept_or_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(document_reader, "SETTLE_SECONDS", 0)
    for nth in range(1, 200):
        root = tmp_path / f"{nth}"
        root.mkdir()
        project = Project(root)
        project.create()
        with_tasks(project, "a")
        project.layout.plan.write_text("{")
        finished(project.layout.plan)
        with monkeypatch.context() as patch:
            faults = Faults(patch, nth, errno.EIO)
            with suppress(StoreError):
                Project(root).transact(count_up)
        assert Project(root).transact(count_up).plan.tasks[0].retry_count in (1, 2)
        assert list(project.layout.dot.glob("implementation_plan.json.corrupt-*"))
        if faults.left > 0:
            return
    pytest.fail("the write never ran without a fault")


@pytest.mark.parametrize("name", ["state.json", "implementation_plan.json"])
@pytest.mark.parametrize("before", [True, False])
def test_a_decided_change_is_finished_by_the_next_reader(
    project: Project, monkeypatch: pytest.MonkeyPatch, name: str, *, before: bool
) -> None:
    with_tasks(project, "a")
    project.transact(count_up)
    real = multi_file_commit.swap_or_replace

    def die(temp: Path, target: Path) -> bool:
        done = target.name != name or not before
        result = real(temp, target) if done else False
        if target.name == name:
            raise KeyboardInterrupt  # as a kill would: no code of ours runs after it
        return result

    with monkeypatch.context() as patch:
        patch.setattr(multi_file_commit, "swap_or_replace", die)
        with pytest.raises(KeyboardInterrupt):
            project.transact(count_up)
    assert project.layout.commit.exists()
    loaded = Project(project.root).load()
    assert loaded.state.iteration_count == loaded.plan.tasks[0].retry_count == 2
    assert not project.layout.commit.exists()
    assert not list(project.layout.dot.glob(".*.tmp"))
    assert not list(project.layout.dot.glob("*.edited-*"))


def can_exchange() -> bool:
    with tempfile.TemporaryDirectory() as directory:
        first, second = Path(directory, "1"), Path(directory, "2")
        first.touch()
        second.touch()
        return multi_file_commit.exchange(first, second)


needs_exchange = pytest.mark.skipif(
    not can_exchange(), reason="this file system cannot let two files change places"
)


def an_editor_is_faster(
    project: Project, monkeypatch: pytest.MonkeyPatch, times: int = 1
) -> dict[str, Any]:
    """An editor renames its plan into place after the last look and before our rename."""
    plan = project.layout.plan
    edited: dict[str, Any] = json.loads(plan.read_text())
    edited["tasks"].append({"id": "by-hand", "description": "typed at that very moment"})
    real, left = multi_file_commit.swap_or_replace, [times]

    def put(temp: Path, target: Path) -> bool:
        if target == plan and left[0]:
            left[0] -= 1
            draft = plan.with_name("draft")
            draft.write_text(json.dumps(edited))
            draft.replace(plan)
        return real(temp, target)

    monkeypatch.setattr(multi_file_commit, "swap_or_replace", put)
    return edited


@needs_exchange
def test_an_edit_at_the_very_instant_of_a_write_is_not_lost(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tasks(project, "a")
    an_editor_is_faster(project, monkeypatch)
    project.transact(lambda d: d.model_copy(update={"plan": d.plan.with_task("a", retry_count=7)}))
    tasks = project.load().plan.tasks
    assert [(t.id, t.retry_count) for t in tasks] == [("a", 7), ("by-hand", 0)]
    assert not list(project.layout.dot.glob(".*.tmp"))


@needs_exchange
def test_an_edit_amid_several_renames_is_kept_and_told(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tasks(project, "a")
    project.transact(count_up)
    edited = an_editor_is_faster(project, monkeypatch)
    project.damage()
    project.transact(count_up)  # the state and the plan
    loaded = project.load()
    assert loaded.state.iteration_count == loaded.plan.tasks[0].retry_count == 2
    (kept,) = project.layout.dot.glob("implementation_plan.json.edited-*")
    assert json.loads(kept.read_text()) == edited
    (told,) = [text for text in project.damage() if "edited" in text]
    assert kept.name in told
    assert not list(project.layout.dot.glob(".*.tmp"))


def test_where_files_cannot_change_places_a_rename_does(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(multi_file_commit, "_system_call", lambda: None)
    with_tasks(project, "a")
    project.transact(count_up)
    project.transact(count_up)
    loaded = Project(project.root).load()
    assert loaded.state.iteration_count == loaded.plan.tasks[0].retry_count == 2
    assert not list(project.layout.dot.glob(".*.tmp"))


def test_a_forged_list_of_renames_touches_nothing_outside(project: Project) -> None:
    victim = project.root / "victim"
    victim.write_text("keep")
    (project.layout.dot / "evil").write_text("evil")
    project.layout.commit.write_text(
        f'{{"renames": [["{project.layout.dot}/evil", "{victim}"], [1], "x"]}}'
    )
    project.load()
    assert victim.read_text() == "keep"


WRITER = """
from tests.store.helpers import count_up
print("ready", flush=True)
while True:
    project.transact(count_up)
"""


@pytest.mark.parametrize(
    "enough",
    [pytest.param(1, marks=pytest.mark.long), 7, pytest.param(40, marks=pytest.mark.long)],
)
def test_killing_a_writer_leaves_whole_documents(project: Project, enough: int) -> None:
    with_tasks(project, "a", *(f"task-{n}" for n in range(300)))
    with process(project.root, WRITER) as child:
        assert read_line(child) == "ready"
        wait_until(lambda: Project(project.root).load().state.iteration_count >= enough)
        child.kill()
        child.wait()
    loaded = Project(project.root).load()
    assert loaded.plan.tasks[0].retry_count == loaded.state.iteration_count >= enough
    assert len(loaded.plan.tasks) == 301
    after = Project(project.root).transact(count_up)
    assert after.state.iteration_count == loaded.state.iteration_count + 1
    assert not list(project.layout.dot.glob(".*.tmp"))
    assert not list(project.layout.dot.glob("*.corrupt-*"))


READ_ONLY = """
import os
from ralph_tui.domain.errors import StoreError
from tests.store.helpers import count_up

def append():
    project.append_learning("a", "b")

def change():
    project.transact(count_up)

def own():
    mine = LoopLock(project.layout)
    mine.acquire("r")
    mine.release()

def journal():
    JournalWriter(project.layout.events).close()

actions = (change, own, append, journal)
for act in actions:
    act()  # imports what only the first user may be able to import
for directory in (project.root, project.layout.dot):
    for path in directory.iterdir():
        if path.is_file():
            path.chmod(0o444)
    directory.chmod(0o555)
if os.getuid() == 0:
    os.setgid(65534); os.setuid(65534)
print([t.id for t in project.load().plan.tasks])
for act in actions:
    try:
        act()
        print("not refused")
    except StoreError as error:
        print(error.message, "|", error.hint)
"""


@pytest.fixture
def shared_project() -> Iterator[Project]:
    """A project another user can reach; pytest's own directories are private."""
    root = Path(tempfile.mkdtemp(prefix="ralph-test-"))
    root.chmod(0o755)
    made = Project(root)
    made.create()
    yield made
    made.layout.dot.chmod(0o755)
    root.chmod(0o755)
    shutil.rmtree(root)


@pytest.mark.skipif(sys.platform == "win32", reason="permission bits")
def test_a_read_only_directory_can_be_read_and_says_why_not_written(
    shared_project: Project,
) -> None:
    project = shared_project
    with_tasks(project, "a")
    with process(project.root, READ_ONLY) as child:
        assert read_line(child) == "['a']"
        for _ in range(4):
            line = read_line(child)
            assert "Permission denied" in line
            assert "Check the owner and the permissions" in line
