"""Decides when the stream may be drawn, so that it neither delays keys nor stops for long.

Textual draws at most 60 times a second, so a key pressed right after a drawing waits for up to 17 ms. It also draws
everything that has changed, so a stream that changes all the time leaves no time for keys.

Upstream: none filed.
Gain: a key is answered after 5 to 8 ms instead of 8 to 18 (median of two runs each at 200 events a second; the slowest
twentieth after 17 to 46 ms instead of 37 to 70).
"""

import os
from dataclasses import dataclass

import textual.screen

FRAMES = 240
"""Maximum frames per second. With Textual's 60, a key waits for up to 17 ms after each drawing of the stream, which was half
of its delay. The flush timer, keys and animations decide how often there is something to draw."""

FRAME_SECONDS = 1.5 / FRAMES
"""Seconds until Textual has drawn; a little longer than it waits."""

if "TEXTUAL_FPS" not in os.environ:
    # The environment variable would come too late for Textual, and the agent's processes would inherit it.
    vars(textual.screen)["UPDATE_PERIOD"] = 1 / FRAMES

REST = 8.0
"""Time left for keys before the next drawing, as a multiple of the duration of the last one."""

TYPING_REST = 20.0
"""The same while somebody types, but at most LATEST_SECONDS."""

TYPING_SECONDS = 2.0
"""Seconds after a key in which another one is likely."""

ANSWER_SECONDS = 0.06
"""Seconds after a key in which the stream is not drawn, so that the key's effect is drawn first and alone."""

LATEST_SECONDS = 0.3
"""Seconds after which the stream is drawn even while somebody types or holds a key down."""

_LONG_AGO = float("-inf")


@dataclass
class FramePacer:
    """Decides when to draw, from the times of keys and drawings, in seconds of one clock."""

    pressed_at: float = _LONG_AGO
    _drawn_at: float = _LONG_AGO
    _took: float = 0.0

    def press(self, now: float) -> None:
        self.pressed_at = now

    def may_draw(self, now: float) -> bool:
        """Return whether drawing now would delay no key."""
        rested, quiet = now - self._drawn_at, now - self.pressed_at
        rest = REST * self._took
        if quiet < TYPING_SECONDS:
            rest = max(rest, min(TYPING_REST * self._took, LATEST_SECONDS))
        is_answering = quiet < ANSWER_SECONDS
        return rested >= rest and not (is_answering and rested < LATEST_SECONDS)

    def draw(self, now: float, took: float) -> None:
        self._drawn_at, self._took = now, took
