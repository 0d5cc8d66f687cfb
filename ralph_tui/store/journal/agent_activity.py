"""Record when an agent's commands run, where the agent cannot write, so that every ralph process knows.

A change of ralph's documents during such a command, unless ralph made it, is the agent's.
"""

import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from ralph_tui.domain.base import Record
from ralph_tui.domain.errors import StoreError
from ralph_tui.store.backup.mirror import mirror_of
from ralph_tui.store.io.files import DamagedError, process_exists, read_regular, replace_file
from ralph_tui.store.lock import boot_id

NAME = "agent.json"

SLACK_SECONDS = 0.1
"""The times of files are up to a tick of the kernel's clock older than ours."""

AFTER_DEATH_SECONDS = 10.0
"""Seconds for which commands may outlive a killed loop, whose watchdog ends them at once."""

MOST_SPANS = 500


class Activity(Record):
    """The time spans in which commands of an agent ran.

    Attributes:
        boot: Of which boot of the machine these times are.
        owner: The process whose loop started the commands.
        mark: The environment variable, with its value, that everything this run starts has.
        spans: Begin and end of each, in seconds of the wall clock.
        running: Begins of those that have not ended.
        at: When this was written.
    """

    boot: str = ""
    owner: int = 0
    mark: tuple[str, str] = ("", "")
    spans: tuple[tuple[float, float], ...] = ()
    running: tuple[float, ...] = ()
    at: float = 0.0

    def covers(self, moment: float) -> bool:
        """Return whether a command was running at that moment."""
        ended = any(b - SLACK_SECONDS <= moment <= e + SLACK_SECONDS for b, e in self.spans)
        begun = min(self.running, default=None)
        if ended or begun is None:
            return ended
        alive = process_exists(self.owner)
        return begun - SLACK_SECONDS <= moment and (
            alive or moment <= self.at + AFTER_DEATH_SECONDS
        )

    def covers_any_since(self, moment: float) -> bool:
        """Return whether any command ran since then."""
        return bool(self.running) or any(end >= moment for _, end in self.spans)


class ActivityLog:
    """Records when commands run, for the one loop of a project. A failure is reported once."""

    def __init__(
        self, root: Path, mark: tuple[str, str], tell: Callable[[str], None] = lambda _: None
    ) -> None:
        """Begin with no running command."""
        self._root = root
        self._mark = mark
        self._tell = tell
        self._running: dict[str, float] = {}
        before = read_activity(root)
        same = before.boot == boot_id()
        self._spans: list[tuple[float, float]] = list(before.spans) if same else []
        if same:
            end = before.at + AFTER_DEATH_SECONDS  # left by a loop that died
            self._spans += [(begun, end) for begun in before.running]

    def begin(self, key: str) -> None:
        """Record that a command starts."""
        if key not in self._running:
            self._running[key] = time.time()
            self._write()

    def end(self, key: str) -> None:
        """Record that a command ended; unknown keys are ignored."""
        begun = self._running.pop(key, None)
        if begun is not None:
            self._spans = [*self._spans[-MOST_SPANS:], (begun, time.time())]
            self._write()

    def end_all(self) -> None:
        """Record that no command runs any more."""
        for key in list(self._running):
            self.end(key)

    def _write(self) -> None:
        activity = Activity(
            boot=boot_id(),
            owner=os.getpid(),
            mark=self._mark,
            spans=tuple(self._spans),
            running=tuple(self._running.values()),
            at=time.time(),
        )
        try:
            replace_file(mirror_of(self._root) / NAME, activity.model_dump_json().encode())
        except (OSError, StoreError) as error:
            self._tell(f"What the agent's commands change cannot be told apart: {error}.")


def read_activity(root: Path) -> Activity:
    """Return when commands ran in a project; empty when that is unknown."""
    with contextlib.suppress(OSError, StoreError, DamagedError, ValidationError):
        data = read_regular(mirror_of(root) / NAME)
        return Activity.model_validate_json(data) if data else Activity()
    return Activity()


def commands_alive(activity: Activity) -> bool:
    """Return whether a background process of a command is still alive."""
    import psutil

    name, value = activity.mark
    if not name or not process_exists(activity.owner):
        return False
    with contextlib.suppress(psutil.Error, OSError):
        agents = {child.pid for child in psutil.Process(activity.owner).children()}
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if process.pid not in agents and process.environ().get(name) == value:
                    return True
    return False
