"""What the project's checks showed before a run: what was red then is not held against a task, unless it became worse."""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from ralph_tui.domain.base import Model
from ralph_tui.domain.sanitize import one_line
from ralph_tui.engine.verification.evidence import judge
from ralph_tui.engine.verification.evidence.examine import Examined, Inspection
from ralph_tui.engine.verification.evidence.reports import TestReport
from ralph_tui.store.backup.check_store import CheckStore

_NO_TESTS = 5
"""How pytest ends when there is no test yet: nothing was red."""

_NAMED = 3
_COUNTED = re.compile(r"(\d+)\s+(?:errors?|problems?|issues?|warnings?)\b", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")


class RedBefore(Model):
    """A check that failed before the run."""

    exit_code: int
    outcomes: dict[str, str] = Field(default_factory=dict)
    """Of each test, where the runner reported them."""
    tail: str = ""

    @property
    def told(self) -> str:
        """What failed, in a few words."""
        failing = TestReport(outcomes=self.outcomes).failing
        if not failing:
            return f"exit status {self.exit_code}"
        names = ", ".join(one_line(name, 120) for name in failing[:_NAMED])
        more = f" and {len(failing) - _NAMED} more" if len(failing) > _NAMED else ""
        return f"{len(failing)} test{'' if len(failing) == 1 else 's'} failed: {names}{more}"

    def excuses(self, now: Examined, inspection: Inspection) -> bool:
        """Return whether the check, red again, has not become worse; anything unclear is worse."""
        code = now.result.exit_code
        if not code or inspection.open or now.foul:
            return False
        if self.outcomes or now.outcomes:
            return self._tests_no_worse(now)
        return code == self.exit_code and _output_no_worse(self.tail, now.result.tail)

    def _tests_no_worse(self, now: Examined) -> bool:
        report = TestReport(outcomes=now.outcomes)
        failed_before = {*TestReport(outcomes=self.outcomes).failing}
        same = bool(report.failing) and failed_before.issuperset(report.failing)
        return same and not judge.weaker(self.outcomes, report)


class BaselineRecord(Model):
    """The checks of one moment."""

    contents: str = ""
    """Stands for the files that were checked; empty where there are too many."""
    commands: tuple[str, ...] = ()
    red: dict[str, RedBefore] = Field(default_factory=dict)


class Baseline:
    """The record of one project, kept where no agent writes."""

    def __init__(self, root: Path, *, used: bool = True) -> None:
        """Nothing is known before `load`; where it is not `used`, nothing ever is."""
        self.used = used
        self._store = CheckStore(root)
        self._record = BaselineRecord()

    def load(self) -> bool:
        """Read what was kept; whether there was anything. Blocks."""
        data = self._store.baseline() if self.used else None
        try:
            self._record = BaselineRecord.model_validate_json(data or b"")
        except ValidationError:
            self._record = BaselineRecord()
            return False
        return True

    def holds(self, contents: str, commands: Sequence[str]) -> bool:
        """Return whether these very checks ran with these very files."""
        known = self._record
        return bool(contents) and (known.contents, known.commands) == (contents, tuple(commands))

    def take(self, contents: str, examined: Mapping[str, Examined]) -> None:
        """Keep what the checks showed. Blocks."""
        red = {command: _red(one) for command, one in examined.items() if _is_red(one)}
        self._keep(BaselineRecord(contents=contents, commands=tuple(examined), red=red))

    def accept(self, examined: Mapping[str, Examined]) -> None:
        """What a claim that was accepted has put right is not excused any more. Blocks."""
        red = {
            command: _red(examined[command]) if command in examined else before
            for command, before in self._record.red.items()
            if command not in examined or _is_red(examined[command])
        }
        if red != self._record.red:
            self._keep(self._record.model_copy(update={"red": red}))

    def excuse(self, command: str, now: Examined, inspection: Inspection) -> str:
        """Return why a check that is red is not held against a task; empty when it is."""
        before = self._record.red.get(command)
        if before is None or not before.excuses(now, inspection):
            return ""
        return f"before this run {before.told}; nothing is worse"

    def told(self) -> Iterator[tuple[str, str]]:
        """Yield each command that was red, and what failed."""
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
    """Return whether a tool without a report prints nothing now that it did not print before."""
    counted = [sum(map(int, _COUNTED.findall(text))) for text in (before, now)]
    return counted[1] <= counted[0] and {*_lines(now)} <= {*_lines(before)}


def _lines(text: str) -> Iterator[str]:
    """Return what was printed, without the numbers of lines and seconds."""
    return (_NUMBER.sub("#", " ".join(line.split())) for line in text.splitlines() if line.strip())
