"""Finds events of some types in a long journal without parsing the rest.

A journal of a million events is a few hundred megabytes; parsing it takes minutes, looking for the
lines that matter takes a second or two. Blocks; call it in a thread.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from ralph_tui.domain.events import EVENT, Event
from ralph_tui.store.files import explained, open_regular

CHUNK = 1024 * 1024

Progress = Callable[[int, int], None]
"""Told how many bytes were looked at and how many there are; may raise to end the search."""

Worth = Callable[[bytes], bool]
"""Whether a line of a wanted type is worth parsing."""


class Found(NamedTuple):
    """An event and where its line is."""

    start: int
    end: int
    event: Event


class Scan(Iterator[Found]):
    """The events of the wanted types, in order; a line that is not finished is left for later.

    Attributes:
        end: Up to where lines were looked at; a later scan can go on from here.
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
        worth: Worth | None = None,
    ) -> None:
        """Look at the lines from `start`, which must be the beginning of one, up to `stop`."""
        self.end = start
        self.skipped = 0
        self._wanted = frozenset(types)
        # Quotes inside a text are escaped, so only a real key can look like this.
        words = b"|".join(re.escape(name.encode()) for name in sorted(self._wanted))
        self._pattern = re.compile(rb'"type":"(?:' + words + rb')"')
        self._worth = worth
        self._found = self._search(path, stop, progress)

    def __next__(self) -> Found:
        return next(self._found)

    def _search(self, path: Path, stop: int | None, progress: Progress | None) -> Iterator[Found]:
        with explained("read", path):
            try:
                descriptor = open_regular(path, os.O_RDONLY)
            except FileNotFoundError:
                return
        with os.fdopen(descriptor, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            last = size if stop is None else min(stop, size)
            file.seek(self.end)
            for lines in _blocks(file.read, last - self.end):
                base = self.end
                for start, end in _marked(self._pattern, lines):
                    event = self._parsed(lines[start:end])
                    if event is not None:
                        self.end = base + end
                        yield Found(base + start, base + end, event)
                self.end = base + len(lines)
                if progress:
                    progress(self.end, last)

    def _parsed(self, line: bytes) -> Event | None:
        if self._worth and not self._worth(line):
            return None
        try:
            event = EVENT.validate_json(line)
        except ValidationError:
            self.skipped += 1
            return None
        return event if event.type in self._wanted else None


def _blocks(read: Callable[[int], bytes], left: int) -> Iterator[bytes]:
    """Whole lines, about a chunk at a time; an unfinished last line is not among them."""
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


def _marked(pattern: re.Pattern[bytes], lines: bytes) -> Iterator[tuple[int, int]]:
    """Where the lines begin and end in which the pattern is found; each line once."""
    done = 0
    while (match := pattern.search(lines, done)) is not None:
        start = lines.rfind(b"\n", 0, match.start()) + 1
        done = lines.index(b"\n", match.end()) + 1
        yield start, done
