"""What a decision is about, as a person reads it on every face."""

from collections.abc import Mapping
from types import MappingProxyType

from ralph_tui.domain.state import ApprovalKind

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
