"""The four phases of a project. Without pydantic, because the guard's own processes start often."""

from enum import StrEnum


class Phase(StrEnum):
    """The four phases, in order."""

    DISCOVERY = "discovery"
    PLANNING = "planning"
    BUILDING = "building"
    VALIDATION = "validation"
