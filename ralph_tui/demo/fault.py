"""What can go wrong with a request, as a scenario says it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from ralph_tui.demo.forms import Seconds
from ralph_tui.domain.base import Count, Model

FaultKind = Literal[
    "status", "hang", "stall", "cut", "malformed", "error_event", "reset", "portal", "slow", "huge"
]


class Fault(Model):
    """What goes wrong with a request before its turn is played properly.

    status: an HTTP error. hang: no answer at all. reset: the connection is reset.
    stall, cut, malformed, error_event: half of the stream, then silence, the end of the
    connection, an event that is not JSON, or an error event. portal: the HTML page of a
    network that wants a sign-in, as a success. slow: a pause between events.
    huge: the answer, with `size` characters of padding.
    """

    kind: FaultKind
    times: Annotated[int, Field(ge=1)] | Literal["forever"] = 1
    """How many requests suffer it; retries are requests."""
    status: Annotated[int, Field(ge=400, le=599)] | None = None
    retry_after: Seconds | None = None
    message: str = ""
    headers: dict[str, str] = Field(default_factory=dict)
    seconds: Seconds = 1.0
    """For slow: the pause after each event; not scaled by the speed."""
    size: Count = 2_000_000

    @model_validator(mode="before")
    @classmethod
    def _short_forms(cls, data: object) -> object:
        """Read `fault: cut` and `fault: {status: 529}`."""
        if isinstance(data, str):
            return {"kind": data}
        if isinstance(data, dict) and "status" in data:
            return {"kind": "status", **data}
        return data

    @model_validator(mode="after")
    def _status_fits_kind(self) -> Self:
        if (self.status is None) is (self.kind == "status"):
            raise ValueError("`status` goes with kind `status`, and only with it")
        return self
