"""What the next attempt reads of failed checks."""

import pytest

from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.engine.verification.failure_report import (
    MOST_CHARS,
    failing_tests,
    failure_fingerprint,
    failure_report,
)


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


def test_the_same_failure_is_known_by_another_command_and_at_another_place() -> None:
    output = "/tmp/{0}/cart.py:{1}: in f\nE   KeyError: 'price'\nFAILED {2}test_cart.py::test_sum\n1 failed in {1}.2s\n"
    one = red(output.format("x1", 12, ""), command="uv run pytest")
    other = red(output.format("y22", 340, ""), command="uv run pytest -x")
    assert failure_fingerprint([one]) == failure_fingerprint([other])
    assert failure_fingerprint([one]).startswith("test_cart.py::test_sum; E KeyError")


def test_two_failures_of_one_command_are_two() -> None:
    said = (
        "FAILED t.py::test_1 - no",
        "FAILED t.py::test_2 - no",
        "FAILED t.py::test_1 - OSError: x",
    )
    receipts = [red(text, command="uv run pytest") for text in said]
    assert len({failure_fingerprint([receipt]) for receipt in receipts}) == 3
    assert len({failure_fingerprint(receipts[:n]) for n in (1, 2, 3)}) == 3
    assert failure_fingerprint(receipts) == failure_fingerprint(receipts[::-1])


def test_a_check_that_prints_nothing_is_known_by_its_command() -> None:
    one, other = (red("", command=f"test -f {name}") for name in ("a.txt", "b.txt"))
    assert failure_fingerprint([one]) != failure_fingerprint([other])
    green = red("", status=ReceiptStatus.PASSED)
    assert failure_fingerprint([green]) == ""
