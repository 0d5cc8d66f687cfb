"""Judges a shell command: parses it as bash would, judges every part, and rewrites tools to use uv."""

from collections.abc import Mapping

from ralph_tui.domain.tool_calls import ALLOW, Verdict
from ralph_tui.guard.analysis.analyzer import CommandAnalyzer
from ralph_tui.guard.core.policy import PHASE_TOOLS, Policy
from ralph_tui.guard.core.verdicts import EMPTY, SPLIT, DeniedError, ask_verdict, denial, unreadable
from ralph_tui.guard.rules.package_managers import ThroughUv
from ralph_tui.guard.shell.nodes import UnreadableError
from ralph_tui.guard.shell.parser import read_shell

_MAX_LENGTH = 64 * 1024


def judge_command(command: str, policy: Policy) -> Verdict:
    """Decide whether an agent may run `command`, perhaps rewritten. Never raises: a failure is a denial."""
    try:
        return _judge(command, policy)
    except DeniedError as denied:
        return denied.verdict
    except UnreadableError as error:
        return unreadable(command, f"The command cannot be read with certainty ({error})")
    except RecursionError:
        return unreadable(command, "The command is nested too deeply")
    except Exception as error:  # noqa: BLE001 - a mistake of ours must not let a command through
        reason = f"The guard failed on this command ({type(error).__name__}: {error})"
        return denial("guard-failed", command, reason, SPLIT)


def _judge(command: str, policy: Policy) -> Verdict:
    if "\0" in command:
        return unreadable(command, "The command contains a NUL character")
    try:
        size = len(command.encode())
    except UnicodeEncodeError:
        return unreadable(command, "The command is not valid Unicode")
    if size > _MAX_LENGTH:
        return unreadable(command, "The command is longer than 64 KiB")
    walker = _walk(command, policy)
    verdict = _rewritten(command, walker, policy) if walker.tools else ALLOW
    return (
        ask_verdict(verdict, walker.asks) if walker.asks and verdict.decision != "deny" else verdict
    )


def _rewritten(command: str, walker: CommandAnalyzer, policy: Policy) -> Verdict:
    rewritten = _insert_runners(command, walker.tools)
    if _walk(rewritten, policy).tools:
        return unreadable(command, "The command cannot be run through uv run")
    found = sorted(set(walker.tools.values()))
    return Verdict(
        decision="rewrite",
        rule="uv-run",
        part=", ".join(one.tool for one in found),
        reason="The project's tools run in uv's environment",
        instead=f"Use {', '.join(f'`{one}`' for one in found)} next time.",
        command=rewritten,
    )


def _walk(command: str, policy: Policy) -> CommandAnalyzer:
    walker = CommandAnalyzer(command, policy)
    walker.judge_script(read_shell(command), walker.outermost)
    return walker


def _insert_runners(command: str, tools: Mapping[int, ThroughUv]) -> str:
    for place in sorted(tools, reverse=True):
        command = f"{command[:place]}{tools[place].run} {command[place:]}"
    return command


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
