"""Write a test runner's report to the directory that ralph chose."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

DIRECTORY = "RALPH_TEST_REPORT"
_BATCH = 50


class ReportFile:
    """A report of JSON lines; test outcomes are written in batches, all other lines at once."""

    def __init__(self, runner: str) -> None:
        """Open the report file if ralph asked for a report."""
        directory = os.environ.get(DIRECTORY, "")
        self._file, self._pid = -1, os.getpid()
        self._lines: list[str] = []
        if directory and Path(directory).is_dir():
            name = f"{self._pid}-{os.urandom(4).hex()}.jsonl"
            flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
            self._file = os.open(str(Path(directory, name)), flags, 0o600)
            self.write(kind="runner", runner=runner)

    def __bool__(self) -> bool:
        return self._file >= 0

    def write(self, **line: object) -> None:
        """Add a line, unless this is a forked child."""
        if self._file >= 0 and os.getpid() == self._pid:
            self._lines.append(json.dumps(line))
            if line["kind"] != "test" or len(self._lines) >= _BATCH:
                text = "\n".join(self._lines) + "\n"
                self._lines.clear()
                os.write(self._file, text.encode())


def file_of(module: str) -> str:
    return getattr(sys.modules.get(module), "__file__", None) or ""


_OUTCOME_EXCEPTIONS = ("Skipped", "XFailed", "SkipTest")
_FRAMEWORK = ("_pytest", "unittest", "pluggy", "ralph_unittest_report")


def outcome_file(error: BaseException | None) -> str:
    """Return the file that raised a skip or an expected failure, or an empty string for another exception."""
    if error is None or type(error).__name__ not in _OUTCOME_EXCEPTIONS:
        return ""
    while (before := error.__context__) is not None and type(
        before
    ).__name__ in _OUTCOME_EXCEPTIONS:
        error = before  # raised again by the framework
    found, trace = "", error.__traceback__
    while trace is not None:
        name = trace.tb_frame.f_globals.get("__name__", "")
        if str(name).split(".")[0] not in _FRAMEWORK:
            found = trace.tb_frame.f_code.co_filename
        trace = trace.tb_next
    return found
