"""When a check that was red before the run is not held against a task; unclear cases are."""

from pathlib import Path

import pytest

from ralph_tui.domain.verification.verification import GateResult, Receipt, ReceiptStatus
from ralph_tui.engine.verification.baseline import Baseline, BaselineFailure
from ralph_tui.engine.verification.check_command import CommandResult
from ralph_tui.engine.verification.evidence.check_files import CheckChanges
from ralph_tui.engine.verification.evidence.examine import Examined, Inspection

NOTHING = Inspection()


def ended(exit_code: int | None, tail: str = "", **outcomes: str) -> Examined:
    result = CommandResult(exit_code=exit_code, seconds=1, tail=tail)
    return Examined(result=result, outcomes=outcomes)


@pytest.mark.parametrize(
    ("before", "now", "excused"),
    [
        # The runner reports each test.
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "passed"}, True),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "passed", "new": "passed"}, True),
        ({"a": "failed", "b": "failed"}, {"a": "passed", "b": "failed"}, True),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "failed"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "passed", "b": "failed"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "passed", "new": "failed"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "failed"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "skipped"}, False),
        ({"a": "failed", "b": "passed"}, {"a": "failed", "b": "xfailed"}, False),
        ({"a": "failed"}, {}, False),
        ({"a": "failed"}, {"a": "passed"}, False),  # red for another reason
    ],
)
def test_a_red_check_is_excused_only_while_no_test_is_worse(
    before: dict[str, str], now: dict[str, str], excused: bool
) -> None:
    known = BaselineFailure(exit_code=1, outcomes=before)
    assert known.excuses(ended(1, **now), NOTHING) is excused


@pytest.mark.parametrize(
    ("before", "now", "exit_code", "excused"),
    [
        ("a.py:3: error: bad\nFound 1 error\n", "a.py:9: error: bad\nFound 1 error\n", 1, True),
        ("a.py:3: error\nb.py:1: error\nFound 2 errors", "b.py:1: error\nFound 2 errors", 1, True),
        ("a.py:3: error: bad\nFound 1 error\n", "b.py:3: error: bad\nFound 1 error\n", 1, False),
        (
            "a.py:3: error\nFound 1 errors\n",
            "a.py:3: error\na.py:4: error\nFound 2 errors",
            1,
            False,
        ),
        ("boom", "boom", 2, False),
        ("boom", "boom", None, False),
        ("boom", "boom", 0, False),
    ],
)
def test_a_tool_without_a_report_is_judged_by_what_it_prints(
    before: str, now: str, exit_code: int | None, excused: bool
) -> None:
    assert (
        BaselineFailure(exit_code=1, tail=before).excuses(ended(exit_code, now), NOTHING) is excused
    )


def test_changed_check_files_and_a_runner_that_is_not_the_installed_one_are_no_excuse() -> None:
    known, now = BaselineFailure(exit_code=1, outcomes={"a": "failed"}), ended(1, a="failed")
    assert known.excuses(now, NOTHING)
    weakened = Inspection(changes=CheckChanges(changed=("test_a.py",)))
    assert not known.excuses(now, weakened)
    assert known.excuses(now, weakened.model_copy(update={"allowed": ("test_a.py",)}))
    assert not known.excuses(now.model_copy(update={"run_faults": ("shadowed",)}), NOTHING)


def test_what_was_put_right_is_not_excused_again(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    baseline = Baseline(root)
    assert not baseline.load()
    red, empty = ended(1, a="failed", b="failed"), ended(5, "no tests ran")
    baseline.take("files", {"t": red, "lint": ended(0), "pytest": empty})
    assert baseline.holds("files", ("t", "lint", "pytest"))
    assert not baseline.holds("other", ("t", "lint", "pytest"))
    assert not baseline.holds("", ("t", "lint", "pytest"))
    again = Baseline(root)
    assert again.load()
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
    assert not Baseline(root, used=False).load()


def test_only_a_check_of_its_own_shows_a_task_beside_a_red_one() -> None:
    red = Receipt(command="t", source="backpressure", status=ReceiptStatus.RED_BEFORE)
    green = Receipt(command="lint", source="backpressure", status=ReceiptStatus.PASSED)
    beside = GateResult(task_id="a", receipts=(red, green))
    assert (beside.passed, beside.verified) == (True, False)
    assert GateResult(task_id="a", receipts=(red, green), shown=True).verified
    assert beside.basis == "1 check passed, 1 failed before this run, too"
