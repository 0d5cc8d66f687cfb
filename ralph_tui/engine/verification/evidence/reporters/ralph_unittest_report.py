"""Run `python -m unittest` with the same arguments, and report the outcomes."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

_PROJECT_PATH = sys.path.pop(0) if sys.path else ""
import unittest  # noqa: E402 - the standard library's, not a module of the project

from ralph_report_file import DIRECTORY, ReportFile  # noqa: E402

if TYPE_CHECKING:
    from collections.abc import Iterator

sys.path.insert(0, _PROJECT_PATH)


def _reported(name: str, outcome: str, *, xfail: bool = False) -> Any:
    def add(self: Any, test: Any, *given: Any) -> None:
        getattr(super(_Result, self), name)(test, *given)
        self._report(test, outcome, xfail=xfail)

    return add


class _Result(unittest.TextTestResult):
    """Reports each outcome as it is added."""

    report: Any = None

    def _report(self, test: Any, outcome: str, *, xfail: bool = False) -> None:
        _Result.report.write(kind="test", id=_name(test), when="call", outcome=outcome, xfail=xfail)

    def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:  # noqa: N802
        super().addSubTest(test, subtest, err)
        if err is not None:
            self._report(test, "failed")


for _name_of, _outcome, _xfail in (
    ("addSuccess", "passed", False),
    ("addFailure", "failed", False),
    ("addError", "failed", False),
    ("addSkip", "skipped", False),
    ("addExpectedFailure", "skipped", True),
    ("addUnexpectedSuccess", "passed", True),
):
    setattr(_Result, _name_of, _reported(_name_of, _outcome, xfail=_xfail))


class _Runner(unittest.TextTestRunner):
    """Runs the tests, and reports the collected tests and the end."""

    resultclass: Any = _Result

    def run(self, test: Any) -> Any:
        report = _Result.report
        cases = list(_cases(test))
        report.write(kind="collected", ids=[_name(case) for case in cases])
        result = super().run(test)
        report.write(kind="end", status=0 if result.wasSuccessful() else 1, worker="")
        return result


def _name(test: Any) -> str:
    name = str(test.id())
    missing = name.removeprefix("unittest.loader._FailedTest.")
    return name if missing == name else f"{missing} (not loaded)"


def _cases(test: Any) -> Iterator[Any]:
    if isinstance(test, unittest.TestSuite):
        for one in test:
            yield from _cases(one)
    elif test is not None:
        yield test


def main() -> None:
    _Result.report = ReportFile("unittest")
    os.environ.pop(DIRECTORY, None)
    _Result.report.write(kind="start", worker="")
    sys.argv[0] = "python -m unittest"
    unittest.main(module=None, testRunner=_Runner)


if __name__ == "__main__":
    main()
