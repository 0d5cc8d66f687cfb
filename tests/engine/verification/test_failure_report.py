"""What the next attempt reads of failed checks."""

import pytest

from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.engine.verification.failure_report import MOST_CHARS, failing_tests, failure_report


def red(tail: str, **fields: object) -> Receipt:
    return Receipt.model_validate(
        {
            "command": "make test",
            "source": "criterion",
            "status": ReceiptStatus.FAILED,
            "reason": "exit status 1",
            "tail": tail,
            **fields,
        }
    )


@pytest.mark.parametrize(
    ("output", "names"),
    [
        (
            "FAILED tests/test_a.py::test_b[x-1] - assert 1 == 2\n",
            ("tests/test_a.py::test_b[x-1]",),
        ),
        ("ERROR tests/test_a.py - ImportError: no\n", ("tests/test_a.py",)),
        ("FAIL: test_sum (tests.Sums)\n---\n", ("test_sum (tests.Sums)",)),
        ("--- FAIL: TestSum (0.00s)\n", ("TestSum",)),
        ("test sums::adds ... FAILED\ntest sums::ok ... ok\n", ("sums::adds",)),
        ("ok 1 - fine\nnot ok 2 - adds numbers\n", ("adds numbers",)),
        ("  ✕ adds numbers (3 ms)\n  ● adds > twice\n", ("adds numbers", "adds > twice")),
        ("2 errors found\n", ()),
    ],
)
def test_the_failing_tests_are_named(output: str, names: tuple[str, ...]) -> None:
    assert failing_tests(red(output)) == names


def test_what_the_runner_reported_is_taken_before_what_it_printed() -> None:
    assert failing_tests(red("FAILED a.py::x", failing=("a.py::y",))) == ("a.py::y",)


def test_the_report_is_bounded_inert_and_without_secrets() -> None:
    key = "sk-" + "a" * 40
    tail = (
        "noise\n" * 5_000 + f"\x1b]0;title\x07\x1b[31mE  {key}\x1b[0m\nFAILED t.py::test_x - no\n"
    )
    green = Receipt(command="ruff", source="backpressure", status=ReceiptStatus.PASSED, tail="fine")
    report = failure_report([green, *(red(tail) for _ in range(9))])
    assert len(report) < MOST_CHARS + 1_000
    assert "Failing tests: t.py::test_x" in report
    assert "E [redacted]" in report
    assert "fine" not in report
    assert "\x1b" not in report
    assert report.endswith("5 more checks failed.")
    assert report.startswith("- `make test` failed: exit status 1\n")
