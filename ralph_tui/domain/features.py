"""The features of a project: their names, and what all of them have spent together."""

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
"""How a person writes the plan without a name, where a feature's name is asked for."""

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}")

NAME_RULE = (
    "A name has at most 64 small letters, digits, dots, dashes and underscores, "
    "and begins with a letter or a digit."
)


def is_name(text: str) -> bool:
    """Return whether a feature may be called this."""
    return NAME.fullmatch(text) is not None


def shown_name(feature: str) -> str:
    """Return a feature's name as a person writes it."""
    return feature or UNNAMED


class FeatureRecord(Record):
    """What the project knows of one feature; the rest is in the feature's folder."""

    created_at: Timestamp | None = None
    branch: str = ""
    """The branch that the feature is worked on; empty for the plan without a name."""
    cost_usd: Money = 0.0
    tokens: Count = 0
    requests: RequestRate = Field(default_factory=RequestRate)
    """Model requests of the last hour."""


class Renamed(Record):
    """When a feature got another name; the journal and the history keep the one it had."""

    old: str
    new: str
    at: Timestamp


class FeaturePast(NamedTuple):
    """Which feature is looked back at, also under the names that it had before."""

    feature: str
    renamed: tuple[Renamed, ...] = ()
    """Every renaming of the project, oldest first."""

    def includes(self, feature: str, at: datetime | None) -> bool:
        """Return whether what was called `feature` at a time is the one that is looked back at."""
        for one in self.renamed:
            if one.old == feature and (at is None or at <= one.at):
                feature = one.new
        return feature == self.feature


class ProjectFeatures(Record):
    """The list of features, `.ralph/project.json`; a project with one plan has none.

    A feature exists when its folder does. What it has spent stays here when the folder is gone.
    """

    schema_version: int = FEATURES_SCHEMA_VERSION
    active: str = ""
    """The feature that a command works on when nothing else decides; empty: the plan without a name."""
    features: Mapping[str, FeatureRecord] = Field(default_factory=dict)
    """By name; the plan without a name has the empty one."""
    renamed: tuple[Renamed, ...] = ()
    """Oldest first."""

    @property
    def exists(self) -> bool:
        """Whether the project ever had a named feature."""
        return bool(self.features)

    def of(self, feature: str) -> FeatureRecord:
        """Return what is known of a feature."""
        return self.features.get(feature) or FeatureRecord()

    def replacing(self, feature: str, record: FeatureRecord) -> "ProjectFeatures":
        """Return a copy with this record in the place of the feature's."""
        return self.model_copy(update={"features": {**self.features, feature: record}})

    def renaming(self, old: str, new: str, at: datetime) -> "ProjectFeatures":
        """Return a copy in which a feature has another name from a time on."""
        named = {new if name == old else name: record for name, record in self.features.items()}
        active = new if self.active == old else self.active
        renamed = (*self.renamed, Renamed(old=old, new=new, at=at))
        return self.model_copy(update={"features": named, "active": active, "renamed": renamed})

    def without_requests(self) -> "ProjectFeatures":
        """Return a copy in which no feature made a request in the last hour."""
        if not self.features:
            return self
        none = {"requests": RequestRate()}
        rested = {name: record.model_copy(update=none) for name, record in self.features.items()}
        return self.model_copy(update={"features": rested})

    def cost_elsewhere(self, feature: str) -> float:
        """Return what all other features have cost, in US dollars."""
        return plus(*(r.cost_usd for name, r in self.features.items() if name != feature))

    def requests_elsewhere(self, feature: str) -> RequestRate:
        """Return the requests that all other features made in the last hour."""
        rate = RequestRate()
        for name, record in self.features.items():
            rate = rate if name == feature else rate.joined(record.requests)
        return rate


class FeatureSummary(NamedTuple):
    """The state of one feature; `trouble` says why nothing else is known."""

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
        """The name as a person writes it."""
        return shown_name(self.name)
