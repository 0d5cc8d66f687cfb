"""What an iteration came to."""

from ralph_tui.domain.circles import Files
from ralph_tui.domain.events import IterationOutcome
from ralph_tui.domain.model import Count, Model, Money
from ralph_tui.engine.ports import Failure


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
    seconds: Money = 0.0
    files: tuple[str, ...] = ()
    output_tokens: Count = 0
    denied: str = ""
    tests_only: bool = False
    refused_claim: bool = False
    contents: Files = Files()
    """The project's files before the iteration and after it."""
