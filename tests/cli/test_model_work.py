"""Commands that would ask the model: what they name first, and what they refuse before anything is sent."""

import json
from pathlib import Path

import pytest

from ralph_tui.domain.project_state import Approval, ApprovalKind
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.projects import make_project, task

YES_SENDS = "Nothing was sent: there is nobody to ask. Give --yes to agree."


def unchanged(project: Path) -> bytes:
    return (project / ".ralph" / "implementation_plan.json").read_bytes()


def fake_gh(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    place = tmp_path / "bin"
    place.mkdir()
    (place / "gh").write_text(f"#!/bin/sh\n{script}\n")
    (place / "gh").chmod(0o755)
    monkeypatch.setenv("PATH", f"{place}:/usr/bin:/bin")


def test_what_is_sent_is_named_before_anybody_agrees(tmp_path: Path) -> None:
    limits = {"safety": {"cost_limits": {"per_iteration": 3, "per_session": 8, "total": 5}}}
    project = make_project(tmp_path, [task("a")], config=limits)
    before = unchanged(project)
    done = inside("add", "--plan", "Export", "to", "CSV", "--model", "opus", cwd=project)
    assert done.returncode == 4
    assert done.stdout == (
        "sends  your text (13 characters), the plan (1 task), specs, AGENTS.md\n"
        "model  opus\n"
        "cost   at most $5.00 in this run, $3.00 in each session\n"
    )
    assert YES_SENDS in done.stderr
    assert unchanged(project) == before


def test_without_limits_that_is_said_too(tmp_path: Path) -> None:
    none = dict.fromkeys(("per_iteration", "per_session", "total"), 0)
    project = make_project(tmp_path, config={"safety": {"cost_limits": none}})
    assert "cost   no limit\n" in inside("add", "--plan", "x", cwd=project).stdout


def test_an_issue_is_read_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answer = {"number": 12, "title": "Export", "body": "As CSV.", "url": "https://x/12"}
    fake_gh(tmp_path, monkeypatch, f"echo '{json.dumps(answer)}'")
    project = make_project(tmp_path)
    done = inside("add", "--plan", "#12", cwd=project)
    assert done.returncode == 4
    assert "sends  issue #12 (17 characters)" in done.stdout


def test_a_gh_that_is_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = inside("add", "--plan", "12", cwd=make_project(tmp_path))
    assert "gh is not installed" in done.stderr


@pytest.mark.parametrize("yes", [(), ("--yes",)])
def test_a_plan_that_cannot_grow_now_is_refused(tmp_path: Path, yes: tuple[str, ...]) -> None:
    project = make_project(tmp_path, [task("a", dependencies=["nowhere"])])
    done = inside("add", "--plan", "x", *yes, cwd=project)
    assert "depends on 'nowhere'" in done.stderr
    waiting = make_project(tmp_path / "other", [task("a")])
    asked = Approval(kind=ApprovalKind.SPECS)
    Project(waiting).transact(lambda docs: docs.with_state(approval=asked))
    done = inside("add", "--plan", "x", *yes, cwd=waiting)
    assert "Your decision about the specs is pending." in done.stderr


def test_a_loop_that_runs_is_not_disturbed(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    lock = LoopLock(Layout(project))
    lock.acquire("r")
    try:
        done = inside("add", "--plan", "x", "--yes", cwd=project)
    finally:
        lock.release()
    assert done.returncode != 0
    assert "cost" not in done.stdout


def test_few_learnings_are_no_burden(tmp_path: Path) -> None:
    project = make_project(tmp_path, files={"progress.txt": "PATTERN: One thing.\n"})
    done = inside("memory", "--compact", "--yes", cwd=project)
    assert "There is nothing to compact: 1 learning. Compaction starts at 61." in done.stderr
    assert done.returncode != 0
