"""Collects garbage while nobody types: a full collection takes as long as several frames.

Most of what the app makes goes without it; what does not is a closed dialog here and there.

Upstream: Textualize/textual#6410 (merged) pauses collections while a widget scrolls, not while somebody types.
Gain: no key waits for a full collection, which takes up to 0.2 s once everything is imported.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""Objects made between two looks at the youngest; of so few, one takes a millisecond or two."""

OLDER = 10
"""Looks at the youngest between two at those that stayed, and of those between two at everything."""

NEVER = 1_000_000_000

QUIET_SECONDS = 2.0
"""Without a key for so long, nobody waits for an answer."""

LATEST = 100
"""Looks at those that stayed after which everything is looked at even while somebody types."""


@contextmanager
def swept_by_hand() -> Iterator[None]:
    """Meanwhile the interpreter looks at everything only when `sweep` asks for it."""
    before = gc.get_threshold()
    gc.set_threshold(YOUNG, OLDER, NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def sweep(quiet: float) -> bool:
    """Look at everything if it is time; whether that was done.

    Args:
        quiet: Seconds since somebody pressed a key.
    """
    is_due = gc.get_count()[2] >= (OLDER if quiet >= QUIET_SECONDS else LATEST)
    if not is_due or gc.get_threshold()[2] != NEVER:
        return False
    gc.collect()
    return True
