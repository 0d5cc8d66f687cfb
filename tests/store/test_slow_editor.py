"""Somebody writes a document in place and takes their time; or renames it before they write it anew."""

import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.backup.mirror import copy_of
from ralph_tui.store.documents import document_reader, snapshot
from ralph_tui.store.documents.snapshot import BeingWrittenError
from ralph_tui.store.project import Documents, Project
from tests.store.helpers import count_up, finished, with_tasks

EDITED = '{"tasks": [{"id": "edited"}]}'
HALVES = {"empty": "", "half": EDITED[:17], "a typing error": '{"tasks": [,]}'}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look takes no time; how long an editor is waited for is as ever."""
    monkeypatch.setattr(document_reader, "SETTLE_SECONDS", 0.001)


def ids(documents: Documents) -> list[str]:
    return [task.id for task in documents.plan.tasks]


def only_state(documents: Documents) -> Documents:
    state = documents.state.model_copy(update={"iteration_count": 7})
    return documents.model_copy(update={"state": state})


@pytest.mark.parametrize("half", HALVES.values(), ids=list(HALVES))
def test_a_plan_that_is_being_written_is_left_alone_and_what_it_said_holds(
    project: Project, half: str
) -> None:
    with_tasks(project, "a", "b")
    plan = project.layout.plan
    with plan.open("w") as editor:  # the same file, however long it takes
        editor.write(half)
        editor.flush()
        seen = project
        assert ids(seen.load()) == ["a", "b"]
        (told,) = seen.damage()
        assert "Ralph uses the last valid version" in told
        assert ids(seen.transact(only_state)) == ["a", "b"]  # nothing of it depends on the plan
        assert plan.read_text() == half
        assert seen.load().state.iteration_count == 7
        editor.seek(0)
        editor.truncate()
        editor.write(EDITED)
    assert ids(seen.load()) == ["edited"]
    assert ids(Project(project.root).load()) == ["edited"]
    assert not list(plan.parent.glob("*.corrupt-*"))
    assert seen.damage() == ()


def test_a_change_of_a_plan_that_is_being_written_waits_for_the_edit_and_keeps_it(
    project: Project,
) -> None:
    with_tasks(project, "a")
    waited = threading.Event()

    def change(documents: Documents) -> Documents:
        waited.set()
        return count_up(documents)

    with project.layout.plan.open("w") as editor, in_thread(lambda: project.transact(change)):
        assert waited.wait(20)  # it was tried while the file was empty
        editor.write(EDITED)
        editor.flush()
    assert ids(project.load()) == ["edited"]
    assert project.load().plan.tasks[0].retry_count == 1
    assert not list(project.layout.dot.glob("*.corrupt-*"))


def test_an_edit_that_was_never_ended_is_set_aside_when_the_file_must_be_written(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tasks(project, "a")
    project.layout.plan.write_text("{")
    aged(project.layout.plan, snapshot.EDITOR_SECONDS - 5)
    with pytest.raises(BeingWrittenError):
        project.transact_now(count_up)
    aged(project.layout.plan, snapshot.EDITOR_SECONDS + 1)
    assert ids(project.load()) == ["a"]
    assert project.layout.plan.read_text() == "{"
    assert project.transact(count_up).plan.tasks[0].retry_count == 1
    assert "set aside as" in project.damage()[-1]
    monkeypatch.setattr(snapshot, "EDITOR_SECONDS", 0.3)
    project.layout.plan.write_text("{")
    assert project.transact(count_up).plan.tasks[0].retry_count == 2  # it waits for that long
    assert len(list(project.layout.dot.glob("implementation_plan.json.corrupt-*"))) == 2


def test_others_work_while_a_change_waits_for_an_edit(project: Project) -> None:
    with_tasks(project, "a")
    waited = threading.Event()

    def change(documents: Documents) -> Documents:
        waited.set()
        return count_up(documents)

    project.layout.plan.write_text("{")
    with in_thread(lambda: project.transact(change)):
        assert waited.wait(20)
        other = Project(project.root).transact(only_state)
        assert other.state.iteration_count == 7
        project.layout.plan.write_text(EDITED)
    assert project.load().plan.tasks[0].retry_count == 8


INVALID = '{"tasks": [{"id": "edited", "acceptanceCriteria": ["x"]}]}'


def test_an_edit_that_is_not_valid_is_left_alone_while_what_was_read_holds(
    project: Project,
) -> None:
    with_tasks(project, "a")
    plan = project.layout.plan
    plan.write_text(INVALID)
    for refused in (Project(project.root).load, project.look):
        with pytest.raises(StoreError, match="'acceptanceCriteria'"):
            refused()
    assert ids(project.transact(only_state)) == ["a"]
    assert (plan.read_text(), project.damage()) == (INVALID, ())
    aged(plan, snapshot.QUIET_SECONDS + 1)
    assert project.transact(only_state).unfinished == (plan.name,)
    assert "'acceptanceCriteria'" in project.damage()[0]
    aged(plan, snapshot.EDITOR_SECONDS + 1)
    assert ids(project.transact(count_up)) == ["a"]
    (aside,) = project.layout.dot.glob("*.corrupt-*")
    assert aside.read_text() == INVALID
    assert "'acceptanceCriteria'" in project.damage()[0]


def test_who_only_looks_leaves_what_is_not_whole_as_it_is(project: Project) -> None:
    with_tasks(project, "a")
    plan = project.layout.plan
    plan.write_text("{")
    finished(plan)
    for looks in (project, Project(project.root)):
        seen = looks.look()
        assert (ids(seen), seen.unfinished) == (["a"], (plan.name,))
    assert plan.read_text() == "{"
    copy_of(project.layout, plan).unlink()
    with pytest.raises(StoreError, match="cannot be read"):
        Project(project.root).look()
    assert plan.read_text() == "{"
    assert project.damage() == ()


def test_a_file_that_is_written_without_end_is_named_and_left(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tasks(project, "a")
    monkeypatch.setattr("ralph_tui.store.documents.snapshot.LONGEST_EDIT", 0.1)
    project.layout.plan.write_text("{")
    aged(project.layout.plan, -5)  # it is never old enough
    with pytest.raises(StoreError, match=r"keeps changing .*\. It was not valid for 0\.1 seconds"):
        project.transact(count_up)
    assert project.layout.plan.read_text() == "{"


def test_an_editor_that_renames_before_it_writes_does_not_empty_the_plan(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tasks(project, "a")
    plan = project.layout.plan
    plan.rename(plan.with_suffix(".json~"))
    waits = 0

    def write(_: float) -> None:
        nonlocal waits
        waits += 1
        if waits > 5:  # longer than a write that is under way takes to stand still
            plan.write_text(EDITED)

    monkeypatch.setattr("ralph_tui.store.documents.document_reader.time.sleep", write)
    assert ids(project.load()) == ["edited"]


def test_a_plan_that_was_removed_is_an_empty_plan(project: Project) -> None:
    with_tasks(project, "a")
    project.layout.plan.unlink()
    assert ids(project.load()) == []
    assert ids(project.transact(only_state)) == []


def aged(path: Path, seconds: float) -> None:
    """Make a file look as if it had last been written so long ago."""
    then = time.time() - seconds
    os.utime(path, (then, then))


@contextmanager
def in_thread(act: Callable[[], object]) -> Iterator[None]:
    """Do something in another thread meanwhile; its error is ours."""
    with ThreadPoolExecutor(1) as pool:
        doing = pool.submit(act)
        yield
        doing.result()
