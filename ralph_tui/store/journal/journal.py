"""Write and read the append-only journal `.ralph/events.jsonl`: one writer, any number of readers."""

import json
import os
import threading
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.events import EVENT, Event, LoopStarted
from ralph_tui.store.backup.mirror import mirror_of
from ralph_tui.store.io.files import (
    append_all,
    explained,
    file_stamp,
    open_regular,
    sync_directory,
    utc_now,
    write_atomic,
)
from ralph_tui.store.io.quarantine import forget_older
from ralph_tui.store.io.strict_json import json_text
from ralph_tui.store.journal.journal_location import link_journal, real_journal

CHUNK = 64 * 1024
BATCH = 500


class JournalWriter:
    """Appends events. Only the owner of the loop's lock may create a writer.

    Attributes:
        last_seq: The number of the newest event that was stamped.
        damage: Sentences about repairs made on opening.
    """

    def __init__(self, path: Path, *, clock: Callable[[], datetime] = utc_now) -> None:
        """Open the journal, and complete or set aside a line that a crash left unfinished."""
        self._visible = path
        path = self._path = real_journal(path)
        self._news: list[str] = []
        self._clock = clock
        # Two locks, because stamping an event must never wait for an fsync.
        self._numbering = threading.Lock()
        self._writing = threading.Lock()
        self.damage: tuple[str, ...] = ()
        with explained("open", path):
            created = not path.exists()
            self._descriptor = open_regular(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
            try:
                if created:
                    sync_directory(path.parent)
                self._repair()
                self.last_seq = _last_seq(self._descriptor)
            except BaseException:
                os.close(self._descriptor)
                raise

    def stamp(self, event: Event) -> Event:
        """Return the event with its number and time, without I/O. A transient event has the number 0."""
        with self._numbering:
            seq = 0
            if not event.transient:
                self.last_seq += 1
                seq = self.last_seq
            return event.model_copy(update={"seq": seq, "time": self._clock()})

    def write(self, events: Sequence[Event]) -> None:
        lines = [json_text(event).encode() + b"\n" for event in events if not event.transient]
        if not lines:
            return
        with self._writing, explained("append to", self._visible):
            self._restore_link()
            append_all(self._descriptor, b"".join(lines))

    def news(self) -> tuple[str, ...]:
        news, self._news = tuple(self._news), []
        return news

    def _restore_link(self) -> None:
        """Restore the journal's link after another program changed it, so that readers find the journal."""
        if not self._is_open_file():
            raise StoreError(
                f"{self._visible} was moved or replaced while a loop wrote to it.",
                "Put it back and run again. Otherwise the next run starts a new one.",
            )
        if self._visible != self._path and real_journal(self._visible) != self._path:
            link_journal(self._visible, self._path)
            self._news.append(
                f"{self._path.name} was replaced by another program. Ralph restored its own file. Nothing was lost."
            )

    def _is_open_file(self) -> bool:
        ours = os.fstat(self._descriptor)
        try:
            found = self._path.lstat()
        except OSError:
            return False
        return (found.st_dev, found.st_ino) == (ours.st_dev, ours.st_ino)

    def close(self) -> None:
        with self._writing:
            if self._descriptor >= 0:
                os.close(self._descriptor)
                self._descriptor = -1

    def _repair(self) -> None:
        size = os.fstat(self._descriptor).st_size
        start, tail = _unfinished(self._descriptor, size)
        if not tail:
            return
        if parse(tail) is not None:  # only the newline is missing
            append_all(self._descriptor, b"\n")
            return
        aside = self._path.with_name(f"{self._path.name}.partial-{file_stamp(self._clock())}")
        write_atomic(aside, tail)
        forget_older(self._path, "partial")
        os.ftruncate(self._descriptor, start)
        os.fsync(self._descriptor)
        self.damage = (
            f"The last line of {self._path.name} was unfinished and was set aside as {aside.name}.",
        )


def read_events(path: Path, offset: int = 0) -> Iterator[tuple[int, Event]]:
    """Yield each event with the offset after its line, without damaged lines and an unfinished last one."""
    for end, line in read_lines(path, offset):
        if (event := parse(line)) is not None:
            yield end, event


def last_run(path: Path) -> tuple[int, LoopStarted] | None:
    """Return the offset and first event of the newest run, or None. Searches from the end of the journal."""
    with explained("read", path):
        try:
            descriptor = open_regular(real_journal(path), os.O_RDONLY)
        except FileNotFoundError:
            return None
        try:
            end = os.fstat(descriptor).st_size
            while end > 0:
                start = max(0, end - CHUNK)
                chunk = os.pread(descriptor, end - start + len(_RUN_MARK) - 1, start)
                at = chunk.rfind(_RUN_MARK)
                while at >= 0:
                    begin, _ = _unfinished(descriptor, start + at)
                    event = parse(_line(descriptor, begin))
                    if isinstance(event, LoopStarted):
                        return begin, event
                    at = chunk.rfind(_RUN_MARK, 0, at)
                end = start
            return None
        finally:
            os.close(descriptor)


_RUN_MARK = b'"loop_started"'


def _line(descriptor: int, start: int) -> bytes:
    with os.fdopen(os.dup(descriptor), "rb") as file:
        file.seek(start)
        return file.readline()


async def tail_events(path: Path, offset: int = 0) -> AsyncGenerator[tuple[int, Event], None]:
    """Yield the events from `offset` on, and then every new one until cancelled.

    Another process may write the journal, and it may not exist yet. If it is replaced by a new one, reading
    starts over at the beginning.
    """
    import asyncio

    from ralph_tui.store.io.wake_ups import wake_ups

    identity: int | None = None
    wakes = wake_ups(path.parent, *_real_directories(path), names=frozenset({path.name}))
    async with aclosing(wakes):
        async for _ in wakes:
            found = await asyncio.to_thread(_identity, path)
            if found is None:
                continue
            inode, size = found
            if size < offset or (identity is not None and inode != identity):
                offset = 0
            identity = inode
            while size > offset:
                events, end = await asyncio.to_thread(_batch, path, offset)
                for item in events:
                    yield item
                if end == offset:  # the last line is not finished yet
                    break
                offset = end


def _real_directories(path: Path) -> tuple[Path, ...]:
    try:
        return (mirror_of(path.parent.parent),)
    except StoreError:
        return ()


def _batch(path: Path, offset: int) -> tuple[list[tuple[int, Event]], int]:
    """Return the next events with the offsets after them, and the offset up to which lines were read."""
    events: list[tuple[int, Event]] = []
    for end, line in read_lines(path, offset):
        offset = end
        if (event := parse(line)) is not None:
            events.append((end, event))
        if len(events) >= BATCH:
            break
    return events, offset


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        info = path.stat()
    except OSError:
        return None
    return info.st_ino, info.st_size


def parse(line: bytes) -> Event | None:
    """Return the event on a line, or None when the line is damaged or from a newer ralph."""
    try:
        return EVENT.validate_json(line)
    except ValidationError:
        return None


def read_lines(path: Path, offset: int) -> Iterator[tuple[int, bytes]]:
    """Yield each finished line, valid or not, with the offset after it."""
    with explained("read", path):
        try:
            descriptor = open_regular(real_journal(path), os.O_RDONLY)
        except FileNotFoundError:
            return
    with os.fdopen(descriptor, "rb") as file:
        file.seek(offset)
        for line in file:
            if not line.endswith(b"\n"):
                return
            offset += len(line)
            yield offset, line


def _unfinished(descriptor: int, size: int) -> tuple[int, bytes]:
    # Read backwards and join once, so that a long line is not copied for each chunk.
    tail: list[bytes] = []
    position = size
    while position > 0:
        step = min(CHUNK, position)
        position -= step
        chunk = os.pread(descriptor, step, position)
        newline = chunk.rfind(b"\n")
        tail.append(chunk[newline + 1 :])
        if newline >= 0:
            return position + newline + 1, b"".join(reversed(tail))
    return 0, b"".join(reversed(tail))


def _seq(line: bytes) -> int:
    try:
        value = json.loads(line)
    except ValueError:
        return 0
    seq = value.get("seq") if isinstance(value, dict) else None
    return seq if isinstance(seq, int) else 0


def _last_seq(descriptor: int) -> int:
    end = os.fstat(descriptor).st_size
    while end > 0:
        start, line = _unfinished(descriptor, end - 1)
        if (seq := _seq(line)) > 0:
            return seq
        end = start
    return 0
