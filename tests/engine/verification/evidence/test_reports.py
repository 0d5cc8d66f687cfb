"""Which runners a command starts, and what their reports say: `reports.txt`."""

import os
import pwd
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
import yaml

from ralph_tui.domain.verification.verification import RunnerKind, TestCounts
from ralph_tui.engine.verification.check_command import run_command
from ralph_tui.engine.verification.evidence.reports import TestReport, read_reports, weaknesses
from ralph_tui.engine.verification.evidence.runners import (
    join_environments,
    recognized_runners,
    with_reporting,
)
from tests.engine.verification.evidence.projects import write
from tests.harness.suite import need
from tests.harness.tables import Case, Line, Verb, each_case


def read(line: Line, root: Path) -> Iterator[str]:
    kind = next(one for one in RunnerKind if one.startswith(line.sign))
    report = read_reports(root, line.text, (kind,))
    counts = report.counts.model_dump(exclude_defaults=True)
    found = ", ".join(f"{number} {what}" for what, number in counts.items()) or "no test"
    yield f"{found} by {', '.join(report.runners) or 'an unknown runner'}"
    yield from (f"{name}: {outcome}" for name, outcome in report.outcomes.items())
    yield from (f"failing: {name}" for name in report.failing)
    yield from (f"fault: {fault}" for fault in report.faults)


def less(line: Line, _: Path) -> Iterable[str]:
    now = TestReport(outcomes=yaml.safe_load(line.rest))
    return weaknesses({"a": "passed", "b": "failed"}, now)


VERBS: dict[str, Verb] = {
    "runner": lambda line, root: ", ".join(recognized_runners(line.rest, root)),
    "told": lambda line, root: with_reporting(line.rest, root, Path("/r")).command,
    "now": less,
    **dict.fromkeys(("cargo", "go", "jest", "unittest"), read),
}


@each_case(__file__)
def test_reports(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play(VERBS, tmp_path, pytestconfig)


def test_what_reports_need_is_added_to_an_environment() -> None:
    joined = join_environments({"PYTHONPATH": "a", "B": "1"}, {"PYTHONPATH": "r"})
    assert joined == {"PYTHONPATH": "r:a", "B": "1"}


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
    report = read_reports(tmp_path, done.output, (RunnerKind.CARGO,))
    assert (report.counts, report.faults) == (TestCounts(passed=2, skipped=1), ())
