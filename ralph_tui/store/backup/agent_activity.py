"""Record when an agent's commands run, where the agent cannot write.

Every ralph process reads the record. A change of ralph's documents during such a command that ralph did not make
counts as the agent's.
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
"""File times may be up to one tick of the kernel's clock older than ours."""

AFTER_DEATH_SECONDS = 10.0
"""Seconds for which commands may outlive a killed loop, although its watchdog ends them at once."""

MOST_SPANS = 500


class Activity(Record):
    """The time spans in which commands of an agent ran.

    Attributes:
        boot: The id of the machine's boot in which the times were measured.
        owner: The process id of the loop that started the commands.
        mark: The name and value of the environment variable that every process of the run has.
        spans: Start and end of each ended command, in seconds of the wall clock.
        running: Starts of the commands that are still running.
        at: When the record was written.
    """

    boot: str = ""
    owner: int = 0
    mark: tuple[str, str] = ("", "")
    spans: tuple[tuple[float, float], ...] = ()
    running: tuple[float, ...] = ()
    at: float = 0.0

    def covers(self, moment: float) -> bool:
        ended = any(b - SLACK_SECONDS <= moment <= e + SLACK_SECONDS for b, e in self.spans)
        start = min(self.running, default=None)
        if ended or start is None:
            return ended
        alive = process_exists(self.owner)
        return start - SLACK_SECONDS <= moment and (
            alive or moment <= self.at + AFTER_DEATH_SECONDS
        )

    def covers_any_since(self, moment: float) -> bool:
        return bool(self.running) or any(end >= moment for _, end in self.spans)


class ActivityLog:
    """Records when commands run, for a project's single loop."""

    def __init__(
        self, root: Path, mark: tuple[str, str], report: Callable[[str], None] = lambda _: None
    ) -> None:
        """Start with no running command, and keep the spans of earlier runs of the same boot.

        Args:
            report: Receives a sentence when the record cannot be written.
        """
        self._root = root
        self._mark = mark
        self._report = report
        self._running: dict[str, float] = {}
        before = read_activity(root)
        same = before.boot == boot_id()
        self._spans: list[tuple[float, float]] = list(before.spans) if same else []
        if same:
            end = before.at + AFTER_DEATH_SECONDS  # the earlier loop died
            self._spans += [(start, end) for start in before.running]

    def begin(self, key: str) -> None:
        if key not in self._running:
            self._running[key] = time.time()
            self._write()

    def end(self, key: str) -> None:
        start = self._running.pop(key, None)
        if start is not None:
            self._spans = [*self._spans[-MOST_SPANS:], (start, time.time())]
            self._write()

    def end_all(self) -> None:
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
            self._report(f"Changes by the agent's commands cannot be recognized: {error}.")


def read_activity(root: Path) -> Activity:
    with contextlib.suppress(OSError, StoreError, DamagedError, ValidationError):
        data = read_regular(mirror_of(root) / NAME)
        return Activity.model_validate_json(data) if data else Activity()
    return Activity()


def commands_alive(activity: Activity) -> bool:
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
