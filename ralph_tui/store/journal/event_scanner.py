"""Find events of some types in a long journal without parsing the rest.

A journal of a million events is a few hundred megabytes; parsing it takes minutes, looking for the
lines that matter takes a second or two. Blocks; call it in a thread.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol

from pydantic import ValidationError

from ralph_tui.domain.events import EVENT, Event
from ralph_tui.store.io.files import explained, open_regular
from ralph_tui.store.journal.journal_location import real_journal

CHUNK = 1024 * 1024

Progress = Callable[[int, int], None]
"""Called with the bytes read and the bytes in total; may raise to end the search."""


class Sieve(Protocol):
    """What a scan looks for; it may change with every line that was found."""

    @property
    def pattern(self) -> re.Pattern[bytes]:
        """The pattern that a matching line contains."""
        ...

    def worth(self, line: bytes) -> bool:
        """Return whether a matching line is worth parsing."""
        ...


class _Types:
    """Lets every line of the given types through."""

    def __init__(self, types: Iterable[str]) -> None:
        self.pattern = re.compile(b'"type":"(?:' + any_of(types) + b')"')

    def worth(self, line: bytes) -> bool:
        del line
        return True


def any_of(types: Iterable[str]) -> bytes:
    """Return a pattern for any of the values; text escapes its quotes, so only a real key matches `"type":"`."""
    return b"|".join(re.escape(name.encode()) for name in sorted(types))


class FoundEvent(NamedTuple):
    """An event and the offset of its line."""

    start: int
    end: int
    event: Event


class Scan(Iterator[FoundEvent]):
    """Yields the events of the wanted types in order, and leaves an unfinished line for later.

    Attributes:
        end: Up to where lines were looked at; a later scan can continue from here.
        skipped: Lines that looked wanted and cannot be read.
    """

    def __init__(
        self,
        path: Path,
        types: Iterable[str],
        *,
        start: int = 0,
        stop: int | None = None,
        progress: Progress | None = None,
        sieve: Sieve | None = None,
    ) -> None:
        """Scan part of a journal.

        Args:
            path: The journal.
            types: The event types to find.
            start: The byte offset to begin at, which must be the beginning of a line.
            stop: The byte offset to end at.
            progress: Called after each block with the offset reached and the last one.
            sieve: A narrower search, which may leave out some of `types`.
        """
        self.end = start
        self.skipped = 0
        self._wanted = frozenset(types)
        self._sieve = sieve or _Types(self._wanted)
        self._found = self._search(path, stop, progress)

    def __next__(self) -> FoundEvent:
        return next(self._found)

    def _search(
        self, path: Path, stop: int | None, progress: Progress | None
    ) -> Iterator[FoundEvent]:
        with explained("read", path):
            try:
                descriptor = open_regular(real_journal(path), os.O_RDONLY)
            except FileNotFoundError:
                return
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            last = size if stop is None else min(stop, size)
            file.seek(self.end)
            for lines in _blocks(file.read, last - self.end):
                base = self.end
                for start, end in _marked(self._sieve, lines):
                    event = self._parsed(lines[start:end])
                    if event is not None:
                        self.end = base + end
                        yield FoundEvent(base + start, base + end, event)
                self.end = base + len(lines)
                if progress:
                    progress(self.end, last)

    def _parsed(self, line: bytes) -> Event | None:
        if not self._sieve.worth(line):
            return None
        try:
            event = EVENT.validate_json(line)
        except ValidationError:
            self.skipped += 1
            return None
        return event if event.type in self._wanted else None


def line_start(path: Path, offset: int) -> int:
    """Return the offset of the first line that begins at or after a place, or the end of the file."""
    with (
        explained("read", path),
        os.fdopen(open_regular(real_journal(path), os.O_RDONLY), "rb") as file,
    ):
        file.seek(max(0, offset - 1))
        file.readline()
        return file.tell() if offset > 0 else 0


def _blocks(read: Callable[[int], bytes], left: int) -> Iterator[bytes]:
    """Yield whole lines in blocks of about a chunk, without an unfinished last line."""
    rest = b""
    while left > 0:
        chunk = read(min(CHUNK, left))
        if not chunk:
            return
        left -= len(chunk)
        whole, newline, tail = chunk.rpartition(b"\n")
        if not newline:
            rest += chunk
            continue
        yield rest + whole + newline
        rest = tail


def _marked(sieve: Sieve, lines: bytes) -> Iterator[tuple[int, int]]:
    """Yield the beginning and end of each line that contains the pattern, once per line."""
    done = 0
    while (match := sieve.pattern.search(lines, done)) is not None:
        start = lines.rfind(b"\n", 0, match.start()) + 1
        done = lines.index(b"\n", match.end()) + 1
        yield start, done
