"""List the settings by dotted key, and find the nearest key to an unknown name."""

from collections.abc import Iterable, Iterator, Sequence
from difflib import get_close_matches
from functools import cache
from typing import NamedTuple

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ralph_tui.config.settings import Settings


class Topic(NamedTuple):
    """A group of settings; `*` in a key matches any part of a name."""

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


COST_DESCRIPTIONS = {
    "safety.cost_limits.per_iteration": "Maximum cost of an iteration in US dollars. 0: no limit.",
    "safety.cost_limits.per_session": "Maximum cost of a run in US dollars. 0: no limit.",
    "safety.cost_limits.total": "Maximum cost of all runs of the project in US dollars. 0: no limit.",
}
"""Descriptions of the cost limits, whose domain model has none."""


def _leaves(model: type[BaseModel], prefix: str = "") -> Iterator[tuple[str, FieldInfo]]:
    for name, field in model.model_fields.items():
        inner = field.annotation
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from _leaves(inner, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", field


@cache
def known_keys() -> dict[str, FieldInfo]:
    found = dict(_leaves(Settings))
    return {key: found[key] for key in by_topic(found)}


@cache
def topics() -> dict[str, Topic]:
    return by_topic(known_keys())


@cache
def is_mapping(key: str) -> bool:
    return isinstance(known_keys()[key].get_default(call_default_factory=True), dict)


@cache
def sections() -> frozenset[str]:
    parts = (key.split(".")[:-1] for key in known_keys())
    return frozenset(".".join(path[:depth]) for path in parts for depth in range(len(path) + 1))


def children(section: str) -> tuple[str, ...]:
    prefix = f"{section}." if section else ""
    inside = (key.removeprefix(prefix) for key in known_keys() if key.startswith(prefix))
    return tuple(dict.fromkeys(name.split(".")[0] for name in inside))


def description(key: str) -> str:
    return known_keys()[key].description or COST_DESCRIPTIONS.get(key, "")


def nearest(key: str) -> str | None:
    """Return the setting or section that an unknown `key` most likely means, or None."""
    section, _, name = key.rpartition(".")
    moved = [one for one in (*known_keys(), *sections()) if one.endswith(f".{name}")]
    if not section and len(moved) == 1:  # the whole name, one level too high
        return moved[0]
    if section in sections() and (found := get_close_matches(name, children(section), 1, 0.7)):
        return f"{section}.{found[0]}" if section else found[0]
    by_name = {known.rpartition(".")[2]: known for known in known_keys()}
    if found := get_close_matches(name, by_name, 1, 0.75):
        return by_name[found[0]]
    everything = [*known_keys(), *sorted(sections() - {""})]
    return next(iter(get_close_matches(key, everything, 1, 0.6)), None)
