"""Waiting for a condition, never for a time."""

import asyncio
import time
from collections.abc import Callable

PATIENCE = 60.0
_PAUSE = 0.02


def wait_until(condition: Callable[[], object], seconds: float = PATIENCE, what: str = "") -> None:
    """Poll until `condition()` is true; blocks."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what or condition}")
        time.sleep(_PAUSE)


async def until(condition: Callable[[], object], seconds: float = PATIENCE, what: str = "") -> None:
    """Poll until `condition()` is true, while the event loop goes on."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds:g} s: {what or condition}")
        await asyncio.sleep(_PAUSE)
