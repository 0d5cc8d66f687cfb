"""Record the requests to the model, and wait for new ones."""

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from ralph_tui.demo.http import Request

PATIENCE = 30.0
"""Seconds after which waiting for a request fails."""

_SECRET_HEADERS = frozenset({"x-api-key", "authorization", "cookie"})


@dataclass(frozen=True)
class RecordedRequest:
    """A request as it arrived, and the turn that answered it."""

    method: str
    path: str
    headers: Mapping[str, str]
    """Headers with lower-case names, without secrets."""
    body: dict[str, JsonValue]
    size: int
    """The size of the raw body in bytes."""
    script: str = ""
    turn: int | None = None
    attempt: int = 0
    """The number of earlier requests for the same turn."""

    @property
    def session(self) -> str:
        return self.headers.get("x-claude-code-session-id", "")


class RequestLog:
    """The most recent requests in order of arrival."""

    def __init__(self, keep: int, on_request: Callable[[RecordedRequest], None] | None) -> None:
        self.requests: deque[RecordedRequest] = deque(maxlen=keep)
        self._on_request = on_request
        self._arrival = asyncio.Condition()

    async def record(
        self,
        request: Request,
        body: dict[str, JsonValue],
        *,
        script: str = "",
        turn: int | None = None,
        attempt: int = 0,
    ) -> None:
        recorded = RecordedRequest(
            method=request.method,
            path=request.path,
            headers={k: v for k, v in request.headers.items() if k not in _SECRET_HEADERS},
            body=body,
            size=len(request.body),
            script=script,
            turn=turn,
            attempt=attempt,
        )
        if self._on_request:
            self._on_request(recorded)
        async with self._arrival:
            self.requests.append(recorded)
            self._arrival.notify_all()

    async def wait_for(self, arrived: Callable[[], bool]) -> None:
        async with asyncio.timeout(PATIENCE), self._arrival:
            await self._arrival.wait_for(arrived)
