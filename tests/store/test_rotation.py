"""What is kept of what grows: a full log is set aside, and of other files the newest stay."""

import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ralph_tui.domain.documents.questions import MAX_SETTLED, AskedQuestion, Question
from ralph_tui.domain.project_state import Phase
from ralph_tui.store import crash_reports
from ralph_tui.store.documents.documents import Documents
from ralph_tui.store.io import rotation
from ralph_tui.store.io.files import write_atomic
from ralph_tui.store.io.quarantine import KEPT_ASIDE, set_aside
from ralph_tui.store.io.rotation import append_log, older
from ralph_tui.store.project import Project
from ralph_tui.store.text_files import KEPT_PLANS

SMALL = 2_000
"""Bytes of a full log here."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "MOST_BYTES", SMALL)


def test_a_log_begins_anew_when_it_is_full_and_keeps_one_older(project: Project) -> None:
    path = project.log_path("claude-cli.log")
    for number in range(200):
        append_log(path, f"line {number} {'x' * 40}\n")
    lines = (older(path).read_text() + path.read_text()).splitlines()
    numbers = [int(line.split()[1]) for line in lines]
    assert numbers == list(range(numbers[0], 200))
    assert 40 < len(numbers) < 100
    assert path.stat().st_mode & 0o077 == older(path).stat().st_mode & 0o077 == 0


def test_of_crash_reports_the_newest_are_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crash_reports, "KEPT", 3)
    mine = project.layout.logs / "mine.txt"
    mine.touch()
    written = []
    for number in range(6):
        written.append(crash_reports.write_report(ValueError(f"{number}"), project.root))
        os.utime(written[-1], (number + 1, number + 1))
    assert [path for path in written if path.exists()] == written[-3:]
    assert mine.exists()


def test_of_archived_plans_the_newest_are_kept(project: Project) -> None:
    for number in range(KEPT_PLANS + 5):
        write_atomic(project.layout.plan, str(number).encode())
        project.archive_plan()
    kept = project.layout.session_history.glob("plan-*.json")
    assert sorted(int(path.read_text()) for path in kept) == list(range(5, KEPT_PLANS + 5))


def test_of_settled_questions_the_newest_are_kept_and_every_open_one(project: Project) -> None:
    asked = [
        AskedQuestion(
            id=f"q{number}",
            batch="b",
            phase=Phase.DISCOVERY,
            question=Question(question=f"Number {number}?", header="N", options=()),
            asked_at=datetime(2026, 1, 1, tzinfo=UTC) + timedelta(minutes=number),
            withdrawn=number > 0,
        )
        for number in range(MAX_SETTLED + 11)
    ]

    def ask(docs: Documents) -> Documents:
        return docs.model_copy(update={"questions": docs.questions.asking(asked)})

    project.transact(ask)
    kept = [question.id for question in Project(project.root).load().questions.questions]
    assert kept == ["q0", *(f"q{number}" for number in range(11, MAX_SETTLED + 11))]


def test_of_what_was_set_aside_the_newest_are_kept(tmp_path: Path) -> None:
    path, now = tmp_path / "state.json", datetime(2026, 1, 1, tzinfo=UTC)
    beside = tmp_path / "state.json.orig.corrupt-1"
    beside.write_text("somebody else's")
    for number in range(KEPT_ASIDE + 3):
        path.write_text(str(number))
        os.utime(path, (1_000_000_000 - number, 1_000_000_000 - number))  # a restored one is older
        set_aside(path, now + timedelta(seconds=number))
    kept = sorted(tmp_path.glob("state.json.corrupt-*"))
    assert [p.read_text() for p in kept] == [str(n) for n in range(3, KEPT_ASIDE + 3)]
    assert beside.exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_a_crash_report_that_a_full_disk_does_not_take_is_written_elsewhere(
    project: Project, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def make(suffix: str, prefix: str, directory: Path | None, *, text: bool) -> tuple[int, str]:
        path = tmp_path / f"{prefix}{suffix}" if directory is None else Path("/dev/full")
        return os.open(path, os.O_WRONLY | os.O_CREAT), str(path)

    monkeypatch.setattr(tempfile, "mkstemp", make)
    written = crash_reports.write_report(ValueError("why it broke"), project.root)
    assert written.parent == tmp_path
    assert "why it broke" in written.read_text()
