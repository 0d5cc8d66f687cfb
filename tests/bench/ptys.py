"""A pseudo-terminal with a clock: every piece of output with the moment it arrived."""

import contextlib
import os
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pexpect

PATIENCE = 60.0


@dataclass
class Recording:
    """Output of one program as it arrived."""

    child: "pexpect.spawn[bytes]"
    began: float
    pieces: list[tuple[float, bytes]] = field(default_factory=list)
    ended: threading.Event = field(default_factory=threading.Event)
    _news: threading.Condition = field(default_factory=threading.Condition)

    def read(self) -> None:
        """Take in output until there is no more; runs in a thread, so that nothing waits for us."""
        while True:
            try:
                data = os.read(self.child.child_fd, 1 << 16)
            except OSError:  # the terminal is gone: the program has ended
                data = b""
            with self._news:
                if data:
                    self.pieces.append((time.perf_counter(), data))
                else:
                    self.ended.set()
                self._news.notify_all()
            if not data:
                return

    def wait_for(self, marker: bytes) -> float:
        """Seconds from the start until the marker was there."""
        with self._news:
            if not self._news.wait_for(
                lambda: self._holds(marker) or self.ended.is_set(), PATIENCE
            ):
                raise TimeoutError(f"{marker!r} did not come")
            assert self._holds(marker), b"".join(d for _, d in self.pieces)[-2000:]
            return self.pieces[-1][0] - self.began

    def _holds(self, marker: bytes) -> bool:
        return marker in b"".join(data for _, data in self.pieces)


@contextlib.contextmanager
def recording(
    command: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str] | None = None,
    size: tuple[int, int] = (120, 40),
) -> Iterator[Recording]:
    env = {**os.environ, **(environment or {}), "TERM": "xterm-256color", "LC_ALL": "C.UTF-8"}
    env["COLORTERM"] = "truecolor"
    columns, lines = size
    began = time.perf_counter()
    child: pexpect.spawn[bytes] = pexpect.spawn(
        command[0], list(command[1:]), cwd=str(cwd), env=env, dimensions=(lines, columns)
    )
    child.delaybeforesend = None
    record = Recording(child, began)
    reader = threading.Thread(target=record.read)
    reader.start()
    try:
        yield record
    finally:
        child.kill(9)
        reader.join(PATIENCE)
        child.close(force=True)
