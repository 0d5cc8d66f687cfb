"""Read settings from environment variables."""

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from ralph_tui.config.yaml_reader import Entry
from ralph_tui.domain.errors import ConfigError

VARIABLES: Mapping[str, str] = {
    "RALPH_MAX_ITERATIONS": "phases.building.max_iterations",
    "RALPH_MAX_COST_USD": "safety.cost_limits.total",
    "RALPH_MAX_COST_PER_ITERATION_USD": "safety.cost_limits.per_iteration",
    "RALPH_MAX_COST_PER_SESSION_USD": "safety.cost_limits.per_session",
    "RALPH_CONTEXT_BUDGET_PERCENT": "context.budget_percent",
    "RALPH_HANDOFF_THRESHOLD_PERCENT": "context.handoff_threshold_percent",
    "RALPH_CONTEXT_CAPACITY_TOKENS": "context.capacity_tokens",
    "RALPH_CIRCUIT_BREAKER_FAILURES": "circuit_breaker.max_consecutive_failures",
    "RALPH_CIRCUIT_BREAKER_STAGNATION": "circuit_breaker.max_stagnation_iterations",
    "RALPH_PRIMARY_MODEL": "models.primary",
    "RALPH_PLANNING_MODEL": "models.planning",
    "RALPH_GATE_TIMEOUT_SECONDS": "phases.building.gate_timeout_seconds",
    "RALPH_ITERATION_TIMEOUT_SECONDS": "phases.building.iteration_timeout_seconds",
}
"""The documented variables. An empty variable counts as unset."""

_RALPH_NAME = re.compile(r"RALPH_[A-Z0-9_]+\Z")


def environment_entries(environ: Mapping[str, str]) -> Iterator[Entry]:
    """Yield the settings that environment variables set.

    Raises:
        ConfigError: A variable's name is probably a misspelled setting. Other names that begin with `RALPH_`
            may belong to another program and are ignored.
    """
    for name, value in environ.items():
        if key := VARIABLES.get(name):
            if value.strip():
                yield Entry(key, value.strip(), name)
        elif _RALPH_NAME.match(name) and (found := get_close_matches(name, VARIABLES, 1, 0.85)):
            raise ConfigError(
                f"The environment variable {name} is not a setting.",
                f"Did you mean {found[0]}? Unset {name} if it belongs to another program.",
            )
