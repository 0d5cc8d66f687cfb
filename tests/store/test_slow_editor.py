"""Somebody writes a document in place and takes their time; or renames it before they write it anew."""

import pytest

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.backup.mirror import copy_of
from ralph_tui.store.documents import document_reader
from ralph_tui.store.project import Documents, Project
from tests.store.helpers import count_up, finished, with_tasks

EDITED = '{"tasks": [{"id": "edited"}]}'
HALVES = {"empty": "", "half": EDITED[:17], "a typing error": '{"tasks": [,]}'}


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A look takes no time."""
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


def test_an_invalid_file_is_set_aside_when_it_must_be_written_and_its_writer_can_end(
    project: Project,
) -> None:
    with_tasks(project, "a")
    with project.layout.plan.open("w") as editor:
        editor.write(EDITED[:17])
        editor.flush()
        assert project.transact(count_up).plan.tasks[0].retry_count == 1
        editor.write(EDITED[17:])
    (aside,) = project.layout.dot.glob("implementation_plan.json.corrupt-*")
    assert aside.read_text() == EDITED
    assert f"set aside as {aside.name}" in project.damage()[-1]
    assert ids(project.load()) == ["a"]


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
    assert plan.read_text() == INVALID
    assert project.transact(only_state).unfinished == (plan.name,)
    assert "'acceptanceCriteria'" in project.damage()[0]
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
