"""The two base models: `Model` for what we make, `Record` for what is read from disk."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Model(BaseModel):
    """A frozen value; an unknown field is a mistake of ours.

    Its schema is built when it is first needed: a command that looks at one file builds none of the others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


class Record(BaseModel):
    """A frozen value that lives in a file; fields we do not know survive a round-trip."""

    model_config = ConfigDict(frozen=True, extra="allow", defer_build=True)


def _as_utc(value: datetime) -> datetime:
    """Read a time without an offset as UTC, so that times can always be compared.

    Raises:
        ValueError: In UTC it would be before the year 1 or after 9999.
    """
    try:
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except OverflowError as error:
        raise ValueError(f"{value.isoformat()} is outside of the calendar in UTC") from error


Timestamp = Annotated[datetime, AfterValidator(_as_utc)]
"""An instant, always aware and in UTC."""

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
"""A measured number that cannot be negative: seconds, percent."""

Count = Annotated[int, Field(ge=0)]
"""A whole number that cannot be negative: tokens, retries, iterations."""
