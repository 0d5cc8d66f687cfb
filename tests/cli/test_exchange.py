"""`ralph import` and `ralph export`: a look first, one transaction, and whatever is wrong in one sentence."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import Task, TaskStatus
from ralph_tui.interop.format_registry import formats
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.plain_list import install, installed
from tests.harness.projects import make_project, plan_of, task

PLAN = """\
- [x] create: Create the database
- [ ] fill: Fill the database
"""
CHECKED = f"{PLAN.rstrip()} `uv run pytest tests/test_fill.py`\n"
"""The same with a command, which a process of the guard has to judge."""


@pytest.fixture(scope="module", autouse=True)
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The installed importer; a search for importers reads what every package says of itself."""
    site = install(tmp_path_factory.mktemp("installed"))
    with installed(site):
        yield site


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path, files={"a.plain": PLAN})


def kept(project: Path) -> dict[str, bytes]:
    """The files that a refused import must not touch."""
    names = (".ralph/implementation_plan.json", "a.plain")
    return {name: (project / name).read_bytes() for name in names}


def test_an_installed_importer_is_found_shown_and_imported(project: Path) -> None:
    (project / "a.plain").write_text(CHECKED)
    before = kept(project)
    looked = inside("import", "a.plain", "--dry-run", cwd=project)
    assert looked.returncode == 0, looked.stderr
    assert looked.stdout.splitlines() == [
        "a.plain (plain-list)",
        "",
        "Tasks  2 new",
        "  new       create  Create the database  (complete in the file, not verified by ralph)",
        "  new       fill    Fill the database",
        "",
        "Commands  criteria that ralph will run",
        "  fill  $ uv run pytest tests/test_fill.py",
        "",
        "Nothing was written, because this is a dry run.",
    ]
    assert kept(project) == before
    done = inside("import", "a.plain", "--yes", cwd=project)
    assert done.stdout.splitlines()[-1] == (
        "Imported 2 new tasks. `ralph tasks` lists the plan, `ralph build` builds it."
    )
    assert (project / "a.plain").read_bytes() == before["a.plain"]
    create, fill = plan_of(project).tasks
    assert create.is_unverified
    assert Project(project).receipts.has_record_of(create)
    assert fill.origin is not None
    assert (fill.origin.path, fill.origin.format) == ("a.plain", "plain-list")
    again = inside("import", "a.plain", cwd=project)
    assert (again.returncode, again.stdout.splitlines()[-1]) == (
        0,
        "Nothing to import: the plan is up to date.",
    )


def test_a_broken_importer_is_named_and_stops_nothing_else(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "extra" / "broken-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(
        "[ralph_tui.importers]\nbroken = nothing_of_this_name:It\nraises = raising:It\n"
    )
    (tmp_path / "extra" / "raising.py").write_text(
        "class It:\n    name = 'raises'\n    def sniff(self, source): return 1\n"
        "    def read(self, source, wanted): return 1 / 0\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path / "extra"))
    formats.cache_clear()
    done = inside("import", "a.plain", "--dry-run", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "The installed importer 'broken' could not be loaded" in done.stdout
    failed = inside("import", "a.plain", "--as", "raises", cwd=project)
    formats.cache_clear()
    assert failed.returncode == 3
    assert "a.plain: the installed importer 'raises' failed: ZeroDivisionError" in failed.stderr


KILLED = """
import os, signal, sys
from ralph_tui.cli.main import main

at = int(sys.argv[1])
def killing(real):
    def call(*given, **named):
        global at
        at -= 1
        if at < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return real(*given, **named)
    return call
os.fsync, os.replace = killing(os.fsync), killing(os.replace)
main(["import", "a.plain", "--yes"])
"""


LONG = [pytest.param(at, marks=pytest.mark.long) for at in (0, 1, 2, 3, 6, 7, 8)]


@pytest.mark.parametrize("at", [4, 5, *LONG], ids=lambda at: f"step {at}")
def test_a_kill_leaves_the_old_plan_or_the_new_one(project: Path, site: Path, at: int) -> None:
    (project / ".ralph/implementation_plan.json").write_text(json.dumps({"tasks": [task("old")]}))
    source = (project / "a.plain").read_bytes()
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(at)],
        cwd=project,
        env={"PYTHONPATH": str(site), "PATH": "/usr/bin:/bin", "HOME": str(project.parent)},
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr
    ids = [one.id for one in plan_of(project).tasks]
    assert ids in (["old"], ["old", "create", "fill"])
    assert (project / "a.plain").read_bytes() == source
    assert inside("import", "a.plain", "--yes", cwd=project).returncode == 0
    assert [one.id for one in plan_of(project).tasks] == ["old", "create", "fill"]


def test_a_loops_own_change_between_look_and_answer_is_kept(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from ralph_tui.config.load import load_settings
    from ralph_tui.domain.errors import RalphError
    from ralph_tui.engine.control.controls import Controls
    from ralph_tui.engine.run.plan_import import PlanImport

    monkeypatch.chdir(project)
    importing = PlanImport(Controls(project), load_settings(project))
    shown = importing.look("a.plain")
    other = Task(id="other", description="Added by the loop")
    Project(project).transact(lambda docs: docs.replacing(plan=docs.plan.adding([other])))
    importing.write(shown)
    assert [task.id for task in plan_of(project).tasks] == ["other", "create", "fill"]
    (project / "a.plain").write_text(f"{PLAN}- [ ] more: More\n")
    shown = importing.look("a.plain")
    begin(project, "fill")  # which this import does not touch
    importing.write(shown)
    (project / "a.plain").write_text(f"{PLAN}- [ ] more: Much more\n")
    shown = importing.look("a.plain")
    begin(project, "more")
    with pytest.raises(RalphError, match="The plan changed after the preview"):
        importing.write(shown)


def begin(project: Path, task_id: str) -> None:
    Project(project).transact(
        lambda docs: docs.replacing(
            plan=docs.plan.with_task(task_id, status=TaskStatus.IN_PROGRESS)
        )
    )


# Export.


def test_an_export_changes_only_what_says_that_a_task_is_done(project: Path) -> None:
    text = b"\xef\xbb\xbf- [ ] a: A\r\n\r\n  words \r\n- [ ] b: B"
    (project / "b.plain").write_bytes(text.replace(b"  words \r\n", b""))
    assert inside("import", "b.plain", "--yes", cwd=project).returncode == 0
    (project / "b.plain").write_bytes(text)
    (project / "b.plain").chmod(0o640)
    same = inside("export", "b.plain", cwd=project)
    assert same.stdout == "Nothing to change in b.plain (plain-list).\n"
    inside("complete", "b", "--reason", "tried", cwd=project)
    done = inside("export", "b.plain", cwd=project)
    assert (done.returncode, done.stdout) == (0, "Updated b.plain (plain-list).\n")
    assert (project / "b.plain").read_bytes() == text.replace(b"[ ] b", b"[x] b")
    assert (project / "b.plain").stat().st_mode & 0o777 == 0o640
