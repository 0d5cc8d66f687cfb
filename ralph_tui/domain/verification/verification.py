"""The gate's vocabulary: criteria, the receipts of checking them, and what a completion rests on."""

from datetime import datetime
from enum import StrEnum
from typing import Literal

from ralph_tui.domain.base import Amount, Count, Model, Record, Timestamp
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.verification.test_counts import TestCounts


class CommandCriterion(Record):
    """A verification criterion written as an object with a command."""

    command: str
    description: str = ""


Criterion = str | CommandCriterion


class VerificationOutcome(StrEnum):
    """What the completion of a task rests on."""

    VERIFIED = "verified"
    """A command of the gate passed for it."""
    UNVERIFIED = "unverified"
    """No check could run, and the person allowed that."""
    REVIEWED = "reviewed"
    """A reviewer session agreed, with evidence; no command covers its criteria."""
    ACCEPTED = "accepted"
    """The person decided."""


class TaskVerification(Record):
    """What the completion of one task rests on, as the plan file keeps it."""

    outcome: VerificationOutcome
    at: Timestamp | None = None
    by: str = ""
    """Who decided: empty for ralph's own gate."""
    reason: str = ""
    """One line: what passed, or why nothing could run."""
    receipt: str = ""
    """The id of ralph's own record of it; empty where there is none."""
    changed_checks: tuple[str, ...] = ()
    """Check files that were allowed to change, with what happened to each."""
    checks: Count = 0
    """Checks that passed; 0 also where an older ralph did not count them."""

    @classmethod
    def decided_by_person(cls, reason: str, at: Timestamp) -> "TaskVerification":
        """Return what a completion rests on that the person decided."""
        return cls(outcome=VerificationOutcome.ACCEPTED, at=at, by="person", reason=reason)


class AllowedCheckChange(Record):
    """A change of a check file that the person allowed, for exactly the content they saw."""

    path: str
    digest: str
    """SHA-256 of the content; empty: the file is gone."""


class ReceiptStatus(StrEnum):
    """How a check ended."""

    PASSED = "passed"
    FAILED = "failed"
    TIMED_OUT = "timed_out"
    DENIED = "denied"
    SKIPPED = "skipped"
    RED_BEFORE = "red_before"
    """It failed, as it did before the run, and nothing is worse."""


_NOT_HELD = frozenset({ReceiptStatus.PASSED, ReceiptStatus.SKIPPED, ReceiptStatus.RED_BEFORE})


class Inputs(StrEnum):
    """What is known of a check's own files: its tests, what it names, and what steers its runner."""

    UNCHANGED = "unchanged"
    """As they were when the task began."""
    ALLOWED = "changed_allowed"
    """Changed, and allowed to change."""
    ORIGINALS = "originals_used"
    """Changed; the check passes as it is and with the originals put back, or it is refused."""


class Place(StrEnum):
    """Where a check ran."""

    HERE = "in_place"
    COPY = "in_place_and_copy"
    """In the project, and in a clean copy with the original check files."""


class Receipt(Model):
    """Proof of one check: what ran, how it ended, and the end of what it printed."""

    command: str
    source: Literal["backpressure", "criterion", "evidence"]
    status: ReceiptStatus
    exit_code: int | None = None
    seconds: Amount = 0.0
    tail: str = ""
    reason: str = ""
    counts: TestCounts | None = None
    """What the runner counted; None where a check is known by its exit status only."""
    before: TestCounts | None = None
    """The counts of the last run that passed, or of the original check files."""
    failing: tuple[str, ...] = ()
    """Names of tests that failed."""
    inputs: Inputs | None = None
    """None where nothing ran."""
    changed: tuple[str, ...] = ()
    """Check files that are not as they were when the task began."""
    place: Place | None = None
    sandboxed: bool = False

    @property
    def ok(self) -> bool:
        """A skipped check does not fail the gate, nor one that was red before; both say why."""
        return self.status in _NOT_HELD


_INPUTS = {
    Inputs.UNCHANGED: "check files unchanged",
    Inputs.ALLOWED: "check files changed, which is allowed",
    Inputs.ORIGINALS: "check files changed, so the originals were used as well",
}
_PLACES = {Place.HERE: "in place", Place.COPY: "in place and in a clean copy"}


def receipt_facts(receipt: Receipt) -> tuple[str, ...]:
    """Return what a receipt rests on beside its outcome, as a person reads it; nothing where no command ran."""
    if receipt.inputs is None or receipt.place is None:
        return ()
    counted = receipt.counts.text if receipt.counts else "known by its exit status only"
    before = f" (before: {receipt.before.text})" if receipt.counts and receipt.before else ""
    held = "in the sandbox" if receipt.sandboxed else "without a sandbox"
    facts = [f"{counted}{before}", _INPUTS[receipt.inputs], f"{_PLACES[receipt.place]}, {held}"]
    if receipt.changed:
        facts.insert(2, f"changed: {shortlist(receipt.changed, MOST_SHOWN)}")
    if receipt.failing:
        facts.append(f"failing: {shortlist(receipt.failing, MOST_SHOWN)}")
    return tuple(facts)


MOST_SHOWN = 5
"""Files and tests that a receipt names in one line."""


def _refused_by(receipt: Receipt) -> str:
    if receipt.source == "evidence":
        return receipt.reason
    if receipt.exit_code == 0 or receipt.place is Place.COPY:
        return f"{receipt.command} is no pass: {receipt.reason}"
    return f"{receipt.command} failed"


class GateResult(Model):
    """All receipts of one run of the gate."""

    task_id: str
    receipts: tuple[Receipt, ...] = ()
    shown: bool = False
    """Whether a command of the task's own criteria passed."""
    unchecked: tuple[str, ...] = ()
    """Criteria in prose: kept for the model and for validation, not run."""

    @property
    def passed(self) -> bool:
        """No check failed."""
        return all(receipt.ok for receipt in self.receipts)

    @property
    def proven(self) -> tuple[Receipt, ...]:
        """The commands that ran and passed."""
        passed = ReceiptStatus.PASSED
        return tuple(r for r in self.receipts if r.source != "evidence" and r.status is passed)

    @property
    def verified(self) -> bool:
        """Whether the checks show that the work is done.

        A gate that ran nothing verified nothing; and where a check of the project was red before, only a
        command of the task's own shows anything.
        """
        return self.passed and bool(self.proven) and (self.shown or not self._excused)

    @property
    def failures(self) -> tuple[Receipt, ...]:
        """The checks that did not pass."""
        return tuple(r for r in self.receipts if not r.ok)

    @property
    def refusal(self) -> str:
        """Why the claim is refused, in one line."""
        return ", ".join(map(_refused_by, self.failures))

    @property
    def changed_checks(self) -> tuple[str, ...]:
        """Check files that changed with permission, each once."""
        changed = (name for r in self.receipts if r.inputs is Inputs.ALLOWED for name in r.changed)
        return tuple(dict.fromkeys(changed))

    @property
    def basis(self) -> str:
        """What a claim that was accepted rests on, in one line."""
        count, excused = len(self.proven), len(self._excused)
        parts = [f"{plural(count, 'check')} passed"] if count else []
        parts += [f"{excused} failed before this run, too"] if excused else []
        return ", ".join(parts) or "no check could run"

    @property
    def _excused(self) -> tuple[Receipt, ...]:
        return tuple(r for r in self.receipts if r.status is ReceiptStatus.RED_BEFORE)

    @property
    def told(self) -> str:
        """The same, and that it is no verification when it is none."""
        return self.basis if self.verified else f"unverified: {self.basis}"

    def verification(self, at: datetime) -> TaskVerification:
        """Return what the task's completion rests on, for the plan."""
        verified = VerificationOutcome.VERIFIED if self.verified else VerificationOutcome.UNVERIFIED
        return TaskVerification(
            outcome=verified,
            at=at,
            reason=self.basis,
            changed_checks=self.changed_checks,
            checks=len(self.proven),
        )


def criterion_text(criterion: Criterion) -> str:
    """Return a criterion as a person reads it."""
    if isinstance(criterion, CommandCriterion):
        return criterion.description or criterion.command
    return criterion
