"""What a decision is called wherever it waits for the person: the dialog, the header, a notification."""

from ralph_tui.domain.project_state import ApprovalKind

_HEADINGS = {
    ApprovalKind.LIMIT: "limit: shall the loop wait for it?",
    ApprovalKind.UNVERIFIED: "no checks: build these tasks unverified?",
    ApprovalKind.RECOVERY: "breaker: shall one more iteration try?",
}
"""Where approval is not the word."""


def approval_heading(kind: ApprovalKind) -> str:
    """What is asked."""
    return _HEADINGS.get(kind, f"{kind}: waits for your approval")
