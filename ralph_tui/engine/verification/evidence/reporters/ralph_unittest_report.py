"""Run `python -m unittest` with the same arguments, and report the outcomes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

_PROJECT_PATH = sys.path.pop(0) if sys.path else ""
import unittest  # noqa: E402 - the standard library's, not a module of the project

from ralph_framework_watch import FrameworkWatch  # noqa: E402
from ralph_report_file import DIRECTORY, ReportFile, file_of, outcome_file  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, _PROJECT_PATH)


def _ralph_canary(case: unittest.TestCase) -> None:
    case.assertEqual(len("ralph"), 0)  # noqa: PT009 - the assertion that projects use


class _Canary(unittest.TestCase):
    def runTest(self) -> None:  # noqa: N802 - unittest's name
        _ralph_canary(self)


class _Result(unittest.TextTestResult):
    """Reports each outcome as it is added."""

    report: Any = None
    watch: Any = None

    def _report(self, test: Any, outcome: str, *, xfail: bool = False) -> None:
        at = outcome_file(sys.exc_info()[1])
        _Result.report.write(
            kind="test", id=test.id(), when="call", outcome=outcome, xfail=xfail, at=at
        )

    def addSuccess(self, test: Any) -> None:  # noqa: N802
        super().addSuccess(test)
        self._report(test, "passed")

    def addFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addFailure(test, err)
        self._report(test, "failed")

    def addError(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addError(test, err)
        self._report(test, "failed")

    def addSkip(self, test: Any, reason: str) -> None:  # noqa: N802
        super().addSkip(test, reason)
        self._report(test, "skipped")

    def addExpectedFailure(self, test: Any, err: Any) -> None:  # noqa: N802
        super().addExpectedFailure(test, err)
        self._report(test, "skipped", xfail=True)

    def addUnexpectedSuccess(self, test: Any) -> None:  # noqa: N802
        super().addUnexpectedSuccess(test)
        self._report(test, "passed", xfail=True)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._report(test, "failed")


class _Runner(unittest.TextTestRunner):
    """Runs the tests, and reports the collected tests, the canary and the end."""

    resultclass: Any = _Result

    def run(self, test: Any) -> Any:
        report, watch = _Result.report, _Result.watch
        report.write(kind="collected", ids=list(_ids(test)))
        watch.add_tests(list({id(m): m for m in _modules(test)}.values()))
        result = super().run(test)
        outcome = unittest.TestResult()
        _Canary().run(outcome)
        report.write(kind="canary", outcome="failed" if outcome.failures else "passed")
        report.write(
            kind="end", status=0 if result.wasSuccessful() else 1, worker="", plugins=[],
            replaced=watch.replaced(),
        )  # fmt: skip
        return result


def _ids(test: Any) -> Iterator[str]:
    if isinstance(test, unittest.TestSuite):
        for one in test:
            yield from _ids(one)
    elif test is not None:
        yield test.id()


def _modules(test: Any) -> Iterator[Any]:
    if isinstance(test, unittest.TestSuite):
        for one in test:
            yield from _modules(one)
    elif (module := sys.modules.get(type(test).__module__)) is not None:
        yield module


def main() -> None:
    """Run the tests as `python -m unittest` does."""
    _Result.report = ReportFile("unittest")
    os.environ.pop(DIRECTORY, None)
    _Result.watch = FrameworkWatch()
    modules = {name: file_of(name) for name in ("unittest", "sitecustomize", "usercustomize")}
    _Result.report.write(kind="start", worker="", modules=modules)
    sys.argv[0] = "python -m unittest"
    unittest.main(module=None, testRunner=_Runner)


if __name__ == "__main__":
    main()
