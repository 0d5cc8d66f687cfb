"""What an iteration came to."""

from ralph_tui.domain.base import Amount, Count, Model
from ralph_tui.domain.documents.memory import MemoryNote
from ralph_tui.domain.events import FailureClass, IterationOutcome
from ralph_tui.domain.run.costs import Money
from ralph_tui.domain.run.oscillation import Files
from ralph_tui.engine.ports import Failure

NOT_THE_TASKS_FAULT = frozenset(
    {
        FailureClass.AUTHENTICATION,
        FailureClass.BILLING,
        FailureClass.USAGE_LIMIT,
        FailureClass.OVERLOADED,
        FailureClass.NETWORK,
        FailureClass.BAD_REQUEST,
        FailureClass.CLI_DIED,
        FailureClass.CLI_SILENT,
        FailureClass.SETUP,
    }
)
"""Failures that say nothing about the task, so they cost it no attempt."""


def is_the_tasks(failure: Failure | None) -> bool:
    """Whether an iteration that ended so says something about its task."""
    return failure is None or failure.kind not in NOT_THE_TASKS_FAULT


class IterationResult(Model):
    """What the loop records of an iteration."""

    outcome: IterationOutcome
    reason: str
    session_id: str = ""
    failure: Failure | None = None
    counts_as_retry: bool = False
    handed_off: bool = False
    cost_usd: Money = 0.0
    tokens: Count = 0
    context_tokens: Count = 0
    seconds: Amount = 0.0
    files: tuple[str, ...] = ()
    output_tokens: Count = 0
    denied: str = ""
    note: MemoryNote | None = None
    """What the model wrote down for later sessions."""
    dependencies: tuple[str, ...] = ()
    """Commands that add what was declared since the session began."""
    tests_only: bool = False
    refused_claim: bool = False
    failed_checks: str = ""
    """What the refused claim failed at, for the next attempt."""
    contents: Files = Files()
    """The project's files before the iteration and after it."""
