"""Report a pytest run: the collected tests and each outcome."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

_DIRECTORY = "RALPH_TEST_REPORT"
_BATCH = 50


class _Reporter:
    """Writes a report of JSON lines; registered before any conftest or test module is loaded."""

    def __init__(self, directory: str) -> None:
        self._pid, self._worker = os.getpid(), ""
        self._lines: list[str] = []
        name = f"{self._pid}-{os.urandom(4).hex()}.jsonl"
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_APPEND
        self._file = os.open(str(Path(directory, name)), flags, 0o600)

    def _write(self, **line: object) -> None:
        """Add a line, unless this is a forked child; outcomes are written in batches, all other lines at once."""
        if os.getpid() == self._pid:
            self._lines.append(json.dumps(line))
            if line["kind"] != "test" or len(self._lines) >= _BATCH:
                text = "\n".join(self._lines) + "\n"
                self._lines.clear()
                os.write(self._file, text.encode())

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: Any) -> None:
        self._worker = getattr(config, "workerinput", {}).get("workerid", "")  # pytest-xdist's
        self._write(kind="start", runner="pytest", worker=self._worker)
        if self._worker or not config.pluginmanager.hasplugin("dsession"):
            os.environ.pop(_DIRECTORY, None)  # a pytest started by a test must not report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if wanted := os.environ.get("RALPH_TEST_ONLY"):
            items[:] = [item for item in items if item.nodeid in wanted.split("\n")]

    def pytest_deselected(self, items: Any) -> None:
        self._write(kind="deselected", ids=[item.nodeid for item in items])

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self._worker:
            self._write(kind="test", id=report.nodeid or ".", outcome="failed")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        if not self._worker:
            self._write(kind="collected", ids=[item.nodeid for item in session.items])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = {"skipped": "xfailed", "passed": "xpassed"}.get(outcome, outcome)
        ends = report.when == "call" or (report.when == "setup" and outcome != "passed")
        known = outcome != "rerun" and (ends or outcome == "failed")
        if known and not self._worker:
            self._write(kind="test", id=report.nodeid, outcome=outcome)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Iterator[None]:
        yield
        self._write(kind="end", status=int(session.exitstatus), worker=self._worker)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Begin the report after the installed plugins and before any project code is loaded."""
    directory = os.environ.get(_DIRECTORY, "")
    if directory and Path(directory).is_dir():
        early_config.pluginmanager.register(_Reporter(directory), "ralph-reporter")
