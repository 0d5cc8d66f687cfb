"""The verdict on a shell command (first cut: only plain words; the reader follows)."""

import re

from ralph_tui.domain.tools import ALLOW, Verdict
from ralph_tui.guard.policy import Policy
from ralph_tui.guard.verdicts import unreadable

_PLAIN = re.compile(r"(?:uv|ls|cat|mkdir|echo|python3?)(?: [\w./=:-]+)*")


def judge_command(command: str, policy: Policy) -> Verdict:
    """Whether an agent may run `command`, and as what; never raises."""
    return ALLOW if _PLAIN.fullmatch(command) else unreadable(command)
