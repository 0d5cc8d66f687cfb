"""A person's terminal: a real pseudo-terminal, a shell around the program, a picture of the screen."""

import contextlib
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pexpect
import psutil
import pyte

from ralph_tui.tui.screens.dialogs.auto_dialog import PAUSE
from tests.harness.real_processes import MARK, marked_processes
from tests.harness.waiting import PATIENCE

_SHELL = """
stty -a > "$BEFORE"
"$@"
status=$?
stty -a > "$AFTER"
printf '[left %s]\\n' "$status"
"""
"""Runs its arguments as a person's shell would, and notes the terminal's settings around it."""

_LEFT = re.compile(rb"\[left (\d+)\]")

_SWITCHES = {
    "the alternate screen": 1049,
    "mouse buttons": 1000,
    "mouse motion": 1003,
    "bracketed paste": 2004,
}
"""Private modes a full-screen program switches on for itself and must switch off again."""


class Terminal:
    """One program on a pseudo-terminal; every wait is bounded."""

    def __init__(self, child: "pexpect.spawn[bytes]", size: tuple[int, int], notes: Path) -> None:
        self._child = child
        self._screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self._screen)
        self._notes = notes
        self._drawn = 0
        self._text = ""
        self._ended = False
        self.raw = bytearray()
        """All output so far."""

    @property
    def text(self) -> str:
        if fresh := bytes(self.raw[self._drawn :]):
            self._drawn += len(fresh)
            self._stream.feed(fresh)
            self._text = "\n".join(line.rstrip() for line in self._screen.display)
        return self._text

    def press(self, keys: str | bytes) -> None:
        self._child.send(keys)

    def until_asked(self, text: str, seconds: float = PATIENCE) -> None:
        """Wait until a dialog that appears by itself shows the text, and takes keys."""
        self.until_shown(text, seconds)
        awake = time.monotonic() + PAUSE.total_seconds()
        self.until(lambda: time.monotonic() >= awake, "the moment in which a dialog takes no keys")

    def hang_up(self) -> None:
        with contextlib.suppress(
            pexpect.ExceptionPexpect
        ):  # it has not ended within pexpect's 0.3 s
            self._child.close(force=False)

    def until(self, condition: Callable[[], object], what: str, seconds: float = PATIENCE) -> None:
        """Take in output until `condition()` is true."""
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                # A report that is cut keeps its last lines, so what was waited for stands below the screen.
                raise TimeoutError(f"{self.text}\nnot within {seconds:g} s: {what}")
            if self._ended:
                raise EOFError(f"{self.text}\nthe program has ended, without {what}")
            self._take_in()

    def until_shown(self, text: str, seconds: float = PATIENCE) -> None:
        self.until(lambda: text in self.text, f"{text!r} on the screen", seconds)

    def exit_status(self, seconds: float = PATIENCE) -> int:
        self.until(lambda: _LEFT.search(self.raw), "the end of the program", seconds)
        found = _LEFT.search(self.raw)
        assert found
        return int(found[1])

    @property
    def after_screen(self) -> str:
        text = bytes(self.raw).rpartition(b"\x1b[?1049l")[2]
        return _without_controls(_LEFT.sub(b"", text).decode("utf-8", "replace")).strip()

    def left_over(self) -> list[str]:
        """How the terminal differs from what it was before the program; empty when restored."""
        wrong = [name for name, mode in _SWITCHES.items() if self._last_switch(mode) == b"h"]
        if self._last_switch(1049) is None:
            wrong.append("no full screen was opened")
        if self._last_switch(25) == b"l":
            wrong.append("a hidden cursor")
        if self.raw.count(b"\x1b[22;0t") != self.raw.count(b"\x1b[23;0t"):
            wrong.append("the title")
        before, after = ((self._notes / name).read_text() for name in ("before", "after"))
        if before != after:
            wrong.append(f"terminal settings: {_changed_words(before, after)}")
        return wrong

    def _last_switch(self, mode: int) -> bytes | None:
        found = re.findall(rb"\x1b\[\?%d([hl])" % mode, self.raw)
        return found[-1] if found else None

    def _take_in(self) -> None:
        try:
            self.raw += self._child.read_nonblocking(1 << 16, timeout=0.05)
        except pexpect.TIMEOUT:
            return
        except pexpect.EOF:
            self._ended = True


def _without_controls(text: str) -> str:
    return re.sub(r"\x1b(\[[0-9;:?<>=]*[ -/]*[@-~]|\][^\x07]*\x07|[=>])", "", text)


def _changed_words(before: str, after: str) -> str:
    return " ".join(sorted(set(before.split()) ^ set(after.split())))


@contextlib.contextmanager
def terminal(
    args: Sequence[str],
    *,
    cwd: Path,
    notes: Path,
    environment: Mapping[str, str],
    size: tuple[int, int] = (120, 40),
) -> Iterator[Terminal]:
    """`python -m ralph_tui ARGS` in a terminal of `size`; what it left behind is killed at the end."""
    columns, lines = size
    env = {
        **environment,
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LC_ALL": "C.UTF-8",
        "BEFORE": str(notes / "before"),
        "AFTER": str(notes / "after"),
    }
    words = ["-c", _SHELL, "sh", sys.executable, "-m", "ralph_tui", *args]
    child: pexpect.spawn[bytes] = pexpect.spawn(
        "sh", words, cwd=str(cwd), env=env, dimensions=(lines, columns)
    )
    child.delaybeforesend = None
    try:
        yield Terminal(child, size, notes)
    finally:
        for survivor in marked_processes(environment[MARK]):
            with contextlib.suppress(psutil.NoSuchProcess):
                survivor.kill()
        child.close(force=True)


def app_process(mark: str) -> psutil.Process:
    ours = [p for p in marked_processes(mark) if p.cmdline()[1:3] == ["-m", "ralph_tui"]]
    assert len(ours) == 1, ours
    return ours[0]
