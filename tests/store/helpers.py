"""What several store tests need: other processes, small changes, a clock."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.store.project import Documents, Project

NOW = datetime(2026, 1, 26, 14, 30, tzinfo=UTC)

CALLS = ("open", "write", "fsync", "replace", "rename", "link", "unlink")


class Faults:
    """Makes the Nth of the system calls that change something fail, once, or with all after it: a death."""

    def __init__(
        self, patch: pytest.MonkeyPatch, nth: int, number: int, *, for_good: bool = False
    ) -> None:
        self.left, self.number, self.for_good = nth, number, for_good
        for name in CALLS:
            patch.setattr(os, name, self._failing(getattr(os, name)))

    def _failing(self, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == 0 or (self.for_good and self.left < 0):
                raise OSError(self.number, os.strerror(self.number))
            return real(*args, **kwargs)

        return call


PRELUDE = """
import sys, time
from pathlib import Path
from ralph_tui.domain.events import Notice
from ralph_tui.store.journal.journal import JournalWriter
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
project = Project(Path(sys.argv[1]))
"""


@contextmanager
def process(root: Path, code: str) -> Iterator["subprocess.Popen[str]"]:
    """Another Python process in the same project; killed at the end."""
    child = subprocess.Popen(
        [sys.executable, "-c", PRELUDE + code, str(root)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield child
    finally:
        child.kill()
        child.communicate()


def read_line(child: "subprocess.Popen[str]") -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def count_up(documents: Documents) -> Documents:
    """One more iteration in the state, and the same number on the first task."""
    number = documents.state.iteration_count + 1
    plan = documents.plan
    if plan.tasks:
        plan = plan.with_task(plan.tasks[0].id, retry_count=number)
    state = documents.state.model_copy(update={"iteration_count": number})
    return documents.model_copy(update={"state": state, "plan": plan})


def with_tasks(project: Project, *ids: str) -> Documents:
    plan = ImplementationPlan(tasks=tuple(Task(id=name, description=f"Do {name}") for name in ids))
    return project.transact(lambda d: d.model_copy(update={"plan": plan}))


def finished(path: Path) -> None:
    before = time.time() - 3600
    os.utime(path, (before, before), follow_symlinks=False)


def either(project: Project) -> tuple[Callable[[], object], ...]:
    return project.load, lambda: project.transact(count_up)
