"""What the next attempt reads of failed checks, and by what a failure is known: `failure_report.txt`."""

from pathlib import Path

import pytest

from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.engine.verification.failure_report import (
    MOST_CHARS,
    failure_fingerprint,
    failure_report,
)
from tests.harness.tables import Case, Line, each_case


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


def fails(line: Line, _: Path) -> str:
    receipt = red(line.text, command=line.rest)
    return failure_fingerprint([receipt])


@each_case(__file__)
def test_a_failure(case: Case, tmp_path: Path, pytestconfig: pytest.Config) -> None:
    case.play({"fails": fails}, tmp_path, pytestconfig)


def test_the_report_is_bounded_inert_and_without_secrets() -> None:
    key = "sk-" + "a" * 40
    tail = (
        "noise\n" * 5_000 + f"\x1b]0;title\x07\x1b[31mE  {key}\x1b[0m\nFAILED t.py::test_x - no\n"
    )
    green = Receipt(command="ruff", source="backpressure", status=ReceiptStatus.PASSED, tail="fine")
    report = failure_report([green, *(red(tail, failing=("t.py::test_x",)) for _ in range(9))])
    assert len(report) < MOST_CHARS + 1_000
    assert "Failing tests: t.py::test_x" in report
    assert "E [redacted]" in report
    assert "fine" not in report
    assert "\x1b" not in report
    assert report.endswith("5 more checks failed.")
    assert report.startswith("- `make test` failed: exit status 1\n")


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
    assert failure_fingerprint([red("", status=ReceiptStatus.PASSED)]) == ""
