"""Report what pytest really did: what it collected, each outcome, and whether a test that must fail fails."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest
from ralph_framework_watch import FrameworkWatch
from ralph_report_file import DIRECTORY, ReportFile, decided_in, file_of

if TYPE_CHECKING:
    from collections.abc import Iterator

_MODULES = (
    "pytest",
    "_pytest",
    "_pytest.runner",
    "pluggy",
    "unittest",
    "sitecustomize",
    "usercustomize",
)


def ralph_canary() -> None:
    """Fail. Where this passes, no other result can be believed."""
    assert len("ralph") == 0


class _Reporter:
    """The plugin proper, registered before any conftest or test module is loaded."""

    def __init__(self, report: ReportFile) -> None:
        self._report = report
        self._worker = ""
        self._watch = FrameworkWatch()

    @pytest.hookimpl(trylast=True)
    def pytest_configure(self, config: Any) -> None:
        self._worker = getattr(config, "workerinput", {}).get("workerid", "")  # pytest-xdist's
        ini = getattr(config, "inipath", None) or ""
        modules = {name: file_of(name) for name in _MODULES}
        self._report.write(
            kind="start", worker=self._worker, version=pytest.__version__, modules=modules,
            root=str(getattr(config, "rootpath", "")), ini=str(ini),
            distributed=config.pluginmanager.hasplugin("dsession"),
        )  # fmt: skip
        if self._worker or not config.pluginmanager.hasplugin("dsession"):
            os.environ.pop(DIRECTORY, None)  # a pytest that a test starts is not a check

    def pytest_deselected(self, items: Any) -> None:
        self._report.write(kind="deselected", ids=[item.nodeid for item in items])

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed and not self._worker:
            self._report.write(kind="error", id=report.nodeid or ".", at=_where(report))

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: Any) -> None:
        ids = [item.nodeid for item in session.items]
        modules = {id(m): m for item in session.items if (m := getattr(item, "module", None))}
        self._watch.add_tests(list(modules.values()))
        if not self._worker:
            self._report.write(kind="collected", ids=ids)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(self, item: Any, call: Any) -> None:
        if call.excinfo is not None and (at := decided_in(call.excinfo.value)):
            self._report.write(kind="decided", id=item.nodeid, at=at)

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: Any) -> None:
        if self._worker:
            return
        if report.when == "call" or report.outcome != "passed":
            self._report.write(
                kind="test", id=report.nodeid, when=report.when, outcome=report.outcome,
                xfail=hasattr(report, "wasxfail"), strict=_is_strict(report), at=_where(report),
            )  # fmt: skip

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtestloop(self, session: Any) -> Iterator[None]:
        yield
        if not session.config.pluginmanager.hasplugin("dsession"):
            self._report.write(kind="canary", outcome=_canary_outcome(session))

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_sessionfinish(self, session: Any) -> Iterator[None]:
        yield
        names = session.config.pluginmanager.get_plugins()
        files = {
            str(getattr(plugin, "__file__", "") or file_of(type(plugin).__module__))
            for plugin in names
        }
        self._report.write(
            kind="end", status=int(session.exitstatus), worker=self._worker,
            plugins=sorted(files - {""}), replaced=self._watch.replaced(),
        )  # fmt: skip


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: Any) -> None:
    """Begin the report once the installed plugins are there, and nothing of the project is."""
    report = ReportFile("pytest")
    if report:
        early_config.pluginmanager.register(_Reporter(report), "ralph-reporter")


def _canary_outcome(session: Any) -> str:
    from _pytest.runner import runtestprotocol

    try:
        canary = _canary(session)
        canary.repr_failure = lambda *_, **__: "ralph_canary"  # nobody reads how it failed
        reports = runtestprotocol(canary, log=False, nextitem=None)
    except BaseException as error:  # noqa: BLE001 - whatever it is, it is no failing test
        return f"broken: {type(error).__name__}"
    return next((r.outcome for r in reports if r.when == "call"), "not called")


def _canary(session: Any) -> Any:
    try:
        from _pytest.fixtures import FuncFixtureInfo

        fixtures = FuncFixtureInfo((), (), [], {})
        return pytest.Function.from_parent(
            session, name="ralph_canary", callobj=ralph_canary, fixtureinfo=fixtures
        )
    except Exception:  # noqa: BLE001 - another pytest: a plain item does
        return _Canary.from_parent(session, name="ralph_canary")


class _Canary(pytest.Item):
    def runtest(self) -> None:
        ralph_canary()

    def reportinfo(self) -> tuple[str, int, str]:
        return __file__, 0, "ralph_canary"


def _is_strict(report: Any) -> bool:
    return str(getattr(report, "longrepr", "") or "").startswith("[XPASS(strict)]")


def _where(report: Any) -> str:
    """Return the file that skips a test, as the report shows it."""
    shown = getattr(report, "longrepr", None)
    return str(shown[0]) if isinstance(shown, tuple) else ""
