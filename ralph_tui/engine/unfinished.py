"""Says of files that are not whole that somebody writes them; and when they are whole again."""

import time
from collections.abc import Callable

from ralph_tui.domain.events import FilesUnfinished
from ralph_tui.engine.ports import EventSink

QUIET_SECONDS = 0.5
"""An editor that takes no longer to save is not worth a word."""


class Unfinished:
    """Remembers since when files are not whole, and what was told of it."""

    def __init__(self, emit: EventSink, clock: Callable[[], float] = time.monotonic) -> None:
        """Tell `emit`; `clock` counts seconds."""
        self._emit = emit
        self._clock = clock
        self._since: float | None = None
        self._told: tuple[str, ...] = ()

    @property
    def is_pending(self) -> bool:
        """Whether there is something to say soon, if it stays so."""
        return self._since is not None and not self._told

    def look(self, names: tuple[str, ...]) -> None:
        """These are not whole now."""
        now = self._clock()
        self._since = (self._since if self._since is not None else now) if names else None
        if self._since is not None and not self._told and now - self._since < QUIET_SECONDS:
            return
        if names != self._told:
            self._told = names
            self._emit(FilesUnfinished(names=names))
