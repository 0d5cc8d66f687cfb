"""Forms that several parts of a scenario file share."""

from typing import Annotated

from pydantic import Field

Seconds = Annotated[float, Field(ge=0, allow_inf_nan=False)]


def as_tuple(value: object) -> object:
    """Let a single item stand for a list of one."""
    return value if isinstance(value, list | tuple) else (value,)
