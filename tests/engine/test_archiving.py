"""Archives are whole, hold what belongs to a plan, and tasks that leave the plan still count as done."""

import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph_tui.domain.documents.validation_report import (
    SpecResult,
    ValidationReport,
    rejection_task,
    repair_tasks,
)
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus, free_id
from ralph_tui.engine.control.archiving import archive_finished, archive_plan, retire_complete
from ralph_tui.store.archive import read_archives
from ralph_tui.store.project import Project
from tests.harness.projects import make_project, plan_of, task

NOW = datetime(2026, 1, 9, 12, tzinfo=UTC)


def a_project(root: Path, *statuses: str) -> Project:
    """A project whose tasks t0, t1, … depend on the one before."""
    tasks = [
        task(f"t{n}", status=status, dependencies=[f"t{n - 1}"] if n else [])
        for n, status in enumerate(statuses)
    ]
    return Project(make_project(root, tasks, files={"specs/what.md": "# What\n"}))


def names(project: Project) -> list[str]:
    return [one.name for one in read_archives(project.layout)[0]]


def test_an_archive_has_everything_that_belongs_to_the_plan(tmp_path: Path) -> None:
    project = a_project(tmp_path, "complete", "pending")
    project.append_learning("pattern", "uv runs the tests")
    project.layout.validation_report.write_text('{"round": 1}')
    written = archive_plan(project, NOW)
    folder = project.layout.archive / written.name
    assert written.name == "2026-01-09-project"
    found = sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())
    assert found == ["plan.json", "prd.json", "progress.txt", "report.json", "specs/what.md", "summary.json"]  # fmt: skip
    stories = json.loads((folder / "prd.json").read_text())["userStories"]
    assert [story["passes"] for story in stories] == [True, False]
    kept = ImplementationPlan.model_validate_json((folder / "plan.json").read_text())
    assert kept.tasks == plan_of(project.root).tasks, "the plan stays, and the copy is the same"
    assert (written.tasks_complete, written.tasks_total) == (1, 2)
    assert archive_plan(project, NOW).name == "2026-01-09-project-2", "none is overwritten"
    assert len(names(project)) == 2


def test_a_finished_plan_is_archived_once(tmp_path: Path) -> None:
    project = a_project(tmp_path, "complete", "pending")
    assert archive_finished(project, NOW) is None
    project.transact(
        lambda docs: docs.replacing(plan=docs.plan.with_task("t1", status=TaskStatus.COMPLETE))
    )
    assert archive_finished(project, NOW) is not None
    assert archive_finished(project, NOW) is None
    project.layout.validation_report.write_text('{"round": 1}')
    assert archive_finished(project, NOW) is not None, "the report belongs to it"


def test_what_cannot_be_archived_is_refused_in_words(tmp_path: Path) -> None:
    project = a_project(tmp_path)
    with pytest.raises(RalphError, match="The plan has no tasks"):
        archive_plan(project, NOW)
    project = a_project(tmp_path / "other", "pending")
    with pytest.raises(RalphError, match="No complete task"):
        retire_complete(project, NOW)
    os.mkfifo(project.layout.progress)
    with pytest.raises(RalphError, match=r"progress\.txt is not a regular file"):
        archive_plan(project, NOW)
    assert not project.layout.archive.exists()


def test_a_folder_without_a_summary_is_named_and_not_listed(tmp_path: Path) -> None:
    project = a_project(tmp_path, "complete")
    archive_plan(project, NOW)
    (project.layout.archive / "mine").mkdir()
    good, bad = read_archives(project.layout)
    assert ([one.name for one in good], bad) == (["2026-01-09-project"], ("mine",))


_KILLED = """
import os, sys
from datetime import UTC, datetime
from pathlib import Path
from ralph_tui.engine.control.archiving import archive_plan
from ralph_tui.store.project import Project
left = int(sys.argv[2])
for name in ("rename", "fsync", "mkdir"):
    def counted(*given, _real=getattr(os, name), **named):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), 9)
        return _real(*given, **named)
    setattr(os, name, counted)
archive_plan(Project(Path(sys.argv[1])), datetime(2026, 1, 9, tzinfo=UTC))
"""


@pytest.mark.long
def test_an_archive_whose_writer_is_killed_is_whole_or_absent(tmp_path: Path) -> None:
    project = a_project(tmp_path, "complete")
    seen = set()
    for step in range(0, 40, 3):
        done = subprocess.run([sys.executable, "-c", _KILLED, project.root, str(step)], check=False)
        good, bad = read_archives(project.layout)
        assert not bad
        for one in good:
            folder = project.layout.archive / one.name
            assert {"plan.json", "prd.json", "specs"} <= {p.name for p in folder.iterdir()}
        seen.add(done.returncode)
        if done.returncode == 0:
            break
    assert seen == {-9, 0}, "the last one was not killed"
    left = [p.name for p in project.layout.archive.iterdir() if p.name.startswith(".")]
    assert not left, "what the dead left behind is gone"


@given(st.lists(st.sampled_from(["pending", "complete", "blocked"]), min_size=1, max_size=6))
def test_a_retired_task_is_out_of_the_way_and_counts_as_done(statuses: list[str]) -> None:
    tasks = tuple(
        Task(
            id=f"t{n}",
            status=TaskStatus(status),
            dependencies=tuple(f"t{k}" for k in range(n)),
        )
        for n, status in enumerate(statuses)
    )
    plan = ImplementationPlan(tasks=tasks)
    done = plan.complete_ids()
    after = plan.retiring(done)
    assert {t.id for t in after.tasks} == {t.id for t in tasks} - done
    assert {t.id for t in after.retired} == done
    assert [t.id for t in after.ready()] == [t.id for t in plan.ready()], "the same is next"
    assert not after.problems()
    again = ImplementationPlan.model_validate_json(after.model_dump_json())
    assert again == after, "and on disk, too"
    if not after.tasks:
        assert not after.is_finished, "an empty plan is not done"
    last = Task(id="last", dependencies=tuple(sorted(done)))
    assert not after.adding((last,)).problems(), "a new task may name what is done and gone"
    assert after.taken_ids() == {t.id for t in tasks}
    assert free_id(after) not in after.taken_ids()


def test_an_archive_directory_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    project = a_project(tmp_path, "complete")
    project.layout.archive.parent.mkdir(exist_ok=True)
    project.layout.archive.symlink_to(project.layout.archive)
    with pytest.raises(RalphError, match="archive"):
        archive_plan(project, NOW)
    with pytest.raises(RalphError, match="archive"):
        archive_finished(project, NOW)


def test_repair_tasks_take_no_archived_id() -> None:
    report = ValidationReport(round=1, specs=(SpecResult(spec="a.md", gaps=("no test",)),))
    (first,) = repair_tasks(report, ImplementationPlan())
    done = first.model_copy(update={"status": TaskStatus.COMPLETE})
    plan = ImplementationPlan(tasks=(done,)).retiring({done.id})
    (second,) = repair_tasks(report, plan)
    assert second.id != first.id

    told = rejection_task("no", 1, ImplementationPlan())
    done = told.model_copy(update={"status": TaskStatus.COMPLETE})
    plan = ImplementationPlan(tasks=(done,)).retiring({done.id})
    assert rejection_task("no", 1, plan).id != told.id


def test_complete_tasks_leave_the_plan_and_the_archive_has_them(tmp_path: Path) -> None:
    project = a_project(tmp_path, "complete", "complete", "pending")
    written = retire_complete(project, NOW)
    assert written.name == "2026-01-09-project-complete"
    plan = plan_of(project.root)
    assert [t.id for t in plan.tasks] == ["t2"]
    assert [t.id for t in plan.ready()] == ["t2"]
    kept = (project.layout.archive / written.name / "plan.json").read_text()
    assert [t["id"] for t in json.loads(kept)["tasks"]] == ["t0", "t1"]
