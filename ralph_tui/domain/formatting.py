"""Format durations, counts and lists of names, the same way everywhere."""

from collections.abc import Mapping, Sequence

from ralph_tui.domain.outcomes import FailureClass

FAILURES: Mapping[FailureClass, str] = {
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
"""Why the agent could not continue, in a few words."""


MINUTE, HOUR, DAY = 60, 3_600, 86_400


def duration(seconds: float, *, tenths: bool = False) -> str:
    """Format a duration in at most seven characters: `4s`, `1m 05s`, `2h 03m`, `3d 04h`, and `0.4s` with `tenths`."""
    if tenths and seconds < 9.95:
        return f"{max(0.0, seconds):.1f}s"
    whole = round(max(0.0, seconds))
    if whole < MINUTE:
        return f"{whole}s"
    if whole < HOUR:
        return f"{whole // MINUTE}m {whole % MINUTE:02d}s"
    if whole < DAY:
        return f"{whole // HOUR}h {whole % HOUR // MINUTE:02d}m"
    return f"{whole // DAY}d {whole % DAY // HOUR:02d}h"


def plural(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def shortlist(names: Sequence[str], most: int) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def took(seconds: float) -> str:
    return duration(seconds, tenths=True)
