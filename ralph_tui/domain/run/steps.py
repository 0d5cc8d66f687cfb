"""What ralph knows of the steps around the work, `.ralph/steps.json`, and when a step's breaker is open."""

import hashlib
from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from enum import StrEnum

from pydantic import Field

from ralph_tui.domain.base import Count, Record, Timestamp

STEPS_SCHEMA_VERSION = 1


class StepWhen(StrEnum):
    """After what a step runs."""

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
    """Return the hash of what a step does: its instructions or its command."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


class StepRecord(Record):
    """What is known of one step."""

    done_at: Timestamp | None = None
    """When a step that runs once was done; None: it runs at the next opportunity."""
    done_hash: str = ""
    """Of its prompt or command at that time."""
    reset_at: Timestamp | None = None
    reset_reason: str = ""
    """Why a person wants it to run again."""
    failures: Count = 0
    """Failures in a row."""
    open_until: Timestamp | None = None
    """While its breaker is open: when the step is tried once."""
    last_outcome: StepOutcome | None = None
    last_at: Timestamp | None = None
    last_reason: str = ""

    def is_open(self, now: datetime) -> bool:
        """Return whether the step's breaker keeps it from running."""
        return self.open_until is not None and now < self.open_until


class StepsLeft(Record):
    """The iteration under way, and which steps after its work have not run yet."""

    iteration: Count
    task_id: str = ""
    complete: bool | None = None
    """Whether the work completed its task; None while it is under way."""
    left: tuple[str, ...] = ()


class StepLog(Record):
    """What happened to each step, `.ralph/steps.json`."""

    steps: Mapping[str, StepRecord] = Field(default_factory=dict)
    under_way: StepsLeft | None = None
    running: str = ""
    """The step that runs now, or ran when the run was killed."""

    def of(self, name: str) -> StepRecord:
        """Return what is known of a step; nothing is, before its first run."""
        return self.steps.get(name, StepRecord())

    def having(self, name: str, **changes: object) -> "StepLog":
        """Return the log with this changed for one step; nothing is validated."""
        changed = self.of(name).model_copy(update=changes)
        return self.model_copy(update={"steps": {**self.steps, name: changed}})

    def at_start(self, known: Collection[str]) -> "StepLog":
        """Return the log as a run begins: nothing runs, every breaker is closed, steps that are gone are not due."""
        closed = {
            name: record.model_copy(update={"failures": 0, "open_until": None})
            for name, record in self.steps.items()
        }
        left = self.under_way
        if left is not None:
            still = tuple(name for name in left.left if name in known)
            left = left.model_copy(update={"left": still}) if still else None
        return self.model_copy(update={"steps": closed, "running": "", "under_way": left})

    def begun(self, name: str) -> "StepLog":
        """Return the log while a step runs."""
        return self.model_copy(update={"running": name})

    def ended(
        self,
        name: str,
        outcome: StepOutcome,
        reason: str,
        now: datetime,
        *,
        threshold: int = 0,
        reset_after: float = 0.0,
    ) -> "StepLog":
        """Return the log after a step, with its breaker opened where it has failed too often.

        Args:
            name: The step.
            outcome: How it ended.
            reason: Why, as a clause.
            now: When, in UTC.
            threshold: Failures in a row that open its breaker; 0: it has none.
            reset_after: Seconds until an open breaker lets it try once.
        """
        before = self.of(name)
        last = {"last_outcome": outcome, "last_at": now, "last_reason": reason}
        match outcome:
            case StepOutcome.DONE:
                changed = self.having(name, failures=0, open_until=None, **last)
            case StepOutcome.FAILED:
                failures = before.failures + 1
                opens = 0 < threshold <= failures
                until = now + timedelta(seconds=reset_after) if opens else None
                changed = self.having(name, failures=failures, open_until=until, **last)
            case _:
                changed = self.having(name, **last)
        return changed.model_copy(update={"running": ""})

    def done_once(self, name: str, digest: str, now: datetime) -> "StepLog":
        """Return the log with a step done that runs only once."""
        return self.having(name, done_at=now, done_hash=digest)

    def reset(self, name: str, reason: str, now: datetime) -> "StepLog":
        """Return the log with a step to be run again, because a person says so."""
        return self.having(
            name,
            done_at=None,
            done_hash="",
            failures=0,
            open_until=None,
            reset_at=now,
            reset_reason=reason,
        )

    def without_left(self, name: str) -> "StepLog":
        """Return the log with one step after the work no longer due; the iteration is over with the last."""
        if self.under_way is None:
            return self
        left = tuple(other for other in self.under_way.left if other != name)
        over = not left and self.under_way.complete is not None
        following = None if over else self.under_way.model_copy(update={"left": left})
        return self.model_copy(update={"under_way": following})
