"""Lets an agent inspect its loop, but not steer it or decide for the person."""

from ralph_tui.guard.core.arguments import names, parse
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.core.verdicts import deny

RALPH = names("ralph ralph-tui ralph-agent")
MODULE = "ralph_tui"

_READING_COMMANDS = names(
    "status tasks history doctor test lint typecheck deps guard demo schema --help --version"
)
_READING_WHEN_BARE = names("limits answer feature steps task")
_READING_FIRST_WORDS = {
    "archive": names("--list"),
    "config": names("show"),
    "feature": names("list"),
    "memory": names("--show --stats"),
}
_HARMLESS_OPTIONS = names("--json -C --project-root -f --feature")
"""Options that may follow; another, as in `memory --show --cleanup`, may change something."""


AGENTS = names(
    "claude claude-code codex gemini gemini-cli aider aider-chat opencode cursor-agent qwen qwen-code"
    " copilot crush amp-cli"
)
_AGENT_INFORMATION = names("--version -v --help -h -V version doctor")


def judge_agent(call: Invocation) -> None:
    words = [word.text for word in call.arguments]
    if not words or words[0] not in _AGENT_INFORMATION:
        reason = "This starts another agent outside the guard"
        deny("other-agent", call.shown, reason, "Do the work yourself, or use the Task tool.")


def judge_ralph(call: Invocation) -> None:
    words = [word.text for word in call.arguments]
    options = parse(call.arguments)
    verb, rest = (words[0], words[1:]) if words else ("", [])
    only_shown = verb in _READING_WHEN_BARE and not rest
    shown = verb in _READING_FIRST_WORDS and _only_shows(rest, _READING_FIRST_WORDS[verb])
    ends_orphans = options.has("--end-strays")
    if not ends_orphans and (
        options.has("--help") or verb in _READING_COMMANDS or only_shown or shown
    ):
        return
    deny(
        "ralph-steering",
        call.shown,
        "This controls the loop or decides for the person",
        "Use the ralph_* tools for your task. The person decides the rest.",
    )


def _only_shows(rest: list[str], shows: frozenset[str]) -> bool:
    if not rest:
        return True
    dashed = (word.partition("=")[0] for word in rest[1:] if word.startswith("-"))
    return rest[0] in shows and all(word in _HARMLESS_OPTIONS or word in shows for word in dashed)
