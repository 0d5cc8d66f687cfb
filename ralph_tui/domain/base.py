"""The two base models: `Model` for values in memory, `Record` for values read from disk."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Model(BaseModel):
    """A frozen value that rejects unknown fields.

    Pydantic builds the schema at first use, so a command pays only for the models that it needs.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Record(BaseModel):
    """A frozen value that is stored in a file. Unknown fields survive a round trip."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)


def _as_utc(value: datetime) -> datetime:
    """Convert a time to UTC, and treat a time without an offset as UTC, so that any two times can be compared.

    Raises:
        ValueError: In UTC the year would be before 1 or after 9999.
    """
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{value.isoformat()} is outside of the calendar in UTC") from error


Timestamp = Annotated[datetime, AfterValidator(_as_utc)]
"""A timezone-aware instant in UTC."""

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A measured number that cannot be negative: seconds, percent."""

Count = Annotated[int, Field(ge=0)]
"""A whole number that cannot be negative: tokens, retries, iterations."""
