"""The features of a project: their names, records and shared costs."""

import re
from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple

from pydantic import Field

from ralph_tui.domain.base import Count, Record, Timestamp
from ralph_tui.domain.costs import Money, plus
from ralph_tui.domain.project_state import Phase
from ralph_tui.domain.run.rate_limit import RequestRate

FEATURES_SCHEMA_VERSION = 1

UNNAMED = "."
"""What a person types for the plan without a name where a feature's name is expected."""

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

NAME_RULE = (
    "A name has at most 64 lowercase letters, digits, dots, dashes and underscores, "
    "and begins with a letter or a digit."
)


def is_name(text: str) -> bool:
    return NAME.fullmatch(text) is not None


def shown_name(feature: str) -> str:
    return feature or UNNAMED


class FeatureRecord(Record):
    """The project's record of one feature. Everything else is in the feature's folder."""

    created_at: Timestamp | None = None
    branch: str = ""
    """The branch that the feature is worked on; empty for the plan without a name."""
    cost_usd: Money = 0.0
    tokens: Count = 0
    requests: RequestRate = Field(default_factory=RequestRate)
    """Model requests of the last hour."""


class ProjectFeatures(Record):
    """The list of features, `.ralph/project.json`. A project with a single plan has no such file.

    A feature exists as long as its folder does. Its cost is kept here even when the folder is gone.
    """

    schema_version: int = FEATURES_SCHEMA_VERSION
    active: str = ""
    """The feature that commands use by default; empty for the plan without a name."""
    features: Mapping[str, FeatureRecord] = Field(default_factory=dict)
    """Records by name; the plan without a name has the empty name."""

    @property
    def exists(self) -> bool:
        return bool(self.features)

    def of(self, feature: str) -> FeatureRecord:
        return self.features.get(feature) or FeatureRecord()

    def replacing(self, feature: str, record: FeatureRecord) -> "ProjectFeatures":
        return self.model_copy(update={"features": {**self.features, feature: record}})

    def without_requests(self) -> "ProjectFeatures":
        if not self.features:
            return self
        none = {"requests": RequestRate()}
        cleared = {name: record.model_copy(update=none) for name, record in self.features.items()}
        return self.model_copy(update={"features": cleared})

    def cost_elsewhere(self, feature: str) -> float:
        return plus(*(r.cost_usd for name, r in self.features.items() if name != feature))

    def requests_elsewhere(self, feature: str) -> RequestRate:
        rate = RequestRate()
        for name, record in self.features.items():
            rate = rate if name == feature else rate.joined(record.requests)
        return rate


class FeatureSummary(NamedTuple):
    """The state of one feature. If the feature cannot be read, `trouble` says why."""

    name: str
    active: bool = False
    done: int = 0
    total: int = 0
    phase: Phase = Phase.BUILDING
    branch: str = ""
    cost_usd: float = 0.0
    last_activity: datetime | None = None
    trouble: str = ""

    @property
    def shown(self) -> str:
        return shown_name(self.name)


def is_specs_folder(text: str) -> bool:
    """Return whether a relative path may hold the specs: inside the project, and not in `.git` or `.ralph`."""
    parts = text.split("/")
    return (
        all(part.strip() == part != "" and part not in (".", "..") for part in parts)
        and parts[0].lower() not in (".git", ".ralph")
        and not text.startswith(("-", "~"))
        and not any(char in text for char in '\\:*?"<>|\n')
        and "--" not in text
    )
