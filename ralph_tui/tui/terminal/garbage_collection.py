"""Collects garbage while nobody types: a full collection takes as long as several frames.

Most of what the app makes goes without it; what does not is a closed dialog here and there.

Upstream: Textualize/textual#6410 (merged) pauses collections while a widget scrolls, not while somebody types.
Gain: no key waits for a full collection, which takes up to 0.2 s once everything is imported.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""Objects between two collections of the youngest generation, which take a millisecond or two."""

OLDER = 10
"""Collections of a generation between two of the next one."""

NEVER = 1_000_000_000

QUIET_SECONDS = 2.0
"""Seconds without a key after which nobody waits for an answer."""

LATEST = 100
"""Collections of the middle generation after which a full one runs even while somebody types."""


@contextmanager
def swept_by_hand() -> Iterator[None]:
    """Run full collections only when `sweep` asks for them."""
    before = gc.get_threshold()
    gc.set_threshold(YOUNG, OLDER, NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def sweep(quiet: float) -> bool:
    """Run a full collection if it is time; return whether it ran.

    Args:
        quiet: Seconds since somebody pressed a key.
    """
    is_due = gc.get_count()[2] >= (OLDER if quiet >= QUIET_SECONDS else LATEST)
    if not is_due or gc.get_threshold()[2] != NEVER:
        return False
    gc.collect()
    return True
