"""Draws the frames of the screen while the screen is being loaded, without Textual.

Loading takes half a second; a terminal in which nothing happens for so long looks like a mistake. The
colors are the terminal's own, because which theme is wanted is not known before the settings are read.

Upstream: none; Textual cannot draw before it is imported.
Gain: the first picture after 0.05 s instead of 0.5 s.
"""

import os
import shutil
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, TextIO

from ralph_tui.domain.sanitize import one_line
from ralph_tui.present.text.glyphs import choose
from ralph_tui.store.project_root import DOT

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
"""The terminal's second screen, on and off."""

_HIDE, _SHOW, _DIM, _PLAIN = "\x1b[?25l", "\x1b[?25h", "\x1b[2m", "\x1b[0m"
_QUIET = "\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1004l\x1b[?2004l\x1b[<u"
"""Turns off what Textual may have asked for: reports of mouse, focus, pasting, keys."""

_HEAD = 2
"""Rows of the header."""

_ROUND, _SQUARE = "╭─╮│╰╯", "+-+|++"


class Splash:
    """The frames that are drawn until the screen takes their place."""

    def __init__(self, terminal: TextIO) -> None:
        """Draw nothing yet."""
        self._terminal = terminal
        self._waits = False
        """Whether it is drawn and waits for the screen."""

    def draw(self, text: str) -> None:
        """Put `text` on the terminal's second screen."""
        self._terminal.write(ENTER + _HIDE + text)
        self._terminal.flush()
        self._waits = True

    def lower(self) -> None:
        """Restore the terminal, because no screen follows."""
        if self._waits:
            self._waits = False
            self._terminal.write(LEAVE + _SHOW)
            self._terminal.flush()

    def behind(self, driver: type[Any]) -> type[Any]:
        """Return a driver that draws over it: entering the second screen again would blank it on some terminals."""
        splash = self

        class Behind(driver):  # type: ignore[misc]  # which one depends on the system
            def write(self, data: str) -> None:
                if splash._waits and data == ENTER:
                    splash._waits = False
                else:
                    super().write(data)

        return Behind


@contextmanager
def splash(root: Path) -> Iterator[Splash | None]:
    """Draw the frames of a project's screen while the body loads it; remove them if that fails.

    None where there is no project or no terminal to draw on, or the screen is a page of a browser.
    """
    terminal = sys.__stderr__  # where Textual draws
    shown = os.path.lexists(root / DOT) and not os.environ.get("TEXTUAL_DRIVER")
    if not shown or terminal is None or not terminal.isatty():
        yield None
        return
    drawn = Splash(terminal)
    settings = termios.tcgetattr(terminal)

    def end(number: int, _: FrameType | None) -> None:
        """End at once: nothing runs yet, and a module that is being imported might swallow an error."""
        said = "ralph: interrupted.\n" if number == signal.SIGINT else ""
        os.write(terminal.fileno(), (_QUIET + LEAVE + _SHOW + said).encode())
        termios.tcsetattr(terminal, termios.TCSANOW, settings)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)  # until the screen has handlers of its own
    before = {signal.SIGINT: signal.signal(signal.SIGINT, end)}
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    try:
        size = shutil.get_terminal_size()
        drawn.draw(frames(root.name, *size, unicode=choose().unicode))
        yield drawn
    except BaseException:
        drawn.lower()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def frames(name: str, width: int, height: int, *, unicode: bool) -> str:
    """Return the dashboard's header and panes at a size, as escapes that place each line.

    Args:
        name: Of the project.
        width: Cells of a line.
        height: Lines of the terminal.
        unicode: Whether the frames may have round corners.
    """
    head = f"  {'○' if unicode else 'o'} opening    {one_line(name, max(1, width - 16))}"
    rows = [head[:width], *[""] * (_HEAD - 1)]
    if width >= 140:
        rest = width - 46
        panes = [("tasks", rest // 3), ("activity", rest - rest // 3), ("context", 46)]
    elif width >= 100:
        panes = [("tasks", 44), ("activity", width - 44)]
    else:
        panes = [("activity", width)]
    tall = height - _HEAD - 1
    if width >= 20 and tall >= 2:
        columns = [_box(title, wide, tall, _ROUND if unicode else _SQUARE) for title, wide in panes]
        rows += ["".join(parts) for parts in zip(*columns, strict=True)]
    lines = "".join(f"\x1b[{number};1H{row}" for number, row in enumerate(rows[:height], 1))
    return f"\x1b[2J{_DIM}{lines}{_PLAIN}"


def _box(title: str, width: int, height: int, signs: str) -> list[str]:
    left, line, right, side, low_left, low_right = tuple(signs)
    top = f"{left}{line} {title} ".ljust(width - 1, line) + right
    middle = side + " " * (width - 2) + side
    return [top, *[middle] * (height - 2), low_left + line * (width - 2) + low_right]
