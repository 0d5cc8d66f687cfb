"""The models of the gate: criteria, receipts of checks, and the basis of a completion."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from ralph_tui.domain.base import Amount, Count, Model, Record, Timestamp
from ralph_tui.domain.formatting import plural, shortlist

MOST_NAMED = 20
"""How many failing tests are kept by name."""


class RunnerKind(StrEnum):
    """Test runners whose reports ralph can read."""

    PYTEST = "pytest"
    UNITTEST = "unittest"
    NODE = "node --test"
    JEST = "jest"
    VITEST = "vitest"
    CARGO = "cargo test"
    GO = "go test"


class TestCounts(Model):
    """The outcomes of one test run, each test counted once."""

    __test__ = False  # keeps pytest from collecting this class

    passed: Count = 0
    failed: Count = 0
    """Failures and errors, including collection errors."""
    skipped: Count = 0
    xfailed: Count = 0
    xpassed: Count = 0
    deselected: Count = 0

    @property
    def run(self) -> int:
        return self.passed + self.failed + self.xfailed + self.xpassed

    @property
    def text(self) -> str:
        """The counts above zero, in words."""
        named = {
            "passed": self.passed,
            "failed": self.failed,
            "skipped": self.skipped,
            "expected failures": self.xfailed,
            "unexpectedly passed": self.xpassed,
            "deselected": self.deselected,
        }
        return ", ".join(f"{number} {name}" for name, number in named.items() if number) or "0 run"


class CommandCriterion(Record):
    """A verification criterion written as an object with a command."""

    command: str
    description: str = ""


Criterion = str | CommandCriterion


class VerificationOutcome(StrEnum):
    """The basis of a task's completion."""

    VERIFIED = "verified"
    """A command of the gate passed."""
    UNVERIFIED = "unverified"
    """No check could run, and the person allowed that."""
    REVIEWED = "reviewed"
    """A reviewer agreed, with evidence, because no command covers the criteria."""
    ACCEPTED = "accepted"
    """The person decided that the task is complete."""


class TaskVerification(Record):
    """The basis of one task's completion, as stored in the plan file."""

    outcome: VerificationOutcome
    at: Timestamp | None = None
    by: str = ""
    """Who decided: empty for ralph's own gate."""
    reason: str = ""
    """One line: what passed, or why nothing could run."""
    receipt: str = ""
    """The id of ralph's record of the verification; empty if there is none."""
    changed_checks: tuple[str, ...] = ()
    """Check files that changed with permission, with the kind of change."""
    rests_on: tuple[str, ...] = ()
    """Changed files of the checks without which the checks do not pass; somebody agreed to them."""
    also_changed: tuple[str, ...] = ()
    """Changed files of the checks that made no difference and that nobody agreed to."""
    flaky: tuple[str, ...] = ()
    """Tests that failed and passed in the same run."""
    checks: Count = 0
    """Checks that passed; also 0 if an older ralph did not count them."""

    @classmethod
    def decided_by_person(cls, reason: str, at: Timestamp) -> "TaskVerification":
        return cls(outcome=VerificationOutcome.ACCEPTED, at=at, by="person", reason=reason)


class ReceiptStatus(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    DENIED = "denied"
    SKIPPED = "skipped"
    RED_BEFORE = "red_before"
    """The check failed as before the run, and nothing is worse."""


_NOT_FAILED = frozenset({ReceiptStatus.PASSED, ReceiptStatus.SKIPPED, ReceiptStatus.RED_BEFORE})


class Inputs(StrEnum):
    """Whether a check's own files changed: its tests, the files it names, and its runner's configuration."""

    UNCHANGED = "unchanged"
    """The files are as they were when the task began."""
    ALLOWED = "changed_allowed"
    """The files changed with permission."""
    ORIGINALS = "originals_used"
    """The files changed without permission, so the check must also pass with the originals."""


class Place(StrEnum):
    """Where a check ran."""

    HERE = "in_place"
    COPY = "in_place_and_copy"
    """In the project, and in the judge tree."""
    ONLY_HERE = "judged_in_place"
    """In the project only, because it does not pass in a clean place, whatever changed."""


class Tree(StrEnum):
    """The tree of files that a check ran on."""

    HERE = "in_place"
    """The work tree as it is."""
    JUDGE = "judge_tree"
    """The trusted base with the product changes of the claim."""
    CLAIM = "whole_claim"
    """The judge tree with every change of the claim."""
    BASE = "base_code"
    """The judge tree with the base's product code and the new tests of the claim."""
    BEFORE = "without_work"
    """The trusted base, or the project when the run began."""
    BROKEN = "unparsable"
    """The judge tree with sources that cannot be parsed, where a check that looks at them fails."""


class TreeRun(Model):
    """What one check showed on one tree."""

    tree: Tree
    passed: bool
    counts: TestCounts | None = None
    reason: str = ""
    """Why it did not pass, or what else it showed."""


class Receipt(Model):
    """The record of one check: the command, the result and the end of the output."""

    command: str
    source: Literal["backpressure", "criterion", "evidence"]
    status: ReceiptStatus
    exit_code: int | None = None
    seconds: Amount = 0.0
    tail: str = ""
    reason: str = ""
    counts: TestCounts | None = None
    """The runner's test counts; None if only the exit status is known."""
    before: TestCounts | None = None
    """The counts of the last run that passed, or of the original check files."""
    failing: tuple[str, ...] = ()
    """The names of failed tests."""
    inputs: Inputs | None = None
    """None if nothing ran."""
    changed: tuple[str, ...] = ()
    """Check files that changed since the task began."""
    place: Place | None = None
    runs: tuple[TreeRun, ...] = ()
    """What the check showed on each tree, in the order of the runs."""
    flaky: tuple[str, ...] = ()
    """Tests that failed at first and passed when they ran again."""
    sandboxed: bool = False

    @property
    def ok(self) -> bool:
        return self.status in _NOT_FAILED


_INPUTS = {
    Inputs.UNCHANGED: "check files unchanged",
    Inputs.ALLOWED: "check files changed, which is allowed",
    Inputs.ORIGINALS: "check files changed, so the originals were used, too",
}
_PLACES = {
    Place.HERE: "in place",
    Place.COPY: "in place and in the judge tree",
    Place.ONLY_HERE: "judged here, because it does not pass in a clean tree",
}


_TREES = {
    Tree.HERE: "in place",
    Tree.JUDGE: "in the judge tree",
    Tree.CLAIM: "in the judge tree with all changes",
    Tree.BASE: "new tests on the old code",
    Tree.BEFORE: "without the work",
    Tree.BROKEN: "with unparsable sources",
}
_PASSED = {
    Tree.BASE: "pass as well",
    Tree.BEFORE: "passed as well",
    Tree.BROKEN: "passed as well, so the check shows nothing about the code",
}
"""What a pass means where the check has to fail."""


def _run_text(run: TreeRun) -> str:
    passed = _PASSED.get(run.tree) or (run.counts.text if run.counts else "passed")
    return f"{_TREES[run.tree]}: {passed if run.passed else run.reason or 'failed'}"


def receipt_facts(receipt: Receipt) -> tuple[str, ...]:
    """Return the evidence of a receipt besides its outcome, in words; nothing if no command ran."""
    if receipt.inputs is None or receipt.place is None:
        return ()
    counted = receipt.counts.text if receipt.counts else "judged by its exit status only"
    before = f" (before: {receipt.before.text})" if receipt.counts and receipt.before else ""
    sandbox = "in the sandbox" if receipt.sandboxed else "without a sandbox"
    facts = [f"{counted}{before}", _INPUTS[receipt.inputs], f"{_PLACES[receipt.place]}, {sandbox}"]
    facts += map(_run_text, receipt.runs[1:])
    if receipt.changed:
        facts.insert(2, f"changed: {shortlist(receipt.changed, MOST_SHOWN)}")
    if receipt.failing:
        facts.append(f"failing: {shortlist(receipt.failing, MOST_SHOWN)}")
    return tuple(facts)


MOST_SHOWN = 5
"""How many files or tests a receipt names in one line."""


def _refusal_text(receipt: Receipt) -> str:
    if receipt.source == "evidence":
        return receipt.reason
    if receipt.exit_code == 0 or receipt.place is Place.COPY:
        return f"{receipt.command} does not count as a pass: {receipt.reason}"
    return f"{receipt.command} failed"


class GateResult(Model):
    """The receipts of one run of the gate."""

    task_id: str
    receipts: tuple[Receipt, ...] = ()
    shown: bool = False
    """Whether a command of the task's own criteria passed."""
    unchecked: tuple[str, ...] = ()
    """Criteria in prose, which no command checks."""
    question: str = ""
    """What somebody has to judge because the checks do not show it on product code alone; empty if they do."""
    rests_on: tuple[str, ...] = ()
    """Changed files of the checks without which the checks do not pass."""
    also_changed: tuple[str, ...] = ()
    """Changed files of the checks that made no difference and that nobody has agreed to."""
    for_person: bool = False
    """Whether no reviewer may answer the question, but the plan or the person."""

    @property
    def passed(self) -> bool:
        return all(receipt.ok for receipt in self.receipts)

    @property
    def proven(self) -> tuple[Receipt, ...]:
        passed = ReceiptStatus.PASSED
        return tuple(r for r in self.receipts if r.source != "evidence" and r.status is passed)

    @property
    def verified(self) -> bool:
        """Whether the checks show that the work is done.

        A gate without a passed check verifies nothing. If a check of the project already failed before the
        run, only a command of the task's own criteria counts.
        """
        shown = self.shown or not self._failed_before
        return self.passed and bool(self.proven) and shown and not self.question

    @property
    def failures(self) -> tuple[Receipt, ...]:
        return tuple(r for r in self.receipts if not r.ok)

    @property
    def refusal(self) -> str:
        return ", ".join(map(_refusal_text, self.failures))

    @property
    def changed_checks(self) -> tuple[str, ...]:
        changed = (name for r in self.receipts if r.inputs is Inputs.ALLOWED for name in r.changed)
        return tuple(dict.fromkeys(changed))

    @property
    def basis(self) -> str:
        """The basis of an accepted claim, in one line."""
        count, excused = len(self.proven), len(self._failed_before)
        parts = [f"{plural(count, 'check')} passed"] if count else []
        parts += [f"{excused} failed before this run, too"] if excused else []
        return ", ".join(parts) or "no check could run"

    @property
    def _failed_before(self) -> tuple[Receipt, ...]:
        return tuple(r for r in self.receipts if r.status is ReceiptStatus.RED_BEFORE)

    @property
    def summary(self) -> str:
        return self.basis if self.verified else f"unverified: {self.basis}"

    def verification(self, at: datetime) -> TaskVerification:
        verified = VerificationOutcome.VERIFIED if self.verified else VerificationOutcome.UNVERIFIED
        return TaskVerification(
            outcome=verified,
            at=at,
            reason=self.basis,
            changed_checks=self.changed_checks,
            rests_on=self.rests_on,
            also_changed=self.also_changed,
            flaky=tuple(dict.fromkeys(name for r in self.receipts for name in r.flaky)),
            checks=len(self.proven),
        )


def criterion_text(criterion: Criterion) -> str:
    if isinstance(criterion, CommandCriterion):
        return criterion.description or criterion.command
    return criterion
