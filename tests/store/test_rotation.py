"""What grows line by line: a full file is set aside, and nobody loses a line or a place by it."""

import errno
import os
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ralph_tui.domain.documents.questions import MAX_SETTLED, AskedQuestion, Question
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.project_state import Phase, SessionRecord
from ralph_tui.store import crash_reports
from ralph_tui.store.documents.documents import Documents
from ralph_tui.store.io import rotation
from ralph_tui.store.io.files import read_regular, write_atomic
from ralph_tui.store.io.quarantine import KEPT_ASIDE, set_aside
from ralph_tui.store.io.rotation import append_log, older
from ralph_tui.store.project import Project
from ralph_tui.store.text_files import KEPT_PLANS
from tests.store.helpers import Faults, process, read_line

SMALL = 2_000
"""Bytes of a full file here; a session's line has some 280."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rotation, "MOST_BYTES", SMALL)


def ended(project: Project, *numbers: int) -> None:
    for number in numbers:
        project.archive_session(SessionRecord(session_id=f"s{number}", iteration=number))


def known(project: Project) -> list[int]:
    return [record.iteration for record in project.read_sessions()]


def test_of_the_sessions_the_newest_are_kept_in_two_files_of_a_bounded_size(
    project: Project,
) -> None:
    ended(project, *range(100))
    kept = known(project)
    assert kept == list(range(kept[0], 100))
    assert 7 < len(kept) < 20
    path = project.layout.sessions
    assert {p.name for p in path.parent.iterdir()} == {path.name, older(path).name}
    assert max(p.stat().st_size for p in (path, older(path))) < SMALL + 400
    assert older(path).stat().st_mode & 0o077 == 0
    assert project.damage() == ()


def test_who_reads_while_a_file_is_set_aside_gets_every_line_once(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended(project, *range(100))
    before = known(project)
    following = list(range(100, 130))

    def meanwhile(path: Path) -> bytes | None:
        data = read_regular(path)
        if following:  # more than once, and at either file, one becomes full
            ended(project, following.pop(0))
        return data

    monkeypatch.setattr(rotation, "read_regular", meanwhile)
    for _ in range(12):
        seen = known(project)
        assert seen == list(range(seen[0], seen[-1] + 1))
        assert seen[-1] >= before[-1]
        before = seen
    assert before[-1] > 115


def test_a_line_that_was_cut_off_does_not_take_the_next_with_it(project: Project) -> None:
    path = project.layout.sessions
    ended(project, *range(7))
    with path.open("a") as file:
        file.write('{"session_id": "' + "x" * SMALL)  # a kill -9 in the middle of a line
    ended(project, 7, 8)
    assert older(path).exists()
    assert known(project) == list(range(9))
    (told,) = project.damage()
    assert "1 unreadable lines" in told


def test_a_kill_at_any_moment_loses_no_session(project: Project) -> None:
    code = f"""
from ralph_tui.domain.project_state import SessionRecord
from ralph_tui.store.io import rotation as growing
growing.MOST_BYTES = {SMALL}
for n in range(100_000):
    project.archive_session(SessionRecord(session_id=f"s{{n}}", iteration=n))
    print(n, flush=True)
"""
    with process(project.root, code) as child:
        last = 0
        while last < 60:
            last = int(read_line(child))
        child.kill()
        last = max([last, *map(int, child.communicate()[0].split())])
    kept = known(project)
    assert kept[0] > 0, "more than once a full file was set aside"
    assert kept == list(range(kept[0], kept[-1] + 1))
    assert kept[-1] >= last, "what was said to be kept is kept; more may have been on its way"


def test_whatever_fails_while_a_file_is_set_aside_the_sessions_are_all_there(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = project.layout.sessions
    while not path.exists() or path.stat().st_size < SMALL:
        ended(project, len(known(project)))
    full, before = path.read_bytes(), known(project)
    failures = 0
    for nth in range(1, 50):
        older(path).unlink(missing_ok=True)
        path.write_bytes(full)
        with monkeypatch.context() as patch:
            faults = Faults(patch, nth, errno.EIO)
            try:
                ended(project, len(before))
            except StoreError as error:
                failures += 1
                assert error.hint  # noqa: PT017  (not every call's failure is an error)
        assert known(project) in (before, [*before, len(before)])
        ended(project, 1000)
        assert known(project)[-1] == 1000
        if faults.left > 0:
            break
    assert failures > 3
    assert older(path).exists()


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


def test_a_full_progress_file_is_set_aside_and_its_learnings_are_still_told(
    project: Project,
) -> None:
    for number in range(60):
        project.append_learning("note", f"learning {number} {'x' * 40}")
    path = project.layout.progress
    assert path.stat().st_size < SMALL + 100
    assert older(path).stat().st_size < SMALL + 100
    told = [line.split()[4] for line in project.read_learnings(30)]
    assert told == [str(number) for number in range(30, 60)]


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
