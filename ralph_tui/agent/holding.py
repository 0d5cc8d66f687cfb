"""Streamed text comes in pieces: what may be the begin of a secret waits until the rest of it is there."""

from ralph_tui.domain.redaction import unfinished
from ralph_tui.domain.sanitize import inert

MOST = 8_192
"""Characters that wait at most; a longer word is no secret."""


class Holding:
    """The pieces of the texts that are being streamed, one for each speaker."""

    def __init__(self) -> None:
        """Nothing waits."""
        self._waiting: dict[str | None, str] = {}

    def add(self, speaker: str | None, piece: str) -> str:
        """What can be shown now, inert."""
        text = self._waiting.pop(speaker, "") + piece
        at = unfinished(text)
        if len(text) - at > MOST:
            at = len(text)
        if at < len(text):
            self._waiting[speaker] = text[at:]
        return inert(text[:at])

    def rest(self, speaker: str | None) -> str:
        """What still waits, when the text is over."""
        return inert(self._waiting.pop(speaker, ""))
