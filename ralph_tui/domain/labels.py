"""Labels for how a run ended and why the agent failed."""

from collections.abc import Mapping
from types import MappingProxyType

from ralph_tui.domain.outcomes import FailureClass, LoopStatus

ENDS: Mapping[LoopStatus, str] = MappingProxyType(
    {
        LoopStatus.COMPLETE: "complete",
        LoopStatus.STOPPED: "stopped",
        LoopStatus.USAGE_LIMIT: "usage limit",
        LoopStatus.WAITING: "waiting for approval",
        LoopStatus.ERROR: "failed",
        LoopStatus.INTERRUPTED: "interrupted",
    }
)
"""How a run ended, in words."""

FAILURES: Mapping[FailureClass, str] = MappingProxyType(
    {
        FailureClass.AUTHENTICATION: "login",
        FailureClass.BILLING: "billing",
        FailureClass.USAGE_LIMIT: "usage limit",
        FailureClass.OVERLOADED: "service busy",
        FailureClass.NETWORK: "network",
        FailureClass.BAD_REQUEST: "request rejected",
        FailureClass.SPOILED_SESSION: "session rejected",
        FailureClass.CONTEXT_FULL: "context full",
        FailureClass.BUDGET: "cost limit",
        FailureClass.MAX_TURNS: "too many turns",
        FailureClass.REFUSAL: "model refused",
        FailureClass.CLI_DIED: "Claude Code ended",
        FailureClass.CLI_SILENT: "Claude Code silent",
        FailureClass.SETUP: "not set up",
        FailureClass.UNKNOWN: "failed",
    }
)
"""Why the agent could not continue, in a few words."""
