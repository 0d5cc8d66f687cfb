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
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.plain_list import install, installed
from tests.harness.projects import HAS_FILE, make_project, plan_of, task

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


def test_without_a_person_nothing_is_written_and_the_status_says_so(project: Path) -> None:
    (project / "a.plain").write_text(CHECKED)
    before = kept(project)
    asked = inside("import", "a.plain", cwd=project)
    assert asked.returncode == 4
    assert asked.stderr == (
        "ralph: Nothing was written: there is nobody to ask. Give --yes to agree.\n"
    )
    told = inside("import", "a.plain", "--json", cwd=project)
    assert told.returncode == 4
    preview = json.loads(told.stdout)
    assert [(row["change"], row["id"]) for row in preview["rows"]] == [
        ("new", "create"),
        ("new", "fill"),
    ]
    assert preview["commands"][0]["command"] == "uv run pytest tests/test_fill.py"
    assert (preview["written"], preview["changes_plan"], preview["checked"]) == (False, True, {})
    assert kept(project) == before
    agreed = json.loads(inside("import", "a.plain", "--json", "--yes", cwd=project).stdout)
    assert agreed == {**preview, "written": True}


def test_standard_input_is_a_source_of_its_own(project: Path) -> None:
    done = inside("import", "-", "--as", "plain-list", "--yes", cwd=project, stdin=PLAN)
    assert done.returncode == 0, done.stderr
    assert {task.origin.path for task in plan_of(project).tasks if task.origin} == {""}


def test_hostile_text_is_inert_and_hostile_commands_are_never_run(project: Path) -> None:
    (project / "a.plain").write_text("- [ ] x: Look \x1b]0;here\x07 `rm -rf ~/`\n")
    done = inside("import", "a.plain", "--yes", cwd=project)
    assert "\x1b" not in done.stdout
    assert "Refused commands  kept as words, never run" in done.stdout
    assert plan_of(project).tasks[0].verification_criteria == (
        "Not run, refused by the guard: rm -rf ~/",
    )


BAD = (
    ("nonsense\n", (), "a.plain:1: the line is not"),
    ("- [ ] a: A\n- [ ] a: B\n", (), "a.plain:2: the id a is used twice."),
    ("", (), "a.plain: the file is empty."),
    (PLAN, ("--as", "nothing"), "--as: unknown format 'nothing'."),
    ("a\0", (), "a.plain:1: it contains a NUL byte"),
)


def test_a_bad_file_is_one_sentence_and_nothing_is_touched(project: Path) -> None:
    for text, words, said in BAD:
        (project / "a.plain").write_text(text)
        before = kept(project)
        done = inside("import", "a.plain", "--yes", *words, cwd=project)
        assert (done.returncode, done.stdout) == (3, ""), said
        assert done.stderr.startswith(f"ralph: {said}")
        assert kept(project) == before
    (project / "notes.xyz").write_text("words")
    done = inside("import", "notes.xyz", cwd=project)
    assert (done.returncode, "plain-list" in done.stderr) == (3, True), "it names the formats"
    assert "notes.xyz: the format of this file is unknown." in done.stderr


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


def test_the_checks_of_finished_tasks_decide_about_them(project: Path) -> None:
    there, missing = (HAS_FILE.format(name=name) for name in ("pyproject.toml", "none.txt"))
    (project / "a.plain").write_text(f"- [x] yes: Yes `{there}`\n- [x] no: No `{missing}`\n")
    done = inside("import", "a.plain", "--yes", "--check", cwd=project)
    assert done.returncode == 0, done.stderr
    yes, no = plan_of(project).tasks
    assert (yes.status, yes.is_unverified) == (TaskStatus.COMPLETE, False)
    assert Project(project).receipts.has_record_of(yes)
    assert (no.status, no.verification) == (TaskStatus.PENDING, None)
    assert "no  failed: " in done.stdout


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


def test_a_new_file_needs_a_format(project: Path) -> None:
    inside("import", "a.plain", "--yes", cwd=project)
    asked = inside("export", "new.plain", cwd=project)
    assert (asked.returncode, (project / "new.plain").exists()) == (3, False)
    assert "new.plain: the file does not exist yet." in asked.stderr
    assert "plain-list" in asked.stderr
    done = inside("export", "new.plain", "--as", "plain-list", "--json", cwd=project)
    assert json.loads(done.stdout)["created"] is True
    assert (project / "new.plain").read_text().startswith("- [x] create: ")


NOT_THE_PLANS = {
    "../out.plain": "it is not in the project.",
    "inner.plain": "it is a link.",
    "outer.plain": "it is a link to a place outside the project.",
    ".ralph/state.json": "it is in a directory that belongs to ralph or git.",
    "no/a.plain": "its directory does not exist.",
    "other.plain": "no task in the plan was imported from it as plain-list.",
    "pyproject.toml": "the format of this file is unknown.",
    ".": "it is not in the project.",
}


def test_no_file_is_written_that_is_not_the_plans(project: Path) -> None:
    inside("import", "a.plain", "--yes", cwd=project)
    (project / "inner.plain").symlink_to("a.plain")
    (project.parent / "out.plain").write_text(PLAN)
    (project / "outer.plain").symlink_to(project.parent / "out.plain")
    (project / "other.plain").write_text(PLAN)
    inside("complete", "fill", "--reason", "tried", cwd=project)
    before = {path: path.read_bytes() for path in project.parent.rglob("*") if path.is_file()}
    for name, said in NOT_THE_PLANS.items():
        done = inside("export", name, cwd=project)
        assert (name, done.returncode) == (name, 3)
        assert said in done.stderr, name
        assert {path: path.read_bytes() for path in before} == before, name
        assert not (project / "no").exists()


def test_following_begins_and_ends_by_name(project: Path) -> None:
    inside("import", "a.plain", "--yes", cwd=project)
    begun = inside("export", "a.plain", "--follow", cwd=project)
    assert "Every run updates it from now on." in begun.stdout
    ended = inside("export", "a.plain", "--unfollow", cwd=project)
    assert ended.stdout == "Runs no longer update a.plain. The file stays as it is.\n"
    assert not (project / ".ralph" / "followed_exports.json").exists()
    again = inside("export", "a.plain", "--unfollow", cwd=project)
    assert (again.returncode, again.stderr.splitlines()[0]) == (
        3,
        "ralph: a.plain is not followed.",
    )


def test_a_file_that_ralph_writes_as_a_whole_is_not_imported(project: Path) -> None:
    inside("import", "a.plain", "--yes", cwd=project)
    inside("export", "own.plain", "--as", "plain-list", "--follow", cwd=project)
    before = kept(project)
    refused = inside("import", "own.plain", "--yes", cwd=project)
    assert refused.returncode == 3
    assert refused.stderr.startswith("ralph: own.plain: ralph writes this file from the plan")
    assert kept(project) == before


def test_beside_a_loop_the_plan_may_change_but_no_checks_run(project: Path) -> None:
    lock = LoopLock(Layout(project))
    lock.acquire("run-1")
    try:
        refused = inside("import", "a.plain", "--yes", "--check", cwd=project)
        assert (refused.returncode, plan_of(project).tasks) == (3, ())
        assert "Checks cannot run beside a loop" in refused.stderr
        done = inside("import", "a.plain", "--yes", cwd=project)
    finally:
        lock.release()
    assert done.returncode == 0
    assert done.stderr == (
        "ralph: A loop is running here. It sees the change before its next task.\n"
    )
    assert len(plan_of(project).tasks) == 2


def test_a_directory_of_plans_is_one_import(project: Path) -> None:
    (project / "plans").mkdir()
    for name in ("10", "9"):
        stories = [{"id": f"US-{name}", "title": f"Do {name}", "passes": False, "priority": 1}]
        text = json.dumps({"userStories": stories})
        (project / "plans" / f"{name}.json").write_text(text)
    (project / "plans" / "notes.md").write_text("Words.")
    done = inside("import", "plans", "--yes", cwd=project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 files (prd)\n")
    assert "Other files in the directory that are not in the format prd: 1." in done.stdout
    assert [(t.id, t.origin and t.origin.path) for t in plan_of(project).tasks] == [
        ("US-9", "plans/9.json"),
        ("US-10", "plans/10.json"),
    ]


def test_init_names_a_plan_that_is_there(tmp_path: Path) -> None:
    (tmp_path / "prd.json").write_text("{}")
    (tmp_path / "package.json").write_text("{}")
    done = inside("init", "--yes", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    offer = "prd.json is a plan of another tool. Import it with `ralph import prd.json`"
    assert done.stdout.rstrip().endswith(offer)


def test_a_directory_of_stories_waits_in_the_order_of_their_numbers(project: Path) -> None:
    (project / "docs" / "stories").mkdir(parents=True)
    for number in (10, 9):
        text = (
            f"# Story 1.{number}: Login {number}\n\n## Status\n\nDraft\n\n## Story\n\n**As a** user,\n"
            "**I want** to log in,\n**so that** I see my data.\n\n## Acceptance Criteria\n\n1. It works\n\n"
            "## Tasks / Subtasks\n\n- [ ] Do it (AC: 1)\n"
        )
        (project / "docs" / "stories" / f"1.{number}.login.md").write_text(text)
    done = inside("import", "docs/stories", "--yes", cwd=project)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 files (bmad)\n")
    assert [task.id for task in plan_of(project).tasks] == ["1.9", "1.10"]
    following = plan_of(project).get_next_task()
    assert following is not None
    assert following.id == "1.9"
