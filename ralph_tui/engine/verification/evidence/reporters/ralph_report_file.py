"""Write a test runner's report to the directory that ralph chose."""

from __future__ import annotations

import json
import os
from pathlib import Path

DIRECTORY = "RALPH_TEST_REPORT"
_BATCH = 50


class ReportFile:
    """A report of JSON lines; test outcomes are written in batches, all other lines at once."""

    def __init__(self, runner: str) -> None:
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
