"""Ralph's own record of each completion and what it rests on, stored where an agent cannot write.

A status in the plan file counts only if it is recorded here: the gate ran, or the person decided.
"""

import os
import uuid

from pydantic import Field, ValidationError

from ralph_tui.domain.base import Record, Timestamp
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.verification import TaskVerification, VerificationOutcome
from ralph_tui.store.backup.mirror import mirror_of
from ralph_tui.store.io.files import DamagedError, append_durable, read_regular, utc_now
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import refuse_agent

NAME = "receipts.jsonl"


class CompletionReceipt(Record):
    """One completion of one task."""

    id: str
    task_id: str
    outcome: VerificationOutcome
    at: Timestamp
    by: str = ""
    reason: str = ""
    feature: str = Field(default="", exclude_if=lambda name: not name)


class ReceiptBook:
    """The completion records of one project. Adding one blocks on the disk."""

    def __init__(self, layout: Layout) -> None:
        """Address the records; nothing is read yet."""
        self._layout = layout
        self._known: dict[str, CompletionReceipt] = {}
        self._seen: tuple[int, int, int] | None = None

    def record(self, task_id: str, rests: TaskVerification) -> TaskVerification:
        """Record a completion before the plan says so; returns it with the record's id.

        The verification is returned unchanged when no record can be written, and to an agent, which may write none.
        """
        receipt = CompletionReceipt(
            id=uuid.uuid4().hex[:16],
            task_id=task_id,
            outcome=rests.outcome,
            at=rests.at or utc_now(),
            by=rests.by,
            reason=rests.reason,
            feature=self._layout.feature,
        )
        try:
            refuse_agent(self._layout)
            directory = mirror_of(self._layout.root)
            if not directory.is_dir():
                return rests
            append_durable(directory / NAME, receipt.model_dump_json().encode() + b"\n")
        except StoreError:
            return rests  # the mirror has reported already that it cannot keep a copy
        return rests.model_copy(update={"receipt": receipt.id})

    def copy_for(self, other: Layout) -> None:
        """Record the feature's completions for another name that it is about to get, too.

        Raises:
            StoreError: The disk does not allow it.
        """
        if not self.can_be_kept:
            return
        own = [r for r in self._read().values() if r.feature == self._layout.feature]
        renamed = (r.model_copy(update={"feature": other.feature}) for r in own)
        lines = b"".join(receipt.model_dump_json().encode() + b"\n" for receipt in renamed)
        if lines:
            append_durable(mirror_of(self._layout.root) / NAME, lines)

    def unrecorded(self, plan: ImplementationPlan) -> tuple[Task, ...]:
        """List the complete tasks that ralph has no record of; none where no record can be kept."""
        if not self.can_be_kept:
            return ()
        complete = (task for task in plan.tasks if task.status is TaskStatus.COMPLETE)
        return tuple(task for task in complete if not self.has_record_of(task))

    @property
    def can_be_kept(self) -> bool:
        """Whether a place for the records exists."""
        try:
            return os.access(mirror_of(self._layout.root), os.W_OK)
        except StoreError:
            return False

    def has_record_of(self, task: Task) -> bool:
        """Return whether the record contains the completion that the plan claims."""
        rests = task.verification
        found = self._read().get(rests.receipt) if rests is not None else None
        return (
            found is not None
            and rests is not None
            and (found.task_id, found.outcome, found.feature)
            == (task.id, rests.outcome, self._layout.feature)
        )

    def _read(self) -> dict[str, CompletionReceipt]:
        try:
            path = mirror_of(self._layout.root) / NAME
            info = path.stat()
            seen = (info.st_mtime_ns, info.st_size, info.st_ino)
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


def _parsed(line: bytes) -> CompletionReceipt | None:
    try:
        return CompletionReceipt.model_validate_json(line)
    except ValidationError:
        return None
