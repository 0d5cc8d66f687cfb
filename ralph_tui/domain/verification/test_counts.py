"""What a test runner counted, and how two counts compare."""

from enum import StrEnum

from ralph_tui.domain.base import Count, Model

MOST_NAMED = 20
"""Failing tests that are kept by name."""


class RunnerKind(StrEnum):
    """Test runners whose own report ralph reads."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    NODE = "node --test"
    JEST = "jest"
    VITEST = "vitest"
    CARGO = "cargo test"
    GO = "go test"


class TestCounts(Model):
    """The outcomes of one run, each test counted once."""

    __test__ = False  # no test case, whatever its name suggests to pytest

    passed: Count = 0
    failed: Count = 0
    """Failures and errors, also those of collection."""
    skipped: Count = 0
    xfailed: Count = 0
    xpassed: Count = 0
    deselected: Count = 0

    @property
    def run(self) -> int:
        """Tests whose code ran to an end."""
        return self.passed + self.failed + self.xfailed + self.xpassed

    @property
    def text(self) -> str:
        """The counts that are not zero, as a person reads them."""
        named = {
            "passed": self.passed,
            "failed": self.failed,
            "skipped": self.skipped,
            "expected failures": self.xfailed,
            "unexpectedly passed": self.xpassed,
            "deselected": self.deselected,
        }
        return ", ".join(f"{number} {name}" for name, number in named.items() if number) or "0 run"
