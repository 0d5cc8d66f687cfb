"""When a check that was red before the run is not held against a task, and which checks cannot start: `baseline.txt`."""

from pathlib import Path

import pytest
import yaml

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.verification.check_commands import CheckCommand, CheckKind, ProjectChecks
from ralph_tui.domain.verification.verification import (
    GateResult,
    Receipt,
    ReceiptStatus,
    TestCounts,
)
from ralph_tui.engine.control.undo import snapshots_of
from ralph_tui.engine.verification.baseline import (
    Baseline,
    BaselineFailure,
    cannot_start,
    circumstances,
    require_started,
)
from ralph_tui.engine.verification.check_command import CommandResult
from ralph_tui.engine.verification.detection.project_checks import GateRules
from ralph_tui.engine.verification.evidence.classify import Side
from ralph_tui.engine.verification.evidence.examined import Examined
from ralph_tui.engine.verification.evidence.trusted_base import ChangedFile, Inspection
from ralph_tui.engine.verification.gate import plan_checks
from tests.harness.tables import Case, Line, Verb, each_case

NOTHING = Inspection()
PLAN = "Add a slug command\nWrite slug.py and the program slugify."


def ended(exit_code: int | None, tail: str = "", **outcomes: str) -> Examined:
    result = CommandResult(exit_code=exit_code, seconds=1, tail=tail)
    return Examined(result=result, outcomes=outcomes)


def looks(line: Line, root: Path) -> str:
    """What decides the results of checks, compared with the last look."""
    now, kept = circumstances(snapshots_of(root), line.rest, ["pytest"], ""), root.parent / "seen"
    before = kept.read_text() if kept.exists() else ""
    kept.write_text(now)
    return "as before" if now == before else "other" if before else "first"


def excused(known: BaselineFailure, now: Examined) -> str:
    return "excused" if known.excuses(now, NOTHING) else "worse, or not clear"


def with_report(line: Line, _: Path) -> str:
    given = yaml.safe_load(line.rest)
    known = BaselineFailure(exit_code=1, outcomes=given["before"])
    return excused(known, ended(1, **given["now"]))


def with_output(line: Line, root: Path) -> str:
    before, now = (root / "before").read_text(), ended(yaml.safe_load(line.rest), line.text)
    return excused(BaselineFailure(exit_code=1, tail=before), now)


def starting(line: Line, root: Path) -> str:
    status, _, command = line.rest.partition(" ")
    planned = PLAN if line.sign == "own" else None
    counts = TestCounts() if line.sign == "reported" else None
    one = ended(int(status), line.text).model_copy(update={"counts": counts})
    found = cannot_start(command, one, root, planned=planned)
    return f"cannot start: {found.reason}. {found.hint}".rstrip() if found else "red"


VERBS: dict[str, Verb] = {
    "look": looks,
    "red": with_report,
    "prints": with_output,
    "own": starting,
    "project": starting,
    "reported": starting,
}


@each_case(__file__)
def test_the_baseline(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play(VERBS, tmp_path, pytestconfig)


def test_changed_check_files_and_a_runner_that_is_not_the_installed_one_are_no_excuse() -> None:
    known, now = BaselineFailure(exit_code=1, outcomes={"a": "failed"}), ended(1, a="failed")
    assert known.excuses(now, NOTHING)
    changed = ChangedFile(path="test_a.py", kind="changed", side=Side.CHECK, reason="is a test")
    weakened = Inspection(changes=(changed,))
    assert not known.excuses(now, weakened)
    lint = BaselineFailure(exit_code=1, tail="a.py:1: error")
    found = [lint.excuses(ended(1, "a.py:1: error"), weakened, c) for c in ("mypy .", "make test")]
    assert found == [True, False], "the tests are what mypy judges"
    assert known.excuses(now, weakened.model_copy(update={"allowed": ("test_a.py",)}))
    assert not known.excuses(now.model_copy(update={"run_faults": ("shadowed",)}), NOTHING)


def test_what_was_put_right_is_not_excused_again(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    baseline = Baseline(root)
    red, empty = ended(1, a="failed", b="failed"), ended(5, "no tests ran")
    baseline.take("files", {"t": red, "lint": ended(0), "pytest": empty})
    assert baseline.holds("files", ("t", "lint", "pytest"))
    assert not baseline.holds("other", ("t", "lint", "pytest"))
    assert not baseline.holds("", ("t", "lint", "pytest"))
    again = Baseline(root)
    again.load()
    assert list(again.failures()) == [("t", "2 tests failed: a, b")]
    assert again.excuse("t", red, NOTHING) == (
        "already failed before this run (2 tests failed: a, b), and nothing got worse"
    )
    half = ended(1, a="passed", b="failed")
    again.accept({"t": half, "lint": ended(0)})
    assert not again.excuse("t", red, NOTHING)
    assert again.excuse("t", half, NOTHING)
    again.accept({"t": ended(0, a="passed", b="passed")})
    assert not list(again.failures())


def test_only_a_check_of_its_own_shows_a_task_beside_a_red_one() -> None:
    red = Receipt(command="t", source="backpressure", status=ReceiptStatus.RED_BEFORE)
    green = Receipt(command="lint", source="backpressure", status=ReceiptStatus.PASSED)
    beside = GateResult(task_id="a", receipts=(red, green))
    assert (beside.passed, beside.verified) == (True, False)
    assert GateResult(task_id="a", receipts=(red, green), shown=True).verified
    assert beside.basis == "1 check passed, 1 failed before this run, too"


def test_a_check_in_which_a_test_passed_has_started(tmp_path: Path) -> None:
    one = ended(127, "sh: 1: vitest: not found", a="passed", b="failed")
    assert cannot_start("npm test", one, tmp_path) is None


def test_checks_that_the_same_keeps_from_starting_are_named_together(tmp_path: Path) -> None:
    output = "warning: CONNECT tunnel failed (3 tries left)\nerror: CONNECT tunnel failed"
    missing = {one: ended(101, output) for one in ("cargo test", "cargo check")}
    checks = plan_checks((), GateRules(commands=tuple(missing)))
    said = "^`cargo test`, `cargo check` cannot start: it cannot reach the network: CONNECT"
    with pytest.raises(SetupError, match=said):
        require_started(tmp_path, checks, missing, (), ())


def test_a_check_that_names_tests_can_show_a_new_one(tmp_path: Path) -> None:
    baseline = Baseline(tmp_path)
    baseline.take("", {"a": ended(0), "b": ended(1), "c": ended(0, t="passed")})
    assert [one for one in "abc" if baseline.shows_nothing_new(one)] == ["a"]


def test_a_check_that_cannot_start_names_the_setting_that_names_it(tmp_path: Path) -> None:
    lint = CheckCommand(kind=CheckKind.LINT, command="lint-it", file="package.json")
    rules = GateRules(commands=("lint-it", "other"), checks=ProjectChecks(commands=(lint,)))
    checks = plan_checks((), rules)
    missing = {one.command: ended(127, f"sh: 1: {one.command}: not found") for one in checks}
    with pytest.raises(SetupError) as refused:
        require_started(tmp_path, checks, missing, (), ())
    left_out = "another command with build.lint_command. `true` leaves the check out."
    assert left_out in refused.value.hint
    assert "another command with phases.building.backpressure." in refused.value.hint
