"""Draws the frames of the screen, then the plan's tasks, without Textual while the screen loads.

Loading takes half a second, and a terminal in which nothing happens for that long looks broken. The colors are
the terminal's own, because the theme is not known before the settings are read. The tasks are drawn where the
board will show them, in the same rows.

Upstream: none; Textual cannot draw before it is imported.
Gain: the frames after 0.05 s and the tasks after 0.2 s, instead of both after 0.6 s.
"""

import os
import shutil
import signal
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO

from ralph_tui.domain.sanitize import one_line
from ralph_tui.present.board.columns import BESIDE_TITLES, LEAST_BOARD, WIDE, share_width
from ralph_tui.present.text.glyphs import Glyphs, choose
from ralph_tui.store.project_root import DOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from ralph_tui.domain.plan.plan import Task

ENTER, LEAVE = "\x1b[?1049h", "\x1b[?1049l"
"""Switch to the terminal's alternate screen, and back."""

_HIDE, _SHOW = "\x1b[?25l", "\x1b[?25h"
_CLEAR, _PLAIN, _BOLD, _DIM = "\x1b[2J", "\x1b[0m", "\x1b[0;1m", "\x1b[0;2m"
_QUIET = "\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?1015l\x1b[?1004l\x1b[?2004l\x1b[<u"
"""Turns off the modes that Textual may have enabled: reports of mouse, focus, pasting, keys."""

_HEAD = 2

_BANNER = 5

MAX_TASKS = 500
"""Maximum number of tasks of a plan that is drawn; grouping more would delay the screen itself."""

_MIN_ROWS = 4
"""Minimum number of rows of the panes below the banner; with fewer, the panes take its place."""

_ROUND, _SQUARE = "╭─╮│╰╯", "+-+|++"


class Splash:
    """The frames that are shown until the screen replaces them."""

    def __init__(self, terminal: TextIO) -> None:
        self._terminal = terminal
        self._drawn = False
        """Whether the frames are shown and the screen has not replaced them yet."""

    def draw(self, text: str) -> None:
        self._terminal.write(text if self._drawn else ENTER + _HIDE + _CLEAR + text)
        self._terminal.flush()
        self._drawn = True

    def show_tasks(self, name: str, tasks: "Sequence[Task]") -> None:
        if self._drawn and 0 < len(tasks) <= MAX_TASKS:
            self.draw(frames(name, *shutil.get_terminal_size(), choose(), tasks))

    def restore(self) -> None:
        """Restore the terminal if no screen has followed."""
        if self._drawn:
            self._drawn = False
            self._terminal.write(LEAVE + _SHOW)
            self._terminal.flush()

    def driver_over(self, driver: type[Any]) -> type[Any]:
        """Return a driver that draws over the splash.

        It does not enter the alternate screen again, which would blank it on some terminals.
        """
        splash = self

        class DriverOverSplash(driver):  # type: ignore[misc]  # the class depends on the system
            def write(self, data: str) -> None:
                if splash._drawn and data == ENTER:
                    splash._drawn = False
                else:
                    super().write(data)

        return DriverOverSplash


@contextmanager
def splash(root: Path) -> Iterator[Splash | None]:
    """Show the frames of a project's screen while the body loads it; remove them if that fails.

    Yields None if there is no project or no terminal, or if the screen is shown in a browser.
    """
    terminal = sys.__stderr__  # where Textual draws
    shown = os.path.lexists(root / DOT) and not os.environ.get("TEXTUAL_DRIVER")
    if not shown or terminal is None or not terminal.isatty():
        yield None
        return
    drawn = Splash(terminal)
    settings = termios.tcgetattr(terminal)

    def end(number: int, _: FrameType | None) -> None:
        """Exit at once: nothing runs yet, and a module that is being imported might swallow an exception."""
        message = "ralph: interrupted.\n" if number == signal.SIGINT else ""
        os.write(terminal.fileno(), (_QUIET + LEAVE + _SHOW + message).encode())
        termios.tcsetattr(terminal, termios.TCSANOW, settings)
        os._exit(128 + number)

    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)  # until the screen has handlers of its own
    before = {signal.SIGINT: signal.signal(signal.SIGINT, end)}
    before[signal.SIGTSTP] = signal.signal(signal.SIGTSTP, signal.SIG_IGN)
    try:
        drawn.draw(frames(root.name, *shutil.get_terminal_size(), choose()))
        yield drawn
    except BaseException:
        drawn.restore()
        raise
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def frames(name: str, width: int, height: int, glyphs: Glyphs, tasks: "Sequence[Task]" = ()) -> str:
    """Return the dashboard's header and panes at a size, as escapes that place each line."""
    head = f"  {glyphs.idle} opening    {one_line(name, max(1, width - 16))}"
    lines = [f"{_DIM}\x1b[1;1H{head[:width]}"]
    top = _HEAD + _BANNER + (1 if width >= WIDE else 2)
    if height - top - 1 < _MIN_ROWS:
        top = _HEAD
    tall, left = height - top - 1, 1
    if width < 20 or tall < 2:
        return lines[0] + _PLAIN
    rows, wanted = _board(tasks, width, tall - 2, glyphs) if tasks else ([], LEAST_BOARD)
    for title, cells in _panes(width, wanted):
        box = _box(title, cells, tall, _ROUND if glyphs.unicode else _SQUARE)
        lines += [f"\x1b[{top + y};{left}H{row}" for y, row in enumerate(box, 1)]
        left += cells
    lines += [f"\x1b[{top + y};3H{row}" for y, row in enumerate(rows, 2)]
    return "".join(lines) + _PLAIN


def _panes(width: int, wanted: int) -> list[tuple[str, int]]:
    if width < WIDE:
        return [("tasks", width)]
    board, activity, side = share_width(width, wanted)
    panes = [("tasks", board), ("activity", activity), ("status", side)]
    return [(title, cells) for title, cells in panes if cells]


def _board(tasks: "Sequence[Task]", width: int, rows: int, glyphs: Glyphs) -> tuple[list[str], int]:
    from ralph_tui.domain.plan.task_map import tasks_of
    from ralph_tui.present.board.board_groups import Grouping
    from ralph_tui.present.board.board_rows import board_line, wanted_cells
    from ralph_tui.present.text.spans import Tone, flat

    looks = {Tone.TEXT: _PLAIN, Tone.TITLE: _BOLD}
    wanted = wanted_cells(tasks, width)
    room = _panes(width, wanted)[0][1] - BESIDE_TITLES
    groups = Grouping()
    groups.width, groups.height = room, rows
    groups.follow(tasks_of(tasks))
    lines = (board_line(row, room, glyphs) for row in islice(groups, rows))
    return [
        "".join(looks.get(tone, _DIM) + flat(text) for text, tone in line) for line in lines
    ], wanted


def _box(title: str, width: int, height: int, signs: str) -> list[str]:
    left, line, right, side, low_left, low_right = tuple(signs)
    top = f"{left}{line} {title} ".ljust(width - 1, line) + right
    middle = side + " " * (width - 2) + side
    return [top, *[middle] * (height - 2), low_left + line * (width - 2) + low_right]
