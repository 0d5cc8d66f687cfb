"""Record each completion and its evidence where an agent cannot write.

A task in the plan file counts as complete only if it is recorded here: the gate ran, or the person decided.
"""

import os
import uuid

from pydantic import Field, ValidationError

from ralph_tui.domain.base import Record, Timestamp
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.verification import TaskVerification, VerificationOutcome
from ralph_tui.store.backup.mirror import mirror_of
from ralph_tui.store.io.files import (
    DamagedError,
    append_durable,
    file_signature,
    read_regular,
    utc_now,
)
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import refuse_agent

NAME = "receipts.jsonl"


class CompletionRecord(Record):
    """The record of one completion of a task."""

    id: str
    task_id: str
    outcome: VerificationOutcome
    at: Timestamp
    by: str = ""
    reason: str = ""
    feature: str = Field(default="", exclude_if=lambda name: not name)


class CompletionBook:
    """The completion records of one project. Writing one blocks on the disk."""

    def __init__(self, layout: Layout) -> None:
        self._layout = layout
        self._known: dict[str, CompletionRecord] = {}
        self._seen: tuple[int, int, int] | None = None

    def record(self, task_id: str, verification: TaskVerification) -> TaskVerification:
        """Record a completion before it is written to the plan; return the verification with the record's id.

        The verification is returned unchanged when the record cannot be written, or when an agent calls this.
        """
        receipt = CompletionRecord(
            id=uuid.uuid4().hex[:16],
            task_id=task_id,
            outcome=verification.outcome,
            at=verification.at or utc_now(),
            by=verification.by,
            reason=verification.reason,
            feature=self._layout.feature,
        )
        try:
            refuse_agent(self._layout)
            directory = mirror_of(self._layout.root)
            if not directory.is_dir():
                return verification
            append_durable(directory / NAME, receipt.model_dump_json().encode() + b"\n")
        except StoreError:
            return verification  # the mirror has already reported that it cannot keep a copy
        return verification.model_copy(update={"receipt": receipt.id})

    def unrecorded(self, plan: ImplementationPlan) -> tuple[Task, ...]:
        """Return the complete tasks without a record, or nothing where no records can be kept."""
        try:
            if not os.access(mirror_of(self._layout.root), os.W_OK):
                return ()
        except StoreError:
            return ()
        complete = (task for task in plan.tasks if task.status is TaskStatus.COMPLETE)
        return tuple(task for task in complete if not self.has_record_of(task))

    def has_record_of(self, task: Task) -> bool:
        verification = task.verification
        found = self._read().get(verification.receipt) if verification is not None else None
        return (
            found is not None
            and verification is not None
            and (found.task_id, found.outcome, found.feature)
            == (task.id, verification.outcome, self._layout.feature)
        )

    def _read(self) -> dict[str, CompletionRecord]:
        try:
            path = mirror_of(self._layout.root) / NAME
            seen = file_signature(path)
            if seen == self._seen:
                return self._known
            data = read_regular(path) or b""
        except (OSError, DamagedError, StoreError):
            return {}
        self._known = {
            receipt.id: receipt for receipt in map(_parsed, data.splitlines()) if receipt
        }
        self._seen = seen
        return self._known


def _parsed(line: bytes) -> CompletionRecord | None:
    try:
        return CompletionRecord.model_validate_json(line)
    except ValidationError:
        return None
