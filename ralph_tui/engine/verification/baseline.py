"""The baseline: checks that failed before a run do not count against a task unless they got worse."""

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
"""The exit status of pytest without any test, which is no failure."""

_NAMED = 3
_COUNTED = re.compile(r"(\d+)\s+(?:errors?|problems?|issues?|warnings?)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class RedBefore(Model):
    """A check that failed before the run."""

    exit_code: int
    outcomes: dict[str, str] = Field(default_factory=dict)
    """The outcome of each test, if the runner reported them."""
    tail: str = ""

    @property
    def told(self) -> str:
        """What failed, in a few words."""
        failing = TestReport(outcomes=self.outcomes).failing
        if not failing:
            return f"exit status {self.exit_code}"
        names = shortlist([one_line(name, 120) for name in failing], _NAMED)
        return f"{plural(len(failing), 'test')} failed: {names}"

    def excuses(self, now: Examined, inspection: Inspection) -> bool:
        """Return whether the check, failing again, got no worse; anything unclear counts as worse."""
        code = now.result.exit_code
        if not code or inspection.open or now.run_faults:
            return False
        if self.outcomes or now.outcomes:
            return self._tests_no_worse(now)
        return code == self.exit_code and _output_no_worse(self.tail, now.result.tail)

    def _tests_no_worse(self, now: Examined) -> bool:
        report = TestReport(outcomes=now.outcomes)
        failed_before = {*TestReport(outcomes=self.outcomes).failing}
        same = bool(report.failing) and failed_before.issuperset(report.failing)
        return same and not report_judge.weaker(self.outcomes, report)


class BaselineRecord(Model):
    """The results of all checks at one moment."""

    contents: str = ""
    """The fingerprint of the checked files; empty when there are too many."""
    commands: tuple[str, ...] = ()
    red: dict[str, RedBefore] = Field(default_factory=dict)


class Baseline:
    """The stored baseline of one project, kept where no agent writes."""

    def __init__(self, root: Path, *, used: bool = True) -> None:
        """Start empty until `load`; without `used` it stays empty."""
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
        """Return whether the baseline is of exactly these files and commands."""
        known = self._record
        return bool(contents) and (known.contents, known.commands) == (contents, tuple(commands))

    def take(self, contents: str, examined: Mapping[str, Examined]) -> None:
        """Store what the checks showed. Blocks."""
        red = {command: _red(one) for command, one in examined.items() if _is_red(one)}
        self._keep(BaselineRecord(contents=contents, commands=tuple(examined), red=red))

    def accept(self, examined: Mapping[str, Examined]) -> None:
        """Stop excusing what an accepted claim has repaired. Blocks."""
        red = {
            command: _red(examined[command]) if command in examined else before
            for command, before in self._record.red.items()
            if command not in examined or _is_red(examined[command])
        }
        if red != self._record.red:
            self._keep(self._record.model_copy(update={"red": red}))

    def excuse(self, command: str, now: Examined, inspection: Inspection) -> str:
        """Return why a failed check does not count against a task, or an empty string when it does."""
        before = self._record.red.get(command)
        if before is None or not before.excuses(now, inspection):
            return ""
        return f"before this run {before.told}; nothing is worse"

    def told(self) -> Iterator[tuple[str, str]]:
        """Yield each command that failed before the run, and what failed."""
        for command, before in self._record.red.items():
            yield command, before.told

    def _keep(self, record: BaselineRecord) -> None:
        self._record = record
        self._store.save_baseline(record.model_dump_json().encode())


def _is_red(examined: Examined) -> bool:
    code = examined.result.exit_code
    return bool(code) and not (code == _NO_TESTS and not examined.outcomes)


def _red(examined: Examined) -> RedBefore:
    return RedBefore(
        exit_code=examined.result.exit_code or 0,
        outcomes=examined.outcomes,
        tail=examined.result.tail,
    )


def _output_no_worse(before: str, now: str) -> bool:
    """Return whether a tool without a report prints nothing that it did not print before."""
    counted = [sum(map(int, _COUNTED.findall(text))) for text in (before, now)]
    return counted[1] <= counted[0] and {*_lines(now)} <= {*_lines(before)}


def _lines(text: str) -> Iterator[str]:
    """Yield the printed lines without line numbers and seconds."""
    return (_NUMBER.sub("#", " ".join(line.split())) for line in text.splitlines() if line.strip())
