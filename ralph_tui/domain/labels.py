"""Names people read for decisions, phases and the ends of runs and sessions."""

from collections.abc import Mapping
from types import MappingProxyType

from ralph_tui.domain.events import FailureClass, LoopStatus
from ralph_tui.domain.project_state import ApprovalKind

DECISIONS: Mapping[ApprovalKind, str] = MappingProxyType(
    {
        ApprovalKind.SPECS: "the specs",
        ApprovalKind.PLAN: "the plan",
        ApprovalKind.VALIDATION: "the validation",
        ApprovalKind.RECOVERY: "one more try",
        ApprovalKind.LIMIT: "the wait for the limit",
        ApprovalKind.UNVERIFIED: "building without checks",
    }
)
"""What is agreed to: your approval of …, approved: …"""


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
"""How a run ended."""

FAILURES: Mapping[FailureClass, str] = MappingProxyType(
    {
        FailureClass.AUTHENTICATION: "login",
        FailureClass.BILLING: "billing",
        FailureClass.USAGE_LIMIT: "usage limit",
        FailureClass.OVERLOADED: "service busy",
        FailureClass.NETWORK: "network",
        FailureClass.BAD_REQUEST: "request refused",
        FailureClass.CONTEXT_FULL: "context full",
        FailureClass.BUDGET: "cost limit",
        FailureClass.MAX_TURNS: "too many turns",
        FailureClass.REFUSAL: "model refuses",
        FailureClass.CLI_DIED: "Claude Code ended",
        FailureClass.CLI_SILENT: "Claude Code silent",
        FailureClass.SETUP: "not set up",
        FailureClass.UNKNOWN: "failed",
    }
)
"""Why the agent could not go on, in two words."""
