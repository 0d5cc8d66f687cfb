"""A followed file is as current as the plan, never over a hand edit, and catches up after a kill."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import ImplementationPlan, Origin, Task, TaskStatus
from ralph_tui.engine.control.plan_export import FollowedExports, export_plan
from ralph_tui.engine.control.undo import snapshots_of, tree_of
from ralph_tui.engine.core.project_state import ProjectState
from ralph_tui.engine.core.project_tree import files_of
from ralph_tui.store.export_records import read_followed
from ralph_tui.store.project import Project
from tests.harness.plain_list import install, installed
from tests.harness.projects import make_project

TEXT = "- [ ] a: A\n- [ ] b: B\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return install(tmp_path_factory.mktemp("installed"))


@pytest.fixture
def project(tmp_path: Path, site: Path) -> Iterator[Project]:
    root = make_project(tmp_path, files={"a.plain": TEXT})
    made = Project(root)
    tasks = tuple(
        Task(id=i, description=i, origin=Origin(format="plain-list", path="a.plain", id=i))
        for i in "ab"
    )
    made.transact(lambda docs: docs.replacing(plan=ImplementationPlan(tasks=tasks)))
    with installed(site):
        export_plan(made, str(root / "a.plain"), follow=True)
        yield made


def complete(project: Project, task_id: str) -> ImplementationPlan:
    plan = project.load().plan.with_task(task_id, status=TaskStatus.COMPLETE)
    return project.transact(lambda docs: docs.replacing(plan=plan)).plan


def text_of(project: Project) -> str:
    return (project.root / "a.plain").read_text()


async def test_the_file_is_current_before_a_change_is_told(project: Project) -> None:
    seen: list[str] = []
    state = ProjectState(
        project,
        lambda _: seen.append(text_of(project)),
        exports=FollowedExports(project, seen.append),
    )
    await state.open()
    seen.clear()
    await state.transact(
        lambda docs: docs.replacing(plan=docs.plan.with_task("a", status=TaskStatus.COMPLETE))
    )
    assert set(seen) == {"- [x] a: A\n- [ ] b: B\n"}
    complete(project, "b")  # from another process
    await state.refresh()
    assert text_of(project) == "- [x] a: A\n- [x] b: B\n"


def test_a_hand_edit_is_left_alone_and_told_once_even_by_the_next_run(project: Project) -> None:
    told: list[str] = []
    edited = TEXT + "- [ ] c: Mine\n"
    (project.root / "a.plain").write_text(edited)
    plan = complete(project, "a")
    for _ in range(2):
        run = FollowedExports(project, told.append)
        run.sync(plan)
        run.sync(complete(project, "b"))
    assert text_of(project) == edited
    assert len(told) == 1
    assert told[0].startswith(
        "a.plain was edited, so ralph no longer updates it. To import your changes, run `ralph import a.plain`."
    )
    # Undone by the person, or followed anew, the file is current again.
    (project.root / "a.plain").write_text(TEXT)
    FollowedExports(project, told.append).sync(project.load().plan)
    assert text_of(project) == "- [x] a: A\n- [x] b: B\n"
    (project.root / "a.plain").write_text(edited)
    export_plan(project, str(project.root / "a.plain"), follow=True)
    assert text_of(project) == "- [x] a: A\n- [x] b: B\n- [ ] c: Mine\n"


def test_a_file_that_is_gone_is_not_made_again(project: Project) -> None:
    told: list[str] = []
    (project.root / "a.plain").unlink()
    FollowedExports(project, told.append).sync(complete(project, "a"))
    assert not (project.root / "a.plain").exists()
    assert told[0].startswith("a.plain was deleted, so ralph no longer updates it.")


def test_a_link_put_in_its_place_is_not_followed(project: Project, tmp_path: Path) -> None:
    told: list[str] = []
    (tmp_path / "victim").write_text(TEXT)
    (project.root / "a.plain").unlink()
    (project.root / "a.plain").symlink_to(tmp_path / "victim")
    FollowedExports(project, told.append).sync(complete(project, "a"))
    assert (tmp_path / "victim").read_text() == TEXT
    assert "link to a place outside the project" in told[0]


@pytest.mark.parametrize("written", [False, True], ids=["before the file", "after the file"])
def test_a_run_that_was_killed_while_writing_is_caught_up(project: Project, written: bool) -> None:
    plan = complete(project, "a")
    texts: list[bytes] = []

    def killed(path: Path, data: bytes, *, mode: int = 0) -> None:
        texts.append(data)
        if written:
            path.write_bytes(data)
        raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("ralph_tui.engine.control.plan_export.write_atomic", killed)
        with pytest.raises(KeyboardInterrupt):
            FollowedExports(project, print).sync(plan)
    assert texts
    told: list[str] = []
    FollowedExports(project, told.append).sync(complete(project, "b"))
    assert (text_of(project), told) == ("- [x] a: A\n- [x] b: B\n", [])


def test_a_new_file_of_ralphs_own_is_kept_whole(project: Project) -> None:
    new = project.root / "new.plain"
    export_plan(project, str(new), "plain-list", follow=True)
    told: list[str] = []
    FollowedExports(project, told.append).sync(complete(project, "b"))
    assert (new.read_text(), told) == ("- [ ] a: a\n- [x] b: b\n", [])
    new.write_text("- [x] a: mine\n")
    FollowedExports(project, told.append).sync(complete(project, "a"))
    (left,) = told
    assert "`ralph export new.plain --follow`" in left
    assert "ralph import" not in left


def test_what_ralph_keeps_current_is_nobodys_work(project: Project) -> None:
    assert "a.plain" not in {entry.name for entry in files_of(project.root)}
    store = snapshots_of(project.root)
    before = tree_of(store)
    (project.root / "a.plain").write_text("- [x] a: a\n")
    assert tree_of(store) == before != ""


def test_a_damaged_record_is_told_and_stops_nothing(project: Project) -> None:
    project.layout.followed.write_text("{")
    told: list[str] = []
    exports = FollowedExports(project, told.append)
    exports.sync(complete(project, "a"))
    exports.sync(complete(project, "b"))
    assert text_of(project) == TEXT
    assert len(told) == 1
    assert "cannot be read, so ralph updates no exported file." in told[0]
    project.layout.followed.unlink()
    assert read_followed(project.layout).files == ()
