"""What becomes of documents that are damaged or edited: most of it is in `damage.txt`."""

import errno
import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.run.steps import StepLog
from ralph_tui.store.backup.mirror import copy_of
from ralph_tui.store.documents import document_reader
from ralph_tui.store.io.files import DamagedError
from ralph_tui.store.io.strict_json import parse_object
from ralph_tui.store.project import Documents, Project
from tests.harness.tables import Case, Line, Verb, each_case, spelled
from tests.store.helpers import count_up, either, with_tasks


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files do not change under our hands here, so one short look is enough."""
    monkeypatch.setattr(document_reader, "SETTLE_SECONDS", 0.001)


def parse(line: Line, _: Path) -> str:
    try:
        parse_object(line.text.encode() or spelled(line.rest))
    except DamagedError as told:
        return str(told)
    return "fine"


def read_and_write(line: Line, root: Path) -> Iterator[str]:
    """What is read of a document that somebody wrote, and what a change of it says."""
    project = Project(root)
    if not project.layout.dot.exists():
        project.create()
        with_tasks(project, "old")
    path = project.layout.document(line.sign)
    path.write_bytes(written := spelled(line.rest))
    seen = Project(root)
    read = told(seen.load, line.sign)
    yield from (one.replace(f"{root}/", "") for one in (read, *seen.damage()))
    assert path.read_bytes() == written
    change = told(lambda: Project(root).transact(count_up), line.sign)
    assert change.startswith("!") or not told(Project(root).load, line.sign).startswith("!")
    if change.startswith("!"):
        assert path.read_bytes() == written
        assert not list(path.parent.glob("*.corrupt-*"))
        if change != read:
            yield f"changed: {change}".replace(f"{root}/", "")


def told(act: Callable[[], Documents], name: str) -> str:
    try:
        found = act()
    except StoreError as error:
        return f"! {error.message} {error.hint}"
    if name == "plan":
        return ", ".join(task.model_dump_json(exclude_defaults=True) for task in found.plan.tasks)
    return found.state.model_dump_json(include={"total_cost_usd", "started_at"})


@each_case(__file__)
def test_documents(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    verbs: dict[str, Verb] = {"parse": parse, "plan": read_and_write, "state": read_and_write}
    case.play(verbs, tmp_path, pytestconfig)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b'{"x": ' + b"9" * 5000 + b"}", "limit"),
        (b'{"x": ' + b"[" * 5000 + b"]" * 5000 + b"}", "nested"),
        (b"[" * 200_000, "nested"),
    ],
)
def test_what_no_reader_can_hold_is_refused(data: bytes, reason: str) -> None:
    with pytest.raises(DamagedError, match=reason):
        parse_object(data)


@pytest.mark.parametrize("name", ["plan", "state", "budget", "breaker"])
def test_a_damaged_document_is_what_it_last_was_and_set_aside_when_it_is_written(
    project: Project, name: str
) -> None:
    with_tasks(project, "a", "b")
    good = project.transact(everything_changed)
    path = project.layout.document(name)
    damaged = path.read_bytes()[:9]
    path.write_bytes(damaged)
    for seen in (project, Project(project.root)):
        loaded = seen.load()
        assert loaded == good.replacing(unfinished=(path.name,))
        (told,) = seen.damage()
        assert f"{path.name} cannot be used (" in told
        assert "line 2 column" in told
        assert seen.transact(lambda d: d) == loaded
    assert path.read_bytes() == damaged, "nobody had to write it"
    after = project.transact(everything_changed)
    assert Project(project.root).load() == after
    (aside,) = path.parent.glob(f"{path.name}.corrupt-*")
    assert aside.read_bytes() == damaged
    assert f"was set aside as {aside.name}" in project.damage()[0]
    assert (after.state.iteration_count, len(after.plan.tasks)) == (2, 2)


def everything_changed(documents: Documents) -> Documents:
    failures = documents.breaker.failure_count + 1
    return count_up(documents).replacing(
        budget=documents.budget.using(documents.budget.current_usage + 7),
        breaker=documents.breaker.model_copy(update={"failure_count": failures}),
    )


@pytest.mark.parametrize("kind", ["fifo", "directory", "socket"])
def test_something_else_than_a_file_is_set_aside_without_hanging(
    project: Project, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    good = with_tasks(project, "a")
    path = project.layout.plan
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "directory":
        path.mkdir()
    else:
        import socket

        monkeypatch.chdir(path.parent)  # a socket's path has few characters
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    assert project.load().plan == good.plan
    assert "not a regular file" in project.damage()[0]
    project.transact(count_up)
    assert path.is_file()
    assert list(path.parent.glob(f"{path.name}.corrupt-*"))
    assert Project(project.root).load().plan.tasks[0].retry_count == 1


def test_a_fifo_of_injections_or_of_a_text_does_not_hang(project: Project) -> None:
    os.mkfifo(project.layout.injections)
    os.mkfifo(project.layout.memory)
    assert project.load().pending == ()
    assert "set aside" in project.damage()[0]
    assert project.read_memory() == ""


@pytest.mark.parametrize("copy", [None, "", '{"tasks": 5}'])
def test_a_plan_without_a_valid_copy_is_named_and_stays_where_it_is(
    project: Project, copy: str | None
) -> None:
    with_tasks(project, "a")
    kept = copy_of(project.layout, project.layout.plan)
    kept.unlink()
    if copy is not None:
        kept.write_text(copy)
    by_hand = '{"tasks": [\n  {"id": "b"},\n]}'
    project.layout.plan.write_text(by_hand)
    for act in (*either(Project(project.root)), Project(project.root).look):
        with pytest.raises(StoreError) as caught:
            act()
        assert "an extra comma at line 2 column 14" in caught.value.message
        assert "Correct the file" in caught.value.hint
        assert project.layout.plan.read_text() == by_hand
    assert not list(project.layout.dot.glob("*.corrupt-*"))
    project.layout.plan.write_text(by_hand.replace("},", "}"))
    assert [task.id for task in project.load().plan.tasks] == ["b"]


def test_costs_without_a_copy_are_never_taken_for_none(project: Project) -> None:
    project.layout.state.write_text("{")
    for act in either(project):
        with pytest.raises(StoreError, match=r"state\.json cannot be read: .*line 1"):
            act()
    project.layout.state.unlink()
    assert project.load() == Documents()
    for path in (project.layout.breaker, project.layout.steps):
        path.write_text("{")
    assert project.load().steps == StepLog(), "others begin anew, and that is said"
    assert "default values" in project.damage()[0]
    project.transact(lambda d: d.with_state(total_cost_usd=0.5))
    assert Project(project.root).load().breaker.total_cost == 0.5


def test_a_hand_written_plan_is_backed_up_before_anything_changes_it(project: Project) -> None:
    project.layout.plan.write_text('{"tasks": [{"id": "by hand"}]}')
    project.transact(lambda d: d)
    project.layout.plan.write_text("oops")
    assert project.load().plan.tasks[0].id == "by hand"


def test_a_file_still_being_written_is_waited_for(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tasks(project, "a")
    whole = '{"tasks": [{"id": "edited"}]}'
    project.layout.plan.write_text(whole[:10])

    def continue_in_background(_: float) -> None:
        project.layout.plan.write_text(whole)

    monkeypatch.setattr(time, "sleep", continue_in_background)
    assert project.load().plan.tasks[0].id == "edited"
    assert project.damage() == ()


def test_a_symlink_out_of_the_project_is_refused(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "plan.json"
    outside.write_text('{"tasks": [{"id": "a"}]}')
    project.layout.plan.symlink_to(outside)
    for act in either(project):
        with pytest.raises(StoreError, match="symlink"):
            act()
    assert outside.read_text() == '{"tasks": [{"id": "a"}]}'


def test_a_hard_link_is_replaced_and_never_written_through(
    project: Project, tmp_path_factory: pytest.TempPathFactory
) -> None:
    outside = tmp_path_factory.mktemp("outside") / "plan.json"
    text = '{"tasks": [{"id": "a"}]}'
    outside.write_text(text)
    project.layout.plan.hardlink_to(outside)
    assert project.transact(count_up).plan.tasks[0].retry_count == 1
    assert outside.read_text() == text
    assert Project(project.root).load().plan.tasks[0].retry_count == 1


def test_a_huge_file_is_an_error_with_its_size(project: Project) -> None:
    with project.layout.plan.open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    with pytest.raises(StoreError, match="209,715,200 bytes"):
        project.load()


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_truncation_never_makes_an_empty_plan(project: Project, data: st.DataObject) -> None:
    shutil.rmtree(project.layout.dot)
    project.create()
    with_tasks(project, "a", "b")
    good = project.transact(count_up)
    for path in (project.layout.plan, project.layout.state):
        for file in (path, copy_of(project.layout, path)):
            whole = file.read_bytes()
            file.write_bytes(whole[: data.draw(st.integers(0, len(whole)), label=file.name)])
    try:
        loaded = Project(project.root).load()
    except StoreError as error:
        assert ".json cannot be read" in error.message  # noqa: PT017  (both ends are right)
        return
    assert loaded.plan == good.plan
    assert not loaded.plan.is_finished


def test_where_files_have_no_second_names_a_damaged_one_is_copied_aside(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    with_tasks(project, "a")
    project.layout.plan.write_text("oops")

    def refuse(path: Path, target: Path) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path), str(target))

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    after = project.transact(count_up)
    (aside,) = project.layout.dot.glob("implementation_plan.json.corrupt-*")
    assert aside.read_text() == "oops"
    assert after.plan.tasks[0].retry_count == 1
    assert Project(project.root).load() == after


def test_a_newer_document_is_refused_and_not_written(project: Project) -> None:
    text = '{"schema_version": 7, "tasks": [{"id": "a", "colour": "red"}], "new": 1}'
    project.layout.plan.write_text(text)
    with pytest.raises(StoreError, match="newer ralph") as refused:
        project.load()
    assert "Upgrade" in refused.value.hint
    with pytest.raises(StoreError, match="newer ralph"):
        project.transact(count_up)
    with pytest.raises(StoreError, match="newer ralph"):
        project.queue_injection("x")
    assert project.layout.plan.read_text() == text
    assert sorted(p.name for p in project.layout.dot.glob("*.json*")) == [
        "implementation_plan.json"
    ]
