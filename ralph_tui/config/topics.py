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
    Topic("Project", "What the project is called and which Python it gets.", ("project.*",)),
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
        ("limits.*", "agent.max_api_retries", "agent.idle_timeout_seconds"),
    ),
    Topic(
        "Model and context",
        "Which models ralph uses, and how much of their context window.",
        ("models.*", "context.*"),
    ),
    Topic(
        "Checks",
        "What must pass before a task counts as complete.",
        ("phases.building.backpressure", "build.*", "phases.building.*"),
    ),
    Topic(
        "Safety and permissions",
        "What the agent may run, connect to and write.",
        ("safety.*", "git.allowed_operations", "agent.setting_sources"),
    ),
    Topic(
        "Questions and approval",
        "When ralph asks you, and how long it waits for an answer.",
        ("phases.discovery.*", "phases.validation.*", "limits.ask_timeout_seconds"),
    ),
    Topic(
        "Plan and features",
        "How plans are made, archived and exported.",
        ("phases.planning.*", "archive.*", "exports"),
    ),
    Topic("Git", "Which branch ralph works on, and what it commits.", ("git.*",)),
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
    Topic("Display and keys", "The theme of the screen and your own keys.", ("screen.*",)),
    Topic(
        "Advanced",
        "How agent sessions are run. The defaults suit most projects.",
        ("agent.*",),
    ),
)
"""The topics in the order of the screen, `ralph config show`, the template and the documentation."""


def by_topic(keys: Iterable[str]) -> dict[str, Topic]:
    """Return the topic of each key, in order. A whole name counts before a pattern that matches a section."""
    places = [
        (at, place, key) for at, topic in enumerate(TOPICS) for place, key in enumerate(topic.keys)
    ]
    places.sort(key=lambda place: place[2].endswith("*"))
    found = {
        key: next((at, place) for at, place, pattern in places if _matches(pattern, key))
        for key in keys
    }
    return {key: TOPICS[found[key][0]] for key in sorted(found, key=lambda key: found[key])}


def _matches(pattern: str, key: str) -> bool:
    start, star, end = pattern.partition("*")
    return key.startswith(start) and key.endswith(end) if star else key == pattern
