import json
from pathlib import Path

import pytest

from ralph_tui.domain.errors import StoreError
from ralph_tui.store.documents import documents, migrations, snapshot
from ralph_tui.store.documents.migrations import Data
from ralph_tui.store.project import Project
from tests.store.helpers import count_up, either, with_tasks


def test_a_newer_document_is_refused_and_left_alone(project: Project) -> None:
    text = '{"schema_version": 2, "tasks": "in a new shape"}'
    project.layout.plan.write_text(text)
    for act in either(project):
        with pytest.raises(StoreError) as caught:
            act()
        assert "newer ralph" in caught.value.message
        assert "Upgrade" in caught.value.hint
    assert project.layout.plan.read_text() == text


def test_a_newer_document_is_shown_as_far_as_it_is_understood_and_not_written(
    project: Project,
) -> None:
    text = '{"schema_version": 7, "tasks": [{"id": "a", "colour": "red"}], "new": 1}'
    project.layout.plan.write_text(text)
    assert [task.id for task in project.load().plan.tasks] == ["a"]
    (told,) = project.damage()
    assert "newer ralph (schema version 7, this version supports 1)" in told
    assert "Upgrade" in told
    with pytest.raises(StoreError, match="newer ralph"):
        project.transact(count_up)
    with pytest.raises(StoreError, match="newer ralph"):
        project.queue_injection("x")
    assert project.layout.plan.read_text() == text
    assert sorted(p.name for p in project.layout.dot.glob("*.json*")) == [
        "implementation_plan.json"
    ]


@pytest.mark.parametrize("tasks", ["", ', "items": []', ', "tasks": null', ', "tasks": [5]'])
def test_a_newer_plan_that_would_look_empty_is_not_shown(project: Project, tasks: str) -> None:
    project.layout.plan.write_text(f'{{"schema_version": 7{tasks}}}')
    with pytest.raises(StoreError, match="newer ralph"):
        project.load()


def rename_title(data: Data) -> Data:
    tasks = data.pop("items")
    return data | {"tasks": tasks}


def add_owner(data: Data) -> Data:
    return data | {"owner": "nobody"}


@pytest.fixture
def version_three(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = documents.Document("plan", documents.PLAN.model, 3)
    kinds = (documents.STATE, plan, documents.BUDGET, documents.BREAKER)
    monkeypatch.setattr(snapshot, "PLAN", plan)
    monkeypatch.setattr(snapshot, "KINDS", kinds)
    monkeypatch.setitem(migrations.MIGRATIONS, ("plan", 1), rename_title)
    monkeypatch.setitem(migrations.MIGRATIONS, ("plan", 2), add_owner)


@pytest.mark.usefixtures("version_three")
@pytest.mark.parametrize("version", ['"schema_version": 1, ', ""])
def test_an_older_document_is_migrated_with_a_backup(project: Project, version: str) -> None:
    text = f'{{{version}"items": [{{"id": "a"}}]}}'
    project.layout.plan.write_text(text)
    assert [task.id for task in project.load().plan.tasks] == ["a"]
    assert project.layout.plan.read_text() == text  # reading alone writes nothing
    project.transact(lambda d: d)
    written = json.loads(project.layout.plan.read_bytes())
    assert (written["schema_version"], written["owner"]) == (3, "nobody")
    assert [task["id"] for task in written["tasks"]] == ["a"]
    backup = project.layout.dot / "implementation_plan.json.v1.bak"
    assert backup.read_text() == text
    assert backup.name in project.damage()[0]
    project.transact(count_up)
    assert backup.read_text() == text


def test_migrating_does_not_change_what_it_is_given() -> None:
    data: Data = {"items": [1]}
    steps = {("plan", 1): rename_title}
    made = migrations.migrate(data, document="plan", current=2, path=Path("x"), migrations=steps)
    assert made == {"tasks": [1], "schema_version": 2}
    assert data == {"items": [1]}


def test_every_older_version_of_every_document_has_a_migration(project: Project) -> None:
    with_tasks(project, "a")
    for kind in snapshot.KINDS:
        for version in range(migrations.FIRST_VERSION, kind.version):
            assert (kind.name, version) in migrations.MIGRATIONS
        example = '{"schema_version": 1}'
        assert documents.decode_document(kind, example.encode(), Path("x")).value is not None
