"""Judges a stream of commands, for `ralph guard check --stdin`."""

import json
from collections.abc import Callable, Iterable, Iterator

from ralph_tui.domain.tool_calls import Verdict
from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.guard.core.policy import PHASE_TOOLS, Policy
from ralph_tui.guard.core.verdicts import EMPTY, denial

Answer = dict[str, str | None]
_SHOWN = 1000
"""Bytes of a bad line that are looked at for the answer, which shows fewer."""


def check_lines(
    lines: Iterable[bytes], policy: Policy, judge: Callable[[str], Verdict] | None = None
) -> Iterator[Answer]:
    """Answer each JSON line with a `command`, in order; a bad line is a denial too.

    So is what the person is asked about: who reads these lines has nobody to ask. `judge` is one with a
    deadline; without it each command takes as long as it takes.
    Lines are bytes: how a text would be decoded depends on the machine, and JSON is UTF-8.
    """
    for number, line in enumerate(lines, start=1):
        command = _command(line)
        if command is None:
            reason = f'Line {number} is not a JSON object with a text "command"'
            shown = line[:_SHOWN].decode("utf-8", errors="replace").strip()
            yield _answer(denial("bad-input", shown, reason, "Correct the line."), None)
        else:
            answer = check(command, policy, judge)
            asked = answer["verdict"] == "ask"
            yield answer | {"verdict": "deny", "command": None} if asked else answer


def check(command: str, policy: Policy, judge: Callable[[str], Verdict] | None = None) -> Answer:
    """Answer for one command, as a person reads it."""
    if "Bash" not in PHASE_TOOLS[policy.phase]:
        reason = f"The {policy.phase} phase runs no commands"
        verdict = denial("tool-not-in-phase", "Bash", reason, "Use the tools of this phase.")
    elif not command.strip():
        verdict = EMPTY
    else:
        verdict = judge(command) if judge is not None else judge_command(command, policy)
    return _answer(verdict, command)


def _command(line: bytes) -> str | None:
    try:
        value = json.loads(line.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    command = value.get("command") if isinstance(value, dict) else None
    return command if isinstance(command, str) else None


def _answer(verdict: Verdict, command: str | None) -> Answer:
    denied = verdict.decision == "deny"
    runs = None if denied else verdict.command or command
    return {
        "verdict": verdict.decision,
        "command": runs,
        "rule": verdict.rule or None,
        "reason": verdict.message if verdict.reason else None,
    }
