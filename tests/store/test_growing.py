"""What grows line by line: a full file is set aside, and nobody loses a line or a place by it."""

import errno
import os
from pathlib import Path

import pytest

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.state import SessionRecord
from ralph_tui.store import crash, growing
from ralph_tui.store.files import read_regular
from ralph_tui.store.growing import append_log, older
from ralph_tui.store.project import Project
from tests.store.helpers import process, read_line
from tests.store.test_crash import Faults

SMALL = 2_000
"""Bytes of a full file here; a session's line has some 280."""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growing, "MOST_BYTES", SMALL)


def ended(project: Project, *numbers: int) -> None:
    """Sessions that ended."""
    for number in numbers:
        project.archive_session(SessionRecord(session_id=f"s{number}", iteration=number))


def known(project: Project) -> list[int]:
    """The iterations of the sessions that are known, oldest first."""
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

    monkeypatch.setattr(growing, "read_regular", meanwhile)
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
    assert "1 lines" in told


def test_a_kill_at_any_moment_loses_no_session(project: Project) -> None:
    code = f"""
from ralph_tui.domain.state import SessionRecord
from ralph_tui.store import growing
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
    assert kept[-1] in (last, last + 1)


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


def test_a_log_that_leads_elsewhere_is_not_written(project: Project, tmp_path: Path) -> None:
    path = project.log_path("cli.log")
    path.unlink()
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        append_log(path, "line\n")
    assert not (tmp_path / "elsewhere").exists()


def test_of_crash_reports_the_newest_are_kept(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(crash, "KEPT", 3)
    mine = project.layout.logs / "mine.txt"
    mine.touch()
    written = []
    for number in range(6):
        written.append(crash.write_report(ValueError(f"{number}"), project.root))
        os.utime(written[-1], (number + 1, number + 1))
    assert [path for path in written if path.exists()] == written[-3:]
    assert mine.exists()
