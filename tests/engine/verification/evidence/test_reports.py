"""Which runners a command starts, and what their reports say."""

import json
import os
import pwd
import time
from pathlib import Path

import pytest

from ralph_tui.domain.verification.verification import RunnerKind, TestCounts
from ralph_tui.engine.verification.check_command import run_command
from ralph_tui.engine.verification.evidence.report_judge import weaknesses
from ralph_tui.engine.verification.evidence.reports import (
    TestReport,
    go_text,
    read_reports,
)
from ralph_tui.engine.verification.evidence.runners import (
    JEST_REPORT,
    join_environments,
    recognized_runners,
    with_reporting,
)
from tests.engine.verification.evidence.projects import write
from tests.harness.suite import need

SCRIPTS = {
    "test": "jest --ci",
    "test:unit": "c8 --100 node --test",
    "unit": "vitest run",
    "both": "jest && vitest",
    "build": "tsc",
}


@pytest.mark.parametrize(
    ("command", "runners"),
    [
        ("uv run pytest -q", [RunnerKind.PYTEST]),
        ("uv run --extra test pytest", [RunnerKind.PYTEST]),
        ("uv run --group dev python -m pytest tests", [RunnerKind.PYTEST]),
        ("FOO=1 timeout 60 poetry run pytest", [RunnerKind.PYTEST]),
        ("coverage run -m pytest && coverage report", [RunnerKind.PYTEST]),
        (".venv/bin/python3.12 -W error -m unittest discover", [RunnerKind.UNITTEST]),
        ("uv run pytest && uv run mypy .", [RunnerKind.PYTEST]),
        ("npx jest", [RunnerKind.JEST]),
        ("npm exec -- jest", [RunnerKind.JEST]),
        ("npm test", [RunnerKind.JEST]),
        ("npm run unit", [RunnerKind.VITEST]),
        ("npm run both", []),
        ("npm run build", []),
        ("node --test", [RunnerKind.NODE]),
        ("npm run test:unit", [RunnerKind.NODE]),
        ("cross-env CI=1 nyc jest", [RunnerKind.JEST]),
        ("cargo test --workspace", [RunnerKind.CARGO]),
        ("go test ./...", [RunnerKind.GO]),
        ("uv run python -m pytester", []),
        ("echo pytest", []),
        ("make test", []),
        ("pytest 'unclosed", [RunnerKind.PYTEST]),
    ],
)
def test_the_runner_of_a_command(tmp_path: Path, command: str, runners: list[RunnerKind]) -> None:
    write(tmp_path, {"package.json": json.dumps({"scripts": SCRIPTS})})
    assert list(recognized_runners(command, tmp_path)) == runners


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ("python -m unittest -v", "python -m ralph_unittest_report -v"),
        ("go test ./... -run X", "go test -json ./... -run X"),
        ("npm test", "npm test -- --json --outputFile=/r/jest.json"),
        ("npx jest", "npx jest --json --outputFile=/r/jest.json"),
        ("uv run pytest", "uv run pytest"),
    ],
)
def test_runners_are_told_to_report(tmp_path: Path, command: str, told: str) -> None:
    write(tmp_path, {"package.json": json.dumps({"scripts": SCRIPTS})})
    assert with_reporting(command, tmp_path, Path("/r")).command == told


def test_what_reports_need_is_added_to_an_environment() -> None:
    joined = join_environments({"PYTHONPATH": "a", "B": "1"}, {"PYTHONPATH": "r"})
    assert joined == {"PYTHONPATH": "r:a", "B": "1"}


CARGO = """\
running 2 tests
test tests::ok ... ok
test tests::ig ... ignored

test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s

running 1 test
"""


def test_a_test_program_that_leaves_early_is_noticed(tmp_path: Path) -> None:
    report = read_reports(tmp_path, CARGO, (RunnerKind.CARGO,), tmp_path)
    assert (report.counts.passed, report.counts.skipped) == (1, 1)
    assert report.faults == ("cargo test ended before its closing summary",)
    silent = read_reports(tmp_path, "running 3 tests\n", (RunnerKind.CARGO,), tmp_path)
    assert silent.faults == (
        "cargo test left no report, because it ended early or is not the installed one",
    )


def test_cargo_names_a_test_the_same_beside_new_ones(tmp_path: Path) -> None:
    def outcomes(*tests: str) -> set[str]:
        ran = "".join(f"test {name} ... ok\n" for name in tests)
        end = f"test result: ok. {len(tests)} passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
        return {*read_reports(tmp_path, ran + end, (RunnerKind.CARGO,), tmp_path).outcomes}

    before = outcomes("b", "a", "b", "lib.rs - f (line 3)", "lib.rs - g (line 9)")
    after = outcomes("new", "a", "b", "b", "lib.rs - g (line 12)", "lib.rs - f (line 6)")
    assert after - before == {"new"}
    assert before < after


GO = [
    {"Action": "start", "Package": "a"},
    {"Action": "output", "Package": "a", "Test": "TestX", "Output": "=== RUN TestX\n"},
    {"Action": "pass", "Package": "a", "Test": "TestX"},
    {"Action": "skip", "Package": "a", "Test": "TestY"},
    {"Action": "pass", "Package": "a"},
]


def test_go_is_read_from_its_events(tmp_path: Path) -> None:
    lines = "".join(json.dumps(line) + "\n" for line in GO)
    report = read_reports(tmp_path, f"# building\n{lines}", (RunnerKind.GO,), tmp_path)
    assert (report.counts, report.faults) == (TestCounts(passed=1, skipped=1), ())
    assert go_text(f"# building\n{lines}") == "# building\n=== RUN TestX\n"
    cut = "".join(json.dumps(line) + "\n" for line in GO[:3])
    assert read_reports(tmp_path, cut, (RunnerKind.GO,), tmp_path).faults == (
        "the tests of a ended before their closing summary",
    )


TAP = """\
> tape test.js
# some
ok 1 same
not ok 2 same
# Subtest: inner
    ok 1 - deep # time=3ms
    1..1
ok 3 - inner # SKIP not here
1..3
# pass 3
"""


def test_tap_names_tests_but_no_runner(tmp_path: Path) -> None:
    report = read_reports(tmp_path, TAP, (), tmp_path)
    assert (report.runners, report.counts) == ((), TestCounts(passed=2, failed=1, skipped=1))
    assert report.failing == ("some > same (2)",)
    assert "inner > deep" in report.outcomes
    cut = (TAP.replace("1..3", "1..4"), TAP.replace("1..3", ""), f"{TAP}Bail out! gone\n")
    assert [read_reports(tmp_path, text, (), tmp_path).outcomes for text in cut] == [{}, {}, {}]


JUNIT = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="TotalTest" tests="4">
  <testcase classname="TotalTest" name="some"/>
  <testcase classname="TotalTest" name="none"><failure message="no">trace</failure></testcase>
  <testcase classname="TotalTest" name="odd"><error/></testcase>
  <testcase classname="TotalTest" name="later"><skipped/></testcase>
</testsuite>
"""


def test_junit_reports_of_this_run_name_tests_but_no_runner(tmp_path: Path) -> None:
    place = "app/target/surefire-reports"
    write(tmp_path, {f"{place}/TEST-a.xml": JUNIT, "pom.xml": "<project/>", "report.xml": "<cut"})
    report = read_reports(tmp_path, "", (), tmp_path)
    assert (report.runners, report.counts) == ((), TestCounts(passed=1, failed=2, skipped=1))
    assert report.failing == ("TotalTest.none", "TotalTest.odd")
    later = time.time_ns() + 10**9
    assert read_reports(tmp_path, "", (), tmp_path, later).outcomes == {}


def test_jest_is_read_from_its_file(tmp_path: Path) -> None:
    tests = [{"fullName": "a b", "status": "passed"}, {"fullName": "c", "status": "pending"}]
    files = [{"name": "x", "status": "passed", "assertionResults": tests}]
    files.append({"name": "y", "status": "failed", "assertionResults": []})
    (tmp_path / JEST_REPORT).write_text(json.dumps({"success": False, "testResults": files}))
    report = read_reports(tmp_path, "", (RunnerKind.JEST,), tmp_path)
    assert report.counts == TestCounts(passed=1, failed=1, skipped=1)
    assert report.failing == ("y",)


@pytest.mark.parametrize(
    ("now", "said"),
    [
        ({"a": "passed", "b": "passed", "new": "skipped"}, []),
        ({"a": "passed", "renamed": "passed"}, []),
        ({"a": "passed", "b": "skipped", "new": "passed"}, ["1 test (b) is skipped now"]),
        ({"a": "xfailed", "b": "xfailed"}, ["2 tests (a, b) are expected to fail now"]),
        ({"a": "passed"}, ["1 test (b) no longer ran"]),
    ],
)
def test_a_run_that_shows_less_than_the_one_before(now: dict[str, str], said: list[str]) -> None:
    assert list(weaknesses({"a": "passed", "b": "failed"}, TestReport(outcomes=now))) == said


@pytest.mark.long
async def test_cargo_is_counted(tmp_path: Path) -> None:
    need("cargo")
    write(
        tmp_path,
        {
            "Cargo.toml": '[package]\nname = "x"\nversion = "0.1.0"\nedition = "2021"\n',
            "src/lib.rs": "#[test] fn one() {}\n#[test] #[ignore] fn two() {}\n",
            "tests/more.rs": "#[test] fn three() {}\n",
        },
    )
    home = pwd.getpwuid(os.getuid()).pw_dir  # where rustup keeps its toolchain
    done = await run_command(
        "cargo test --offline",
        cwd=tmp_path,
        environment={**os.environ, "HOME": home},
        limit_seconds=120,
        keep=100_000,
    )
    report = read_reports(tmp_path, done.output, (RunnerKind.CARGO,), tmp_path)
    assert (report.counts, report.faults) == (TestCounts(passed=2, skipped=1), ())
