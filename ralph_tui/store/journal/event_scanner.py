"""Find events of some types in a long journal without parsing the rest.

A journal of a million events has a few hundred megabytes. Parsing all of it takes minutes; searching for the
relevant lines takes a second or two. The search blocks, so call it in a thread.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ralph_tui.domain.events import EVENT, Event
from ralph_tui.store.io.files import explained, open_regular
from ralph_tui.store.journal.journal_location import real_journal

CHUNK = 1024 * 1024

Progress = Callable[[int, int], None]
"""Called with the bytes read and the total bytes. May raise an exception to end the search."""


class FoundEvent(NamedTuple):
    """An event and the start and end offset of its line."""

    start: int
    end: int
    event: Event


class Scan(Iterator[FoundEvent]):
    """Yields the events of the wanted types in order, and stops before an unfinished line.

    Attributes:
        end: The offset up to which lines were searched. A later scan can continue from here.
        skipped: The number of matching lines that could not be parsed.
    """

    def __init__(
        self,
        path: Path,
        types: Iterable[str],
        *,
        start: int = 0,
        stop: int | None = None,
        progress: Progress | None = None,
        accepts: Callable[[bytes], bool] = lambda _: True,
    ) -> None:
        """Scan part of a journal.

        Args:
            start: The byte offset to begin at, which must be the start of a line.
            progress: Called after each block with the current and the last offset.
            accepts: Returns whether a line of a wanted type is to be parsed.
        """
        self.end = start
        self.skipped = 0
        self._wanted = frozenset(types)
        # After `"type":"` it cannot match inside a text, because JSON escapes the quotes there.
        names = b"|".join(re.escape(name.encode()) for name in sorted(self._wanted))
        self._pattern = re.compile(b'"type":"(?:' + names + b')"')
        self._accepts = accepts
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
                for start, end in _matching_lines(self._pattern, lines):
                    event = self._parsed(lines[start:end])
                    if event is not None:
                        self.end = base + end
                        yield FoundEvent(base + start, base + end, event)
                self.end = base + len(lines)
                if progress:
                    progress(self.end, last)

    def _parsed(self, line: bytes) -> Event | None:
        if not self._accepts(line):
            return None
        try:
            event = EVENT.validate_json(line)
        except ValidationError:
            self.skipped += 1
            return None
        return event if event.type in self._wanted else None


def line_start(path: Path, offset: int) -> int:
    with (
        explained("read", path),
        os.fdopen(open_regular(real_journal(path), os.O_RDONLY), "rb") as file,
    ):
        file.seek(max(0, offset - 1))
        file.readline()
        return file.tell() if offset > 0 else 0


def _blocks(read: Callable[[int], bytes], left: int) -> Iterator[bytes]:
    """Yield blocks of whole lines of about `CHUNK` bytes, without an unfinished last line."""
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


def _matching_lines(pattern: re.Pattern[bytes], lines: bytes) -> Iterator[tuple[int, int]]:
    done = 0
    while (match := pattern.search(lines, done)) is not None:
        start = lines.rfind(b"\n", 0, match.start()) + 1
        done = lines.index(b"\n", match.end()) + 1
        yield start, done
