"""The state of the steps around the work, `.ralph/steps.json`, and of each step's breaker."""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from ralph_tui.domain.base import Count, Record, Timestamp

STEPS_SCHEMA_VERSION = 1


class StepWhen(StrEnum):
    """When a step runs."""

    ALWAYS = "always"
    TASK_COMPLETE = "task_complete"
    TASK_NOT_COMPLETE = "task_not_complete"
    RUN_END = "run_end"


class StepOutcome(StrEnum):
    """How a step ended."""

    DONE = "done"
    FAILED = "failed"
    SKIPPED = "skipped"
    INTERRUPTED = "interrupted"


def digest_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class StepRecord(Record):
    """The state of one step."""

    done_at: Timestamp | None = None
    """When a run-once step was done; None if it is still to run."""
    done_hash: str = ""
    """The hash of the step's prompt or command at that time."""
    reset_at: Timestamp | None = None
    reset_reason: str = ""
    """Why a person wants the step to run again."""
    failures: Count = 0
    """Failures in a row."""
    open_until: Timestamp | None = None
    """While the step's breaker is open: when it allows one attempt."""
    last_outcome: StepOutcome | None = None
    last_at: Timestamp | None = None
    last_reason: str = ""

    def is_open(self, now: datetime) -> bool:
        """Return whether the step's breaker is open, so that the step does not run."""
        return self.open_until is not None and now < self.open_until


class StepsLeft(Record):
    """The current iteration, and the steps after its work that have not run yet."""

    iteration: Count
    task_id: str = ""
    complete: bool | None = None
    """Whether the work completed its task; None while the work continues."""
    left: tuple[str, ...] = ()

    def without(self, name: str) -> "StepsLeft | None":
        """Return what is left after a step; None after the last one."""
        left = tuple(other for other in self.left if other != name)
        return self.model_copy(update={"left": left}) if left else None


class StepLog(Record):
    """The state of all steps, `.ralph/steps.json`."""

    steps: Mapping[str, StepRecord] = Field(default_factory=dict)
    under_way: StepsLeft | None = None
    running: str = ""
    """The step that runs now, or ran when the run was killed."""

    def of(self, name: str) -> StepRecord:
        return self.steps.get(name, StepRecord())

    def with_step(self, name: str, **changes: object) -> "StepLog":
        changed = self.of(name).model_copy(update=changes)
        return self.model_copy(update={"steps": {**self.steps, name: changed}})

    def at_start(self, known: Collection[str]) -> "StepLog":
        """Return the log for the start of a run: no step runs, every breaker is closed, and unknown steps are not due."""
        closed = {
            name: record.model_copy(update={"failures": 0, "open_until": None})
            for name, record in self.steps.items()
        }
        left = self.under_way
        if left is not None:
            due = tuple(name for name in left.left if name in known)
            left = left.model_copy(update={"left": due}) if due else None
        return self.model_copy(update={"steps": closed, "running": "", "under_way": left})

    def begun(self, name: str) -> "StepLog":
        return self.model_copy(update={"running": name})

    def ended(
        self,
        name: str,
        outcome: StepOutcome,
        reason: str,
        now: datetime,
        threshold: int = 0,
        reset_after: float = 0.0,
    ) -> "StepLog":
        """Return a copy after a step ended, with the step's breaker open if the step failed too often.

        Args:
            threshold: Failures in a row that open the breaker; 0 for a step without breaker.
            reset_after: Seconds until an open breaker allows one attempt.
        """
        before = self.of(name)
        last = {"last_outcome": outcome, "last_at": now, "last_reason": reason}
        match outcome:
            case StepOutcome.DONE:
                changed = self.with_step(name, failures=0, open_until=None, **last)
            case StepOutcome.FAILED:
                failures = before.failures + 1
                opens = 0 < threshold <= failures
                until = now + timedelta(seconds=reset_after) if opens else None
                changed = self.with_step(name, failures=failures, open_until=until, **last)
            case _:
                changed = self.with_step(name, **last)
        return changed.model_copy(update={"running": ""})

    def done_once(self, name: str, digest: str, now: datetime) -> "StepLog":
        return self.with_step(name, done_at=now, done_hash=digest)

    def reset(self, name: str, reason: str, now: datetime) -> "StepLog":
        """Return a copy in which a step is to run again, at a person's request."""
        return self.with_step(
            name,
            done_at=None,
            done_hash="",
            failures=0,
            open_until=None,
            reset_at=now,
            reset_reason=reason,
        )
