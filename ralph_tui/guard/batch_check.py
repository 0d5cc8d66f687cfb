"""Judges a stream of commands, for `ralph guard check --stdin`."""

import json
from collections.abc import Callable, Iterable, Iterator

from ralph_tui.domain.tool_calls import Verdict
from ralph_tui.guard.analysis.judge import judge_command
from ralph_tui.guard.core.policy import PHASE_TOOLS, Policy
from ralph_tui.guard.core.verdicts import EMPTY, denial

Answer = dict[str, str | None]
_EXCERPT_BYTES = 1000


def check_lines(
    lines: Iterable[bytes], policy: Policy, judge: Callable[[str], Verdict] | None = None
) -> Iterator[Answer]:
    """Judge the `command` of each JSON line, in order; an invalid line is denied.

    So is a command that needs the person's permission, because nobody can be asked here. Lines are bytes
    because JSON is UTF-8, whatever the locale.
    """
    for number, line in enumerate(lines, start=1):
        command = _command(line)
        if command is None:
            reason = f'Line {number} is not a JSON object with a text "command"'
            shown = line[:_EXCERPT_BYTES].decode("utf-8", errors="replace").strip()
            yield _answer(denial("bad-input", shown, reason, "Correct the line."), None)
        else:
            answer = check(command, policy, judge)
            asked = answer["verdict"] == "ask"
            yield answer | {"verdict": "deny", "command": None} if asked else answer


def check(command: str, policy: Policy, judge: Callable[[str], Verdict] | None = None) -> Answer:
    if "Bash" not in PHASE_TOOLS[policy.phase]:
        reason = f"The {policy.phase} phase does not allow commands"
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
