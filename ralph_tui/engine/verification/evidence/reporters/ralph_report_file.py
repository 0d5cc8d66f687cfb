"""Write a test runner's report to a directory that ralph named."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

DIRECTORY = "RALPH_TEST_REPORT"
_MOST_WAITING = 50


class ReportFile:
    """One report: JSON lines, on disk a few at a time and whenever anything but a test's outcome is reported."""

    def __init__(self, runner: str) -> None:
        """Open the report, if ralph asked for one."""
        directory = os.environ.get(DIRECTORY, "")
        self._file, self._pid = -1, os.getpid()
        self._waiting: list[str] = []
        if directory and Path(directory).is_dir():
            name = f"{self._pid}-{os.urandom(4).hex()}.jsonl"
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
            self._file = os.open(str(Path(directory, name)), flags, 0o600)
            self.write(kind="runner", runner=runner, python=sys.version.split()[0])

    def __bool__(self) -> bool:
        """Return whether a report was asked for."""
        return self._file >= 0

    def write(self, **line: object) -> None:
        """Add a line; a forked child adds none."""
        if self._file >= 0 and os.getpid() == self._pid:
            self._waiting.append(json.dumps(line))
            if line["kind"] != "test" or len(self._waiting) >= _MOST_WAITING:
                text = "\n".join(self._waiting) + "\n"
                self._waiting.clear()
                os.write(self._file, text.encode())


def file_of(module: str) -> str:
    """Return where a module was loaded from; empty when it is not loaded."""
    return getattr(sys.modules.get(module), "__file__", None) or ""


_OUTCOMES = ("Skipped", "XFailed", "SkipTest")
_FRAMEWORK = ("_pytest", "unittest", "pluggy", "ralph_unittest_report")


def decided_in(error: BaseException | None) -> str:
    """Return the file from which a test was skipped or expected to fail by an exception; empty for any other."""
    if error is None or type(error).__name__ not in _OUTCOMES:
        return ""
    while (before := error.__context__) is not None and type(before).__name__ in _OUTCOMES:
        error = before  # the framework called it
    found, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if str(name).split(".")[0] not in _FRAMEWORK:
            found = trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    return found
