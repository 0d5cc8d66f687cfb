"""Lets an agent look at its loop, not steer it or decide for the person."""

from ralph_tui.guard.core.arguments import names, parse
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.core.verdicts import deny

RALPH = names("ralph ralph-tui ralph-agent")
MODULE = "ralph_tui"

_LOOKS = names(
    "status tasks history metrics replay doctor test lint typecheck deps guard demo schema --help --version"
)
_BARE = names("limits breaker answer feature task")
"""These only show something when nothing follows."""
_SHOWS = {
    "archive": names("--list"),
    "config": names("show path"),
    "feature": names("list"),
    "memory": names("--show --stats"),
}
"""What follows first, when it only shows something."""
_BESIDE = names("--json -C --project-root -f --feature")
"""Options that may stand beside it; another, such as `memory --show --cleanup`, may change something."""


AGENTS = names(
    "claude claude-code codex gemini gemini-cli aider aider-chat opencode cursor-agent qwen qwen-code"
    " copilot crush amp-cli"
)
"""Other agents, which would work without a guard."""
_AGENT_LOOKS = names("--version -v --help -h -V version doctor")


def judge_agent(given: Invocation) -> None:
    """Refuse to start another agent.

    Raises:
        DeniedError: The command does more than ask for its version.
    """
    words = [word.text for word in given.arguments]
    if not words or words[0] not in _AGENT_LOOKS:
        reason = "This starts another agent outside the guard"
        deny("other-agent", given.shown, reason, "Do the work yourself, or use the Task tool.")


def judge_ralph(given: Invocation) -> None:
    """Refuse what starts, steers or answers a loop.

    Raises:
        DeniedError: It does, or may.
    """
    words = [word.text for word in given.arguments]
    options = parse(given.arguments)
    verb, rest = (words[0], words[1:]) if words else ("", [])
    only_shown = verb in _BARE and not rest
    shown = verb in _SHOWS and _only_shows(rest, _SHOWS[verb])
    strays = options.has("--end-strays")
    if not strays and (options.has("--help") or verb in _LOOKS or only_shown or shown):
        return
    deny(
        "ralph-steering",
        given.shown,
        "This steers the loop or decides for the person",
        "Use the ralph_* tools for your task; the person decides the rest.",
    )


def _only_shows(rest: list[str], shows: frozenset[str]) -> bool:
    if not rest:
        return True
    dashed = (word.partition("=")[0] for word in rest[1:] if word.startswith("-"))
    return rest[0] in shows and all(word in _BESIDE or word in shows for word in dashed)
