"""Group the settings by topic. Every list of settings uses this order."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Topic(NamedTuple):
    """A group of settings.

    Attributes:
        name: Its heading.
        about: What its settings control, in one sentence.
        keys: The settings, in order. `*` matches any part of a name.
    """

    name: str
    about: str
    keys: Sequence[str]


TOPICS = (
    Topic(
        "Project",
        "What the project is called and which Python it gets.",
        ("project.*",),
    ),
    Topic(
        "Loop and limits",
        "How long a run may work, and when it stops because nothing improves.",
        (
            "phases.building.max_iterations",
            "phases.building.iteration_timeout_seconds",
            "limits.max_attempts_per_task",
            "limits.max_iterations_per_task",
            "phases.validation.max_rounds",
            "circuit_breaker.*",
        ),
    ),
    Topic(
        "Cost",
        "What an iteration, a run and the project may spend.",
        ("safety.cost_limits.*", "limits.stop_at_allowance_percent"),
    ),
    Topic(
        "Usage limits and outages",
        "What a run does at a usage limit, and when the service is slow or unreachable.",
        (
            "limits.on_usage_limit",
            "limits.max_wait_minutes",
            "limits.fallback_wait_minutes",
            "limits.rate_limit_per_hour",
            "limits.backoff_seconds",
            "limits.max_outage_minutes",
            "agent.max_api_retries",
            "agent.idle_timeout_seconds",
        ),
    ),
    Topic(
        "Model and context",
        "Which models ralph uses, and how much of their context window.",
        ("models.*", "context.*"),
    ),
    Topic(
        "Checks",
        "What must pass before a task counts as complete.",
        (
            "phases.building.backpressure",
            "build.test_command",
            "build.lint_command",
            "build.typecheck_command",
            "phases.building.gate_timeout_seconds",
            "phases.building.baseline",
            "phases.building.recheck_finished",
            "phases.building.review",
            "phases.building.allow_unverified",
            "phases.building.promise",
            "build.*",
        ),
    ),
    Topic(
        "Safety and permissions",
        "What the agent may run, connect to and write.",
        (
            "safety.sandbox",
            "safety.sandbox_domains",
            "safety.sandbox_writable",
            "safety.sandbox_exceptions",
            "safety.check_environment",
            "safety.blocked_commands",
            "safety.ask_commands",
            "git.allowed_operations",
            "agent.setting_sources",
            "safety.*",
        ),
    ),
    Topic(
        "Questions and approval",
        "When ralph asks you, and how long it waits for an answer.",
        (
            "phases.discovery.human_in_loop",
            "phases.discovery.max_questions",
            "phases.validation.require_human_approval",
            "limits.ask_timeout_seconds",
        ),
    ),
    Topic(
        "Plan and features",
        "How plans are made, archived and exported.",
        ("phases.planning.task_size_tokens", "phases.planning.dependency_analysis", "archive.*", "exports"),
    ),
    Topic(
        "Git",
        "Which branch ralph works on, and what it commits.",
        ("git.branch", "git.branch_prefix", "git.protected_branches", "git.commit", "git.*"),
    ),
    Topic(
        "Steps, servers and skills",
        "Your own steps, MCP servers and skills.",
        ("steps", "phases.*.mcp_servers", "phases.*.skills", "phases.*.without_tools"),
    ),
    Topic(
        "Notifications",
        "How ralph notifies you while you are away.",
        ("notify.*", "screen.notifications"),
    ),
    Topic(
        "Display and keys",
        "The theme of the screen and your own keys.",
        ("screen.theme", "screen.keys", "screen.*"),
    ),
    Topic(
        "Advanced",
        "How agent sessions are run. The defaults suit most projects.",
        ("agent.*", "limits.*", "phases.*"),
    ),
)  # fmt: skip
"""The topics in the order of the screen, `ralph config show`, the template and the documentation.

The patterns at the end of a topic match settings that are added to a section later.
"""


def by_topic(keys: Iterable[str]) -> dict[str, Topic]:
    exact = {
        key: (at, place) for at, topic in enumerate(TOPICS) for place, key in enumerate(topic.keys)
    }
    found = {key: exact.get(key) or _first_match(key) for key in keys}
    return {key: TOPICS[found[key][0]] for key in sorted(found, key=lambda key: found[key])}


def _first_match(key: str) -> tuple[int, int]:
    for at, topic in enumerate(TOPICS):
        for place, pattern in enumerate(topic.keys):
            start, star, end = pattern.partition("*")
            if star and key.startswith(start) and key.endswith(end):
                return at, place
    msg = f"no topic has the setting {key}"
    raise LookupError(msg)
