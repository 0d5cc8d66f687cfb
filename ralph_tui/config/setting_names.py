"""List the settings by dotted key, and find the nearest key to an unknown name."""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from ralph_tui.config.settings import Settings
from ralph_tui.config.topics import Topic, by_topic

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
