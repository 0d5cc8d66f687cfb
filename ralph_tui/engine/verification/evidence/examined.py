"""What is known of one check: how it runs and ended, and what a run on one tree shows beside another."""

import shutil
from collections.abc import Awaitable, Callable, Container, Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from pydantic import Field

from ralph_tui.domain.base import Model
from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import Task
from ralph_tui.domain.verification.verification import Inputs, Place, TestCounts, Tree, TreeRun
from ralph_tui.engine.core.project_tree import is_source
from ralph_tui.engine.verification.check_command import CommandResult
from ralph_tui.engine.verification.evidence.check_inputs import INTERPRETERS
from ralph_tui.engine.verification.evidence.classify import SUBJECT, Side, lints, names_check
from ralph_tui.engine.verification.evidence.reports import NOT_LOADED, TestReport
from ralph_tui.engine.verification.evidence.runners import placed_programs
from ralph_tui.engine.verification.evidence.trusted_base import Inspection
from ralph_tui.engine.verification.judge_tree import Mount
from ralph_tui.vcs.snapshots import Content

MOST_SHOWN = 5


class CommandRun(Model):
    """One run of a check: the command, its directory and its environment."""

    command: str
    check: str
    """The command in the plan; `command` may have more options."""
    cwd: Path
    environment: dict[str, str]
    keep: int = 0
    writable: tuple[Path, ...] = ()
    """Directories outside the project that the run may write to."""
    mounts: tuple[Mount, ...] = ()
    """What the sandbox shows in place of the project."""
    limit_seconds: float = 0
    """The time it may take; 0 for that of all checks."""


RunCommand = Callable[[CommandRun], Awaitable[CommandResult]]
"""Runs a command with the gate's sandbox and time limit."""


class Before(Model):
    """What is known of a check from before the work."""

    outcomes: Mapping[str, str] | None = None
    """The outcome of each test in place; None if they are not known."""
    judged: Mapping[str, str] = {}
    """The outcome of each test in the judge tree."""
    green: bool | None = None
    """Whether the check passed; None if it is not known."""


class Examined(Model):
    """The result of one check."""

    result: CommandResult
    faults: tuple[str, ...] = ()
    run_faults: tuple[str, ...] = ()
    """Faults in how the tests of a failed check ran."""
    counts: TestCounts | None = None
    before: TestCounts | None = None
    failing: tuple[str, ...] = ()
    inputs: Inputs = Inputs.UNCHANGED
    changed: tuple[str, ...] = ()
    place: Place = Place.HERE
    outcomes: dict[str, str] = Field(default_factory=dict)
    judged: dict[str, str] = Field(default_factory=dict)
    runs: tuple[TreeRun, ...] = ()
    flaky: tuple[str, ...] = ()
    """Tests that failed at first and passed when they ran again."""
    shown: bool = True
    """Whether the check shows the work: it was red before, or its new tests notice the work."""
    question: str = ""
    """Why somebody has to judge what the check does not show on product code alone."""
    rests_on: tuple[str, ...] = ()
    """Changed files of the checks without which it does not pass."""
    for_person: bool = False

    @property
    def passed(self) -> bool:
        return self.result.exit_code == 0 and not self.faults


class Ran(Model):
    """One run of a check, with the report of its runners."""

    result: CommandResult
    report: TestReport

    @property
    def reported(self) -> bool:
        return bool(self.report.runners)

    def on(self, tree: Tree, reason: str = "") -> TreeRun:
        counts = self.report.counts if self.reported else None
        return TreeRun(tree=tree, passed=not reason, counts=counts, reason=reason)


class AskError(Exception):
    """What a reviewer or the person has to judge, and the files that it rests on."""

    def __init__(self, asked: str, files: Iterable[str] = (), *, for_person: bool = False) -> None:
        super().__init__(asked)
        self.found = {"rests_on": tuple(files), "for_person": for_person}


class Case(NamedTuple):
    """A claim on a task that a check passes in place."""

    command: str
    task: Task
    here: Ran
    before: Before
    inspection: Inspection

    @property
    def is_linter(self) -> bool:
        return is_linter(self.command)

    @property
    def turned(self) -> list[str]:
        known = self.before.judged
        return [n for n in passed_in(self.here.report.outcomes) if known.get(n) != "passed"]

    @property
    def limit_seconds(self) -> float:
        """For a run that has to fail, which may never end."""
        return 20 + 3 * self.here.result.seconds

    @property
    def held(self) -> dict[str, Content | None]:
        """What the judge tree has in place of the claim. The subject of a linter are all sources, with the tests."""
        subjects = {
            change.path
            for change in self.inspection.changes
            if change.side is Side.PRODUCT or SUBJECT.fullmatch(change.reason)
        }
        left_out = subjects if self.is_linter else ()
        return {p: c for p, c in self.inspection.judged.items() if p not in left_out}


def only_new_tests(here: Ran, there: Ran, before: Before, inspection: Inspection) -> bool:
    """Return whether a check runs only tests that are new, so that the judge tree has nothing to run."""
    absent = sum(_is_absent(name, inspection) for name in there.report.failing)
    if not here.reported or there.report.counts.run > absent or any(passed_in(before.judged)):
        return False
    return {change.kind for change in inspection.checks} == {"new"}


def _is_absent(name: str, inspection: Inspection) -> bool:
    """Return whether this is a new module of tests, which is not there to load."""
    new = {Path(change.path).stem for change in inspection.checks if change.kind == "new"}
    known = {Path(path).stem for path in inspection.originals()}
    return name.endswith(NOT_LOADED) and name.removesuffix(NOT_LOADED) in new - known


def passed_in(outcomes: Mapping[str, str]) -> Iterable[str]:
    return (name for name, outcome in outcomes.items() if outcome == "passed")


def lost_tests(here: Ran, there: Ran, before: Before, inspection: Inspection) -> str:
    if there.result.exit_code is None or not here.reported:
        return exit_text(there.result)
    now, then, known = here.report.outcomes, there.report.outcomes, before.judged
    if not there.report.counts.run:
        return "no test ran"
    # A red test that is gone is the plan's business only; a name may be a number, which tells nothing.
    excused = known if inspection.allowed else {}
    failed = [
        n
        for n in there.report.failing
        if now.get(n) != "failed"
        and (n in now or excused.get(n) != "failed")
        and not _is_absent(n, inspection)
    ]
    weak = [
        n
        for n, o in then.items()
        if o in {"skipped", "xfailed"} and "passed" in (now.get(n), known.get(n))
    ]
    new = {
        c.path for c in inspection.changes if c.kind != "deleted" and c.path in inspection.judged
    }
    gone = [
        name
        for name in dict.fromkeys((*passed_in(known), *passed_in(now)))
        if name not in then
        and (
            (name in known and (name in now or not inspection.allowed))
            or (name not in known and not new)
        )
    ]
    parts = [
        f"{shortlist(tuple(names), MOST_SHOWN)} {what}"
        for names, what in ((failed, "failed"), (weak, "skipped"), (gone, "did not run"))
        if names
    ]
    return ", ".join((*parts, *there.report.faults))


def noticing(here: Ran, base: Ran) -> tuple[str, ...]:
    then = base.report.outcomes
    missing = base.result.exit_code != 0
    if not here.report.outcomes:
        return ("the check",) if base.result.exit_code else ()
    return tuple(
        name
        for name in passed_in(here.report.outcomes)
        if then.get(name) == "failed" or (name not in then and missing)
    )


_READING = frozenset({"cd", "grep", "ls", "test", "["})


def is_linter(command: str) -> bool:
    """Return whether a check looks at sources without running tests, so that tests are its subject, too."""
    found = [one for _, one, _ in placed_programs(command) if one and one[0] not in _READING]
    return bool(found) and all(map(lints, found))


def only_reads(command: str) -> bool:
    """Return whether a check only looks for files and for texts in them."""
    return all(one and one[0] in _READING for _, one, _ in placed_programs(command))


def starts_product(command: str, tools: Container[str]) -> bool:
    """Return whether a check is a single program of the project with arguments, and no test, linter, build or text of code.

    The program is the project's own, or a source or module for an interpreter, or one of the `tools` that run its checks.
    """
    programs = [one for _, one, _ in placed_programs(command)]
    words = programs[0] if len(programs) == 1 else ()
    if len(words) < 2 or is_linter(command) or only_reads(command):
        return False
    if any("test" in w or names_check(w) or w in {"build", "-c", "-e"} for w in words):
        return False
    runs = INTERPRETERS.fullmatch(words[0]) and any(w == "-m" or is_source(w) for w in words)
    return bool(runs) or words[0] in tools or shutil.which(words[0]) is None


def exit_text(result: CommandResult) -> str:
    status = f"exit status {result.exit_code}" if result.exit_code else ""
    return "timed out" if result.exit_code is None else status
