"""Report a pytest run: the collected tests and each outcome."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from ralph_report_file import DIRECTORY, ReportFile

if TYPE_CHECKING:
    from collections.abc import Iterator


class _Reporter:
    """Writes the report; registered before any conftest or test module is loaded."""

    def __init__(self, report: ReportFile) -> None:
        self._report = report
        self._worker = ""

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: Any) -> None:
        self._worker = getattr(config, "workerinput", {}).get("workerid", "")  # pytest-xdist's
        self._report.write(kind="start", worker=self._worker)
        if self._worker or not config.pluginmanager.hasplugin("dsession"):
            os.environ.pop(DIRECTORY, None)  # a pytest started by a test must not report

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        if wanted := os.environ.get("RALPH_TEST_ONLY"):
            items[:] = [item for item in items if item.nodeid in wanted.split("\n")]

    def pytest_deselected(self, items: Any) -> None:
        self._report.write(kind="deselected", ids=[item.nodeid for item in items])

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self._worker:
            self._report.write(kind="error", id=report.nodeid or ".")

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        if not self._worker:
            self._report.write(kind="collected", ids=[item.nodeid for item in session.items])

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if self._worker:
            return
        if report.when == "call" or report.outcome != "passed":
            self._report.write(
                kind="test", id=report.nodeid, when=report.when, outcome=report.outcome,
                xfail=hasattr(report, "wasxfail"),
            )  # fmt: skip

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Iterator[None]:
        yield
        self._report.write(kind="end", status=int(session.exitstatus), worker=self._worker)


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Begin the report after the installed plugins and before any project code is loaded."""
    report = ReportFile("pytest")
    if report:
        early_config.pluginmanager.register(_Reporter(report), "ralph-reporter")
