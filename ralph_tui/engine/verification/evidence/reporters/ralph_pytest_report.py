"""Report a pytest run: the collected tests, each outcome, and whether a test that must fail fails."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from ralph_framework_watch import FrameworkWatch, swapped_parts
from ralph_report_file import DIRECTORY, ReportFile

if TYPE_CHECKING:
    from collections.abc import Iterator


def ralph_canary() -> None:
    assert len("ralph") == 0


class _Reporter:
    """Writes the report; registered before any conftest or test module is loaded."""

    def __init__(self, report: ReportFile) -> None:
        self._report = report
        self._worker = ""
        self._watch = FrameworkWatch()
        self._functions: dict[Any, Any] = {}
        self._swapped: dict[tuple[str, str], None] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: Any) -> None:
        self._worker = getattr(config, "workerinput", {}).get("workerid", "")  # pytest-xdist's
        distributed = config.pluginmanager.hasplugin("dsession")
        self._report.write(kind="start", worker=self._worker, distributed=distributed)
        if self._worker or not distributed:
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
        ids = [item.nodeid for item in session.items]
        modules = {id(m): m for item in session.items if (m := getattr(item, "module", None))}
        self._watch.add_tests(list(modules.values()))
        self._functions = {item: vars(item).get("_obj") for item in session.items}
        if not self._worker:
            self._report.write(kind="collected", ids=ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.when != "teardown":
            self._swapped |= dict.fromkeys(swapped_parts(item, self._functions.get(item)))

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
    def pytest_runtestloop(self, session: Any) -> Iterator[None]:
        yield
        if not session.config.pluginmanager.hasplugin("dsession"):
            self._report.write(kind="canary", outcome=_canary_outcome(session))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Iterator[None]:
        yield
        self._report.write(
            kind="end", status=int(session.exitstatus), worker=self._worker,
            replaced=[*self._watch.replaced(), *self._swapped],
        )  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Begin the report after the installed plugins and before any project code is loaded."""
    report = ReportFile("pytest")
    if report:
        early_config.pluginmanager.register(_Reporter(report), "ralph-reporter")


def _canary_outcome(session: Any) -> str:
    from _pytest.runner import runtestprotocol

    try:
        canary = _canary(session)
        canary.repr_failure = lambda *_, **__: "ralph_canary"  # the failure text is not used
        reports = runtestprotocol(canary, log=False, nextitem=None)
    except BaseException as error:  # noqa: BLE001 - any other error means that the canary did not fail as a test
        return f"broken: {type(error).__name__}"
    return next((r.outcome for r in reports if r.when == "call"), "not called")


def _canary(session: Any) -> Any:
    try:
        from _pytest.fixtures import FuncFixtureInfo

        fixtures = FuncFixtureInfo((), (), [], {})
        return pytest.Function.from_parent(
            session, name="ralph_canary", callobj=ralph_canary, fixtureinfo=fixtures
        )
    except Exception:  # noqa: BLE001 - another version of pytest; use a plain item
        return _Canary.from_parent(session, name="ralph_canary")


class _Canary(pytest.Item):
    def runtest(self) -> None:
        ralph_canary()

    def reportinfo(self) -> tuple[str, int, str]:
        return __file__, 0, "ralph_canary"
