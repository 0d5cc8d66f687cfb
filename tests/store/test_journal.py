import asyncio
import errno
import json
import os
import shutil
import threading
import time
from contextlib import aclosing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import StoreError
from ralph_tui.store.journal import journal as journal_module
from ralph_tui.store.journal.journal import JournalWriter, read_events, read_lines, tail_events
from ralph_tui.store.journal.journal_location import move_journal, real_journal
from ralph_tui.store.project import Project
from tests.harness.waiting import PATIENCE
from tests.store.helpers import NOW, process, read_line


def notices(writer: JournalWriter, *texts: str) -> list[ev.Event]:
    events = [writer.stamp(ev.Notice(text=text)) for text in texts]
    writer.write(events)
    return events


def texts(path: Path, offset: int = 0) -> list[str]:
    return [event.text for _, event in read_events(path, offset) if isinstance(event, ev.Notice)]


def test_events_come_back_numbered_in_order(project: Project) -> None:
    path = project.layout.events
    writer = JournalWriter(path, clock=lambda: NOW)
    written = notices(writer, "one", "two\nlines", "ünï\u2028code")
    writer.close()
    writer.close()
    read = [event for _, event in read_events(path)]
    assert read == written
    assert [event.seq for event in read] == [1, 2, 3]
    assert {event.time for event in read} == {NOW}
    assert len(path.read_bytes().splitlines()) == 3
    assert path.stat().st_mode & 0o777 == 0o600


def test_numbering_goes_on_where_it_stopped(project: Project) -> None:
    writer = JournalWriter(project.layout.events)
    notices(writer, "one", "two")
    writer.close()
    again = JournalWriter(project.layout.events)
    assert again.last_seq == 2
    assert notices(again, "three")[0].seq == 3
    again.close()


def test_transient_events_are_stamped_and_not_kept(project: Project) -> None:
    writer = JournalWriter(project.layout.events, clock=lambda: NOW)
    delta = writer.stamp(ev.TextDelta(text="x"))
    assert (delta.seq, delta.time) == (0, NOW)
    writer.write([delta])
    assert project.layout.events.read_bytes() == b""
    assert writer.last_seq == 0
    writer.close()


def test_threads_never_share_a_number(project: Project) -> None:
    writer = JournalWriter(project.layout.events)
    seen: list[int] = []

    def stamp() -> None:
        seen.extend(writer.stamp(ev.Notice(text="")).seq for _ in range(300))

    threads = [threading.Thread(target=stamp) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    writer.close()
    assert sorted(seen) == list(range(1, 1201))


def test_numbering_never_waits_for_the_disk(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = JournalWriter(project.layout.events)
    syncing, continue_in_background = threading.Event(), threading.Event()

    def slow(_: int) -> None:
        syncing.set()
        assert continue_in_background.wait(20)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", slow)
        thread = threading.Thread(target=notices, args=(writer, "one"))
        thread.start()
        assert syncing.wait(20)
        assert writer.stamp(ev.Notice(text="two")).seq == 2
        continue_in_background.set()
        thread.join()
    writer.close()


def test_reading_goes_on_from_an_offset(project: Project) -> None:
    writer = JournalWriter(project.layout.events)
    notices(writer, "one", "two", "three")
    offsets = [offset for offset, _ in read_events(project.layout.events)]
    assert offsets[-1] == project.layout.events.stat().st_size
    assert texts(project.layout.events, offsets[0]) == ["two", "three"]
    assert texts(project.layout.events, offsets[-1]) == []
    writer.close()


def test_no_journal_has_no_events(project: Project) -> None:
    assert list(read_events(project.layout.events)) == []


def test_what_cannot_be_read_is_skipped(project: Project) -> None:
    writer = JournalWriter(project.layout.events)
    notices(writer, "one")
    with project.layout.events.open("ab") as file:
        file.write(b'{"type":"from_the_future","seq":7}\n\xff\xfe\n\n{"type":"notice"}\n')
    notices(writer, "two")
    writer.close()
    assert [event.seq for _, event in read_events(project.layout.events)] == [1, 2]


def test_the_last_number_counts_even_on_an_unknown_event(project: Project) -> None:
    project.layout.events.write_bytes(
        b'{"type":"notice","seq":1,"text":""}\n{"type":"from_the_future","seq":7}\nnoise\n'
    )
    writer = JournalWriter(project.layout.events)
    assert writer.last_seq == 7
    writer.close()


def test_the_last_number_is_found_at_the_end_of_a_long_journal(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = JournalWriter(project.layout.events)
    notices(writer, *("x" * 1000 for _ in range(200)))
    writer.close()
    read: list[int] = []
    real = os.pread

    def counted(fd: int, length: int, offset: int) -> bytes:
        read.append(length)
        return real(fd, length, offset)

    monkeypatch.setattr(os, "pread", counted)
    monkeypatch.setattr(journal_module, "CHUNK", 700)
    again = JournalWriter(project.layout.events)
    assert again.last_seq == 200
    assert sum(read) < 10_000
    again.close()


@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(cut=st.data())
def test_a_journal_cut_anywhere_goes_on(project: Project, cut: st.DataObject) -> None:
    path = project.layout.events
    path.unlink(missing_ok=True)
    writer = JournalWriter(path)
    notices(writer, "one", "two", "three")
    writer.close()
    whole = path.read_bytes()
    size = cut.draw(st.integers(0, len(whole)))
    path.write_bytes(whole[:size])
    ends = [n + 1 for n, byte in enumerate(whole) if byte == 10]
    kept = sum(1 for end in ends if size >= end - 1)  # a line that lacks only its end is kept
    again = JournalWriter(path)
    assert again.last_seq == kept
    partial = size not in (0, *ends, *(end - 1 for end in ends))
    assert bool(again.damage) == partial
    notices(again, "after")
    again.close()
    assert texts(path) == [*["one", "two", "three"][:kept], "after"]
    assert path.read_bytes().endswith(b"\n")
    for aside in path.parent.glob("events.jsonl.partial-*"):
        assert aside.name in again.damage[0]
        assert whole.find(aside.read_bytes()) > -1
        aside.unlink()


def test_a_tail_of_zeros_is_set_aside(project: Project) -> None:
    writer = JournalWriter(project.layout.events)
    notices(writer, "one")
    writer.close()
    with project.layout.events.open("ab") as file:
        file.write(b"\0" * 100_000)
    again = JournalWriter(project.layout.events)
    assert (again.last_seq, len(again.damage)) == (1, 1)
    again.close()


def test_a_reader_stops_before_a_line_that_is_not_finished(project: Project) -> None:
    writer = JournalWriter(project.layout.events)
    notices(writer, "one")
    with project.layout.events.open("ab") as file:
        file.write(b'{"type":"notice","seq":2,"text":"x"}')
        file.flush()
        assert texts(project.layout.events) == ["one"]
        file.write(b"\n")
        file.flush()
        assert texts(project.layout.events) == ["one", "x"]
    writer.close()


@pytest.mark.parametrize("call", ["write", "fsync"])
@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EIO])
def test_a_failed_write_leaves_no_trace_and_can_be_repeated(
    project: Project, monkeypatch: pytest.MonkeyPatch, call: str, number: int
) -> None:
    writer = JournalWriter(project.layout.events)
    notices(writer, "one")
    before = project.layout.events.read_bytes()
    real_write, calls = os.write, []

    def fail(fd: int, data: bytes = b"") -> int:
        calls.append(fd)
        if call == "write" and len(calls) == 1:
            return real_write(fd, data[:7])
        raise OSError(number, os.strerror(number))

    events = [writer.stamp(ev.Notice(text=text)) for text in ("two", "three")]
    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(StoreError, match="append to"):
            writer.write(events)
    assert project.layout.events.read_bytes() == before
    writer.write(events)
    assert texts(project.layout.events) == ["one", "two", "three"]
    writer.close()


@pytest.mark.parametrize("other", ["nothing", "a new file"])
def test_a_link_to_the_journal_that_was_taken_away_is_put_back_and_said(
    project: Project, other: str
) -> None:
    project.transact(lambda docs: docs)
    path = project.layout.events
    assert move_journal(project.layout) == real_journal(path) != path
    writer = JournalWriter(path)
    notices(writer, "one")
    path.rename(project.root / "aside")
    if other == "a new file":
        path.write_text('{"type": "notice"}\n')
    notices(writer, "two")
    (said,) = writer.news()
    assert said.startswith("events.jsonl was replaced by another program.")
    assert (writer.news(), texts(path)) == ((), ["one", "two"])
    writer.close()


def test_a_directory_in_the_journals_place_is_refused(project: Project) -> None:
    path = project.layout.events
    writer = JournalWriter(path)
    notices(writer, "one")
    aside = path.rename(project.root / "aside")
    path.mkdir()
    with pytest.raises(StoreError, match="moved or replaced"):
        notices(writer, "two")
    assert texts(aside) == ["one"]
    path.rmdir()
    aside.rename(path)
    notices(writer, "three")
    assert texts(path) == ["one", "three"]
    writer.close()


def test_the_journal_follows_a_project_that_moves_and_a_copy_gets_its_own(
    project: Project,
) -> None:
    def settled(there: Project) -> Path:
        there.transact(lambda docs: docs)
        return move_journal(there.layout)

    first = settled(project)
    writer = JournalWriter(project.layout.events)
    notices(writer, "one")
    writer.close()
    copied = Project(project.root.with_name(f"{project.root.name}-copied"))
    shutil.copytree(project.root, copied.root, symlinks=True)
    second = settled(copied)
    assert (second != first, texts(copied.layout.events)) == (True, ["one"])
    assert texts(project.layout.events) == ["one"]
    moved = Project(project.root.rename(f"{project.root}-moved"))
    third = settled(moved)
    assert (third != first, first.exists(), texts(moved.layout.events)) == (True, False, ["one"])
    by_hand = copied.layout.events
    by_hand.unlink()
    by_hand.write_bytes(b"")
    settled(copied)
    assert texts(copied.layout.events) == []
    assert texts(second.with_name("events.jsonl.before")) == ["one"]


def test_text_no_file_can_hold_is_replaced(project: Project) -> None:
    writer = JournalWriter(project.layout.events)
    notices(writer, "x\ud800")
    writer.write([writer.stamp(ev.PlanLoaded(tasks=()))])
    writer.close()
    assert texts(project.layout.events) == ["x\N{REPLACEMENT CHARACTER}"]
    assert all(json.loads(line) for line in project.layout.events.read_bytes().splitlines())


@pytest.mark.parametrize("kind", ["symlink", "fifo", "directory"])
def test_only_a_regular_file_is_a_journal(project: Project, kind: str) -> None:
    path = project.layout.events
    victim = project.root / "victim"
    victim.write_text("keep")
    if kind == "symlink":
        path.symlink_to(victim)
    elif kind == "fifo":
        os.mkfifo(path)
    else:
        path.mkdir()
    with pytest.raises(StoreError):
        JournalWriter(path)
    assert victim.read_text() == "keep"


WRITE_EVENTS = """
writer = JournalWriter(project.layout.events)
for number in range(300):
    writer.write([writer.stamp(Notice(text=str(number)))])
print("done", flush=True)
sys.stdin.readline()
"""


async def test_a_follower_sees_every_event_of_another_process_in_order(project: Project) -> None:
    seen: list[ev.Event] = []
    async with asyncio.timeout(30), aclosing(tail_events(project.layout.events)) as tail:
        with process(project.root, WRITE_EVENTS):
            async for offset, event in tail:
                seen.append(event)
                if event.seq == 300:
                    assert offset == project.layout.events.stat().st_size
                    break
    assert [event.seq for event in seen] == list(range(1, 301))


async def test_a_follower_may_come_before_the_project(tmp_path: Path) -> None:
    project = Project(tmp_path)
    async with asyncio.timeout(20), aclosing(tail_events(project.layout.events)) as tail:
        first = asyncio.ensure_future(anext(tail))
        done, _ = await asyncio.wait([first], timeout=0.1)
        assert not done
        project.create()
        writer = JournalWriter(project.layout.events)
        notices(writer, "hello")
        _, event = await first
        assert event.seq == 1
    writer.close()


async def test_a_follower_waits_for_the_end_of_a_line(project: Project) -> None:
    path = project.layout.events
    async with asyncio.timeout(20), aclosing(tail_events(path)) as tail:
        with path.open("ab", buffering=0) as file:
            file.write(b'{"type":"notice","seq":1,')
            first = asyncio.ensure_future(anext(tail))
            done, _ = await asyncio.wait([first], timeout=0.2)
            assert not done
            file.write(b'"text":"x"}\n')
            assert (await first)[1].seq == 1


async def test_a_follower_begins_a_new_journal_at_its_beginning(project: Project) -> None:
    path = project.layout.events
    writer = JournalWriter(path)
    notices(writer, "a", "b")
    async with asyncio.timeout(20), aclosing(tail_events(path)) as tail:
        assert [(await anext(tail))[1].seq for _ in range(2)] == [1, 2]
        writer.close()
        path.rename(path.with_suffix(".old"))
        writer = JournalWriter(path)
        notices(writer, "a longer text than the two there were before " * 9)
        assert (await anext(tail))[1].seq == 1
    writer.close()


async def test_following_starts_from_an_offset_and_ends_when_it_is_cancelled(
    project: Project,
) -> None:
    writer = JournalWriter(project.layout.events)
    notices(writer, "one", "two")
    offset, _ = next(read_events(project.layout.events))
    tail = tail_events(project.layout.events, offset)
    assert (await anext(tail))[1].seq == 2
    waiting = asyncio.ensure_future(anext(tail))
    await asyncio.wait([waiting], timeout=0.1)
    waiting.cancel()
    ended, _ = await asyncio.wait([waiting], timeout=PATIENCE)
    assert ended
    writer.close()


KILLED = """
writer = JournalWriter(project.layout.events)
print("ready", flush=True)
while True:
    writer.write([writer.stamp(Notice(text="x" * 5000)) for _ in range(20)])
"""


def test_killing_the_writer_costs_at_most_the_last_line(project: Project) -> None:
    path = project.layout.events
    with process(project.root, KILLED) as child:
        assert read_line(child) == "ready"
        while not path.exists() or path.stat().st_size < 500_000:
            assert child.poll() is None
        child.kill()
        child.wait()
    numbers = [event.seq for _, event in read_events(path)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(list(read_lines(path, 0))) == len(numbers)
    writer = JournalWriter(path)
    assert writer.last_seq == len(numbers)
    writer.close()


def test_a_long_line_without_an_end_is_set_aside_in_time_that_grows_with_it(
    project: Project,
) -> None:
    """A disk that went away in the middle may leave any amount; copied for each chunk it took minutes."""

    def cpu(size: int) -> float:
        project.layout.events.write_bytes(b"{}\n" + b"x" * size)
        before = time.process_time()
        JournalWriter(project.layout.events).close()
        return time.process_time() - before

    small = cpu(2_000_000)
    assert cpu(32_000_000) < 16 * 5 * max(small, 0.002)
    assert project.layout.events.read_bytes() == b"{}\n"
