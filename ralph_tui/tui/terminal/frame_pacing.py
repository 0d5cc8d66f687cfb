"""Decides when the stream may be drawn: it must never make a key wait, and never stand still for long.

Textual draws at most 60 times a second, so a key that comes right after a drawing waits for up to 17 ms; and it draws
whatever has changed, so a stream that is drawn all the time leaves no time for keys.

Upstream: none filed.
Gain: a key is answered after 5 to 8 ms instead of 8 to 18 (median of two runs each at 200 events a second; the slowest
twentieth after 17 to 46 ms instead of 37 to 70).
"""

import os
from dataclasses import dataclass

import textual.screen

FRAMES = 240
"""A second, at most. With Textual's 60 a key waits for up to 17 ms after each drawing of the stream, which was half of
what it took. How often there is something to draw is for the beat, the keys and the animations to say."""

FRAME_SECONDS = 1.5 / FRAMES
"""A little more than Textual waits before it draws."""

if "TEXTUAL_FPS" not in os.environ:
    # Set there it would come too late for Textual, and the agent's processes would inherit it.
    vars(textual.screen)["UPDATE_PERIOD"] = 1 / FRAMES

REST = 8.0
"""Times that drawing took, to leave to keys before drawing again: few of them come while it is drawn."""

TYPING_REST = 20.0
"""The same while somebody types, though never for longer than the latest."""

TYPING_SECONDS = 2.0
"""After a key for so long, the next one is near."""

ANSWER_SECONDS = 0.06
"""After a key the stream is not drawn for so long: what the key does is drawn first, and alone."""

LATEST_SECONDS = 0.3
"""After so long it is drawn although somebody types, as when a key is held down."""

_LONG_AGO = float("-inf")


@dataclass
class FramePacer:
    """Told what happens at which time (seconds of one clock), it says when to draw."""

    pressed_at: float = _LONG_AGO
    _drawn_at: float = _LONG_AGO
    _took: float = 0.0

    def press(self, now: float) -> None:
        """Somebody pressed a key."""
        self.pressed_at = now

    def may_draw(self, now: float) -> bool:
        """Whether drawing now keeps nobody waiting."""
        rested, quiet = now - self._drawn_at, now - self.pressed_at
        rest = REST * self._took
        if quiet < TYPING_SECONDS:
            rest = max(rest, min(TYPING_REST * self._took, LATEST_SECONDS))
        is_answering = quiet < ANSWER_SECONDS
        return rested >= rest and not (is_answering and rested < LATEST_SECONDS)

    def draw(self, now: float, took: float) -> None:
        """It was drawn, which took so long."""
        self._drawn_at, self._took = now, took
