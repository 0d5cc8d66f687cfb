"""Read the reports of test runners: outcomes, and signs that the tests did not really run."""

import contextlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import Field, JsonValue

from ralph_tui.domain.base import Model
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.verification.verification import RunnerKind, TestCounts
from ralph_tui.engine.verification.evidence.runners import JEST_REPORT

MOST_BYTES = 64 * 1024 * 1024
NOT_LOADED = " (not loaded)"
"""The end of the name of a module of tests that its runner cannot load."""

_Line = dict[str, JsonValue]


class TestReport(Model):
    """The merged report of one command's runners."""

    __test__ = False

    runners: tuple[RunnerKind, ...] = ()
    outcomes: dict[str, str] = Field(default_factory=dict)
    """Each test's outcome: passed, failed, skipped, xfailed or xpassed."""
    deselected: int = 0
    faults: tuple[str, ...] = ()
    """Signs that the runner did not run all tests, whatever its exit status."""
    failing_exit: bool = False

    def within(self, root: Path) -> "TestReport":
        """Return the report with test names relative to `root`, so that they are the same in a copy."""
        places = (f"{root.resolve()}/", f"{root}/")

        def named(test: str) -> str:
            return test.replace(places[0], "").replace(places[1], "")

        outcomes = {named(test): outcome for test, outcome in self.outcomes.items()}
        return self.model_copy(update={"outcomes": outcomes})

    @property
    def counts(self) -> TestCounts:
        number = Counter(self.outcomes.values())
        return TestCounts(
            passed=number["passed"], failed=number["failed"], skipped=number["skipped"],
            xfailed=number["xfailed"], xpassed=number["xpassed"], deselected=self.deselected,
        )  # fmt: skip

    @property
    def failing(self) -> tuple[str, ...]:
        return tuple(name for name, outcome in self.outcomes.items() if outcome == "failed")


def read_reports(directory: Path, output: str, expected: tuple[RunnerKind, ...]) -> TestReport:
    """Read all reports of a command.

    Args:
        output: The command's output, for runners that report there.
        expected: The runners that must report.
    """
    report = TestReport()
    for path in sorted(directory.glob("*.jsonl")):
        report = _merged(report, _from_lines(list(_lines(path))))
    if (jest := directory / JEST_REPORT).is_file():
        kind = RunnerKind.VITEST if RunnerKind.VITEST in expected else RunnerKind.JEST
        report = _merged(report, _from_jest(_json_value(jest), kind))
    for runner in PRINTED.keys() & (expected or {None}):
        report = _merged(report, _from_output(runner, output))
    missing = [runner.value for runner in expected if runner not in report.runners]
    silent = tuple(
        f"{name} left no report, because it ended early or is not the installed one"
        for name in missing
    )
    return report.model_copy(update={"faults": (*report.faults, *silent)})


def _text_of(path: Path) -> str:
    with contextlib.suppress(OSError):
        return path.read_bytes()[:MOST_BYTES].decode("utf-8", "replace")
    return ""


def _lines(path: Path) -> Iterator[_Line]:
    for line in _text_of(path).splitlines():
        try:
            value = json.loads(line)
        except ValueError:
            continue  # truncated, so the closing line is missing as well
        if isinstance(value, dict):
            yield value


def _json_value(path: Path) -> JsonValue:
    with contextlib.suppress(ValueError):
        value: JsonValue = json.loads(_text_of(path))
        return value
    return None


def _merged(one: TestReport, other: TestReport) -> TestReport:
    return TestReport(
        runners=tuple(dict.fromkeys((*one.runners, *other.runners))),
        outcomes={**one.outcomes, **other.outcomes},
        deselected=one.deselected + other.deselected,
        faults=(*one.faults, *other.faults),
        failing_exit=other.failing_exit if other.runners else one.failing_exit,
    )


# Reports by ralph's own reporters.


def _from_lines(lines: list[_Line]) -> TestReport:
    def of_kind(kind: str) -> list[_Line]:
        return [line for line in lines if line.get("kind") == kind]

    def named(kind: str) -> list[str]:
        return [str(name) for line in of_kind(kind) for name in _list(line, "ids")]

    start: _Line = next(iter(of_kind("start")), {})
    runner = RunnerKind.NODE if start.get("runner") == RunnerKind.NODE else RunnerKind.PYTEST
    outcomes = {str(line.get("id")): str(line.get("outcome")) for line in of_kind("test")}
    ends = [line.get("status") for line in of_kind("end")]
    failed = any(status != 0 for status in ends)
    found: tuple[str, ...] = ()
    if not ends:
        found = (f"{runner} ended before its closing summary",)
    elif not failed and (left := [name for name in named("collected") if name not in outcomes]):
        what = f"{len(left)} of the collected tests never finished, such as {left[0]}"
        found = (f"{what}: {runner} ended early",)
    return TestReport(
        runners=() if start.get("worker") else (runner,),
        outcomes=outcomes,
        deselected=len(named("deselected")),
        faults=found,
        failing_exit=failed,
    )


def _list(line: _Line, name: str) -> list[JsonValue]:
    value = line.get(name)
    return value if isinstance(value, list) else []


# Reports in the runner's own format.


def _from_jest(data: JsonValue, kind: RunnerKind) -> TestReport:
    if not isinstance(data, dict) or "success" not in data:
        return TestReport()
    outcomes: dict[str, str] = {}
    names = {"passed": "passed", "failed": "failed", "todo": "skipped", "pending": "skipped",
             "skipped": "skipped", "disabled": "skipped"}  # fmt: skip
    for file in _list(data, "testResults"):
        if not isinstance(file, dict):
            continue
        tests = [one for one in _list(file, "assertionResults") if isinstance(one, dict)]
        for one in tests:
            key = f"{file.get('name')}::{one.get('fullName') or one.get('title')}"
            outcomes[key] = names.get(str(one.get("status")), "failed")
        if file.get("status") == "failed" and not tests:
            outcomes[str(file.get("name"))] = "failed"
    return TestReport(runners=(kind,), outcomes=outcomes, failing_exit=data["success"] is not True)


class _Printed(NamedTuple):
    """How a runner prints its tests, and how they end."""

    test: re.Pattern[str]
    """The word for the outcome, the name, and what it is a test of; failures that it prints again count."""
    end: re.Pattern[str]
    """The closing summary of some tests, and of what."""
    begin: str = "(?!)"
    """How each program begins, if its end may be missing before another one begins."""


PRINTED = {
    RunnerKind.CARGO: _Printed(
        re.compile(
            r"^test (?P<name>.+?)(?: \(line \d+\))? \.\.\. (?P<word>ok|FAILED|ignored)\b",
            re.MULTILINE,
        ),
        re.compile(
            r"^test result: (?:ok|(?P<bad>FAILED))\. (?P<passed>\d+) passed; (?P<failed>\d+) failed; (?P<skipped>\d+) ignored;"
            r" \d+ measured; (?P<out>\d+) filtered out",
            re.MULTILINE,
        ),
        r"(?m)^running \d+ tests?$",
    ),
    RunnerKind.GO: _Printed(
        re.compile(r"--- (?P<word>PASS|FAIL|SKIP): (?P<name>\S+) \("),
        re.compile(r"^(?:ok|\?|(?P<bad>FAIL)) *\t(?P<of>\S+)", re.MULTILINE),
    ),
    RunnerKind.UNITTEST: _Printed(
        re.compile(
            r"^(?:(?P<again>FAIL|ERROR): )?(?P<name>[\w.]+) \((?P<of>[\w.]+)\)"
            r"(?(again)|(?:\n.*)? \.\.\. (?s:.*?)(?P<word>ok|FAIL|ERROR|skipped|expected failure|unexpected success)(?: '.*)?$)",
            re.MULTILINE,
        ),
        re.compile(r"^Ran (?P<passed>\d+) tests? in .*\n\n(?:(?P<bad>FAILED)|OK|NO)", re.MULTILINE),
    ),
    None: _Printed(  # TAP, which whatever the command runs can print, so that it names no runner
        re.compile(
            r"^ *(?P<word>(?:not )?ok)\b *\d* *-? *(?P<name>[^#\n]*)(?P<weak># *(?:skip|todo))?",
            re.IGNORECASE | re.MULTILINE,
        ),
        re.compile(r"^1\.\.\d+$", re.MULTILINE),
    ),
}
_PRINTED_WORDS = {
    "ok": "passed", "pass": "passed", "skip": "skipped", "skipped": "skipped", "ignored": "skipped",
    "expected failure": "xfailed", "unexpected success": "xpassed",
}  # fmt: skip


def _from_output(runner: RunnerKind | None, output: str) -> TestReport:
    form = PRINTED[runner]
    ends = [(match.start(), match.groupdict()) for match in form.end.finditer(output)]
    outcomes: dict[str, str] = {}
    seen: Counter[str] = Counter()
    at = 0
    for until, end in (*ends, (len(output), dict[str, str]())) if ends else ():
        for match in form.test.finditer(output, at, until):
            one = match.groupdict()
            name, of = one["name"], one.get("of") or end.get("of", "")
            if of.startswith("unittest.loader._FailedTest"):
                name += NOT_LOADED
            elif of:
                name = of if of.endswith(name) else f"{of}.{name}"
            if one.get("again"):
                outcomes[name] = "failed"
                continue
            seen[name] += 1  # several programs, and examples of one page, may have the same name
            word = "skip" if one.get("weak") else one["word"].lower()
            key = f"{name} ({seen[name]})" if seen[name] > 1 else name
            outcomes[key] = _PRINTED_WORDS.get(word, "failed")
        at = until
    if not outcomes:  # by `-q`
        for kind in ("passed", "failed", "skipped"):
            total = sum(int(end.get(kind) or 0) for _, end in ends)
            outcomes |= {f"{kind}#{n}": kind for n in range(total)}
    bad = any(end.get("bad") for _, end in ends)
    cut = len(re.findall(form.begin, output)) > len(ends) > 0 and not bad
    return TestReport(
        runners=(runner,) if runner and ends else (),
        outcomes=outcomes,
        deselected=sum(int(end.get("out") or 0) for _, end in ends),
        faults=(f"{runner} ended before its closing summary",) if cut else (),
        failing_exit=bad,
    )


_RAN = frozenset({"passed", "failed", "xpassed"})
_WEAK = {"skipped": "skipped", "xfailed": "expected to fail"}
_NAMED = 3


def faults(report: TestReport) -> tuple[str, ...]:
    """Return why a command with exit status 0 did not pass; empty if it did."""
    found = _result_faults(report) if report.runners else ()
    return tuple(dict.fromkeys((*found, *report.faults)))


def _result_faults(report: TestReport) -> Iterator[str]:
    counts = report.counts
    if counts.failed:
        yield f"{_tests(report.failing)} failed although the command ended with status 0"
    elif report.failing_exit:
        yield "the test runner reported a failure although the command ended with status 0"
    elif not counts.run:
        yield "no test ran" if not counts.skipped else f"no test ran: {counts.text}"


def weaknesses(before: Mapping[str, str], now: TestReport) -> tuple[str, ...]:
    """Return how a run proves less than an earlier one."""
    found = []
    for outcome, words in _WEAK.items():
        weak = [n for n, o in before.items() if o not in _WEAK and now.outcomes.get(n) == outcome]
        if weak:
            found.append(f"{_tests(weak)} {'is' if len(weak) == 1 else 'are'} {words} now")
    ran = [name for name, outcome in before.items() if outcome in _RAN]
    if len(ran) > now.counts.run + sum(now.outcomes.get(name) in _WEAK for name in ran):
        gone = [name for name in ran if name not in now.outcomes]
        found.append(f"{_tests(gone)} no longer ran")
    elif now.deselected and any(name not in now.outcomes for name in before):
        found.append(f"{now.deselected} more tests were deselected than before")
    return tuple(found)


def _tests(names: Sequence[str]) -> str:
    return f"{plural(len(names), 'test')} ({shortlist(names, _NAMED)})"
