"""How a run, an iteration, a session and a tool call ended."""

from enum import StrEnum


class LoopStatus(StrEnum):
    """How a run of the loop ended."""

    COMPLETE = "complete"
    STOPPED = "stopped"
    USAGE_LIMIT = "usage_limit"
    ERROR = "error"
    INTERRUPTED = "interrupted"
    WAITING = "waiting_for_approval"


class IterationOutcome(StrEnum):
    """How one iteration ended."""

    COMPLETE = "complete"
    INCOMPLETE = "incomplete"
    BLOCKED = "blocked"
    HANDED_OFF = "handed_off"
    FAILED = "failed"
    INTERRUPTED = "interrupted"
    SKIPPED = "skipped"
    SENT_BACK = "sent_back"
    """The validation found more work to do."""


class FailureClass(StrEnum):
    """Why the agent stopped."""

    AUTHENTICATION = "authentication"
    BILLING = "billing"
    USAGE_LIMIT = "usage_limit"
    OVERLOADED = "overloaded"
    NETWORK = "network"
    BAD_REQUEST = "bad_request"
    SPOILED_SESSION = "spoiled_session"
    CONTEXT_FULL = "context_full"
    BUDGET = "budget"
    MAX_TURNS = "max_turns"
    REFUSAL = "refusal"
    CLI_DIED = "cli_died"
    CLI_SILENT = "cli_silent"
    SETUP = "setup"
    UNKNOWN = "unknown"

    @property
    def is_outage(self) -> bool:
        return self in (FailureClass.OVERLOADED, FailureClass.NETWORK)

    @property
    def passes(self) -> bool:
        return self.is_outage or self is FailureClass.USAGE_LIMIT


class ToolOutcome(StrEnum):
    """How a tool call ended."""

    OK = "ok"
    ERROR = "error"
    DENIED = "denied"
    INTERRUPTED = "interrupted"
