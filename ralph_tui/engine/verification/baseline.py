"""Keep the baseline: checks that failed before a run count against a task only if they got worse."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from ralph_tui.domain.base import Model
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.verification.evidence import report_judge
from ralph_tui.engine.verification.evidence.examine import Examined, Inspection
from ralph_tui.engine.verification.evidence.reports import TestReport
from ralph_tui.store.backup.check_store import CheckStore

_NO_TESTS = 5
"""The exit status of pytest without any test, which is not a failure."""

_NAMED = 3
_COUNTED = re.compile(r"(\d+)\s+(?:errors?|problems?|issues?|warnings?)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class BaselineFailure(Model):
    """The failure of a check before the run."""

    exit_code: int
    outcomes: dict[str, str] = Field(default_factory=dict)
    """The outcome of each test, if the runner reported them."""
    tail: str = ""

    @property
    def summary(self) -> str:
        """A short text about what failed."""
        failing = TestReport(outcomes=self.outcomes).failing
        if not failing:
            return f"exit status {self.exit_code}"
        names = shortlist([one_line(name, 120) for name in failing], _NAMED)
        return f"{plural(len(failing), 'test')} failed: {names}"

    def excuses(self, now: Examined, inspection: Inspection) -> bool:
        """Return whether the check failed again without getting worse; an unclear result counts as worse."""
        code = now.result.exit_code
        if not code or inspection.not_allowed or now.run_faults:
            return False
        if self.outcomes or now.outcomes:
            return self._tests_no_worse(now)
        return code == self.exit_code and _output_no_worse(self.tail, now.result.tail)

    def _tests_no_worse(self, now: Examined) -> bool:
        report = TestReport(outcomes=now.outcomes)
        failed_before = {*TestReport(outcomes=self.outcomes).failing}
        same = bool(report.failing) and failed_before.issuperset(report.failing)
        return same and not report_judge.weaknesses(self.outcomes, report)


class BaselineRecord(Model):
    """The results of all checks at one time."""

    contents: str = ""
    """The fingerprint of the checked files; empty if there are too many."""
    commands: tuple[str, ...] = ()
    red: dict[str, BaselineFailure] = Field(default_factory=dict)
    outcomes: dict[str, dict[str, str]] = Field(default_factory=dict)
    """The outcome of each test by command, for the commands whose runners reported them."""


class Baseline:
    """The baseline of one project, stored where no agent can write."""

    def __init__(self, root: Path, *, used: bool = True) -> None:
        """Start empty until `load`; stay empty unless `used`."""
        self.used = used
        self._store = CheckStore(root)
        self._record = BaselineRecord()

    def load(self) -> bool:
        """Read the stored baseline; return whether there was one. Blocks."""
        data = self._store.baseline() if self.used else None
        try:
            self._record = BaselineRecord.model_validate_json(data or b"")
        except ValidationError:
            self._record = BaselineRecord()
            return False
        return True

    def holds(self, contents: str, commands: Sequence[str]) -> bool:
        known = self._record
        return bool(contents) and (known.contents, known.commands) == (contents, tuple(commands))

    def take(self, contents: str, examined: Mapping[str, Examined]) -> None:
        """Store the results of the checks. Blocks."""
        red = {command: _failure_of(one) for command, one in examined.items() if _failed(one)}
        outcomes = {command: one.outcomes for command, one in examined.items() if one.outcomes}
        self._save(
            BaselineRecord(contents=contents, commands=tuple(examined), red=red, outcomes=outcomes)
        )

    def accept(self, examined: Mapping[str, Examined]) -> None:
        """Remove the failures that an accepted claim has fixed. Blocks."""
        red = {
            command: _failure_of(examined[command]) if command in examined else before
            for command, before in self._record.red.items()
            if command not in examined or _failed(examined[command])
        }
        if red != self._record.red:
            self._save(self._record.model_copy(update={"red": red}))

    def outcomes(self, command: str) -> Mapping[str, str] | None:
        """Return the outcome of each test before the run, or None if they are not known."""
        return self._record.outcomes.get(command)

    def excuse(self, command: str, now: Examined, inspection: Inspection) -> str:
        """Return why a failed check does not count against a task, or an empty string if it counts."""
        before = self._record.red.get(command)
        if before is None or not before.excuses(now, inspection):
            return ""
        return f"already failed before this run ({before.summary}), and nothing got worse"

    def failures(self) -> Iterator[tuple[str, str]]:
        for command, before in self._record.red.items():
            yield command, before.summary

    def _save(self, record: BaselineRecord) -> None:
        self._record = record
        self._store.save_baseline(record.model_dump_json().encode())


def _failed(examined: Examined) -> bool:
    code = examined.result.exit_code
    return bool(code) and not (code == _NO_TESTS and not examined.outcomes)


def _failure_of(examined: Examined) -> BaselineFailure:
    return BaselineFailure(
        exit_code=examined.result.exit_code or 0,
        outcomes=examined.outcomes,
        tail=examined.result.tail,
    )


def _output_no_worse(before: str, now: str) -> bool:
    counted = [sum(map(int, _COUNTED.findall(text))) for text in (before, now)]
    return counted[1] <= counted[0] and {*_lines(now)} <= {*_lines(before)}


def _lines(text: str) -> Iterator[str]:
    """Yield the printed lines without line numbers and seconds."""
    return (_NUMBER.sub("#", " ".join(line.split())) for line in text.splitlines() if line.strip())
