"""Judges one command, for `ralph guard check`."""

from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.guard.core.policy import PHASE_TOOLS, Policy
from ralph_tui.guard.core.verdicts import EMPTY, denial


def check(command: str, policy: Policy) -> dict[str, str | None]:
    if "Bash" not in PHASE_TOOLS[policy.phase]:
        reason = f"The {policy.phase} phase does not allow commands"
        verdict = denial("tool-not-in-phase", "Bash", reason, "Use the tools of this phase.")
    else:
        verdict = judge_command(command, policy) if command.strip() else EMPTY
    denied = verdict.decision == "deny"
    return {
        "verdict": verdict.decision,
        "command": None if denied else verdict.command or command,
        "rule": verdict.rule or None,
        "reason": verdict.message if verdict.reason else None,
    }
