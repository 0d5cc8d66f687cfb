"""Collects garbage while nobody types, because a full collection takes as long as several frames.

Reference counting frees most objects; full collections are needed only for cycles, such as closed dialogs.

Upstream: Textualize/textual#6410 (merged) pauses collections while a widget scrolls, not while somebody types.
Gain: no key waits for a full collection, which takes up to 0.2 s once all modules are imported.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

YOUNG = 20_000
"""Allocations between two collections of the youngest generation, which take a millisecond or two."""

OLDER = 10
"""Collections of a generation before the next older one is collected."""

NEVER = 1_000_000_000
"""A threshold that is never reached."""

QUIET_SECONDS = 2.0
"""Seconds without a key after which a collection disturbs nobody."""

LATEST = 100
"""Collections of the middle generation after which a full one runs even while somebody types."""


@contextmanager
def manual_collection() -> Iterator[None]:
    """Run full collections only when `collect_when_idle` starts them."""
    before = gc.get_threshold()
    gc.set_threshold(YOUNG, OLDER, NEVER)
    try:
        yield
    finally:
        gc.set_threshold(*before)


def collect_when_idle(quiet: float) -> bool:
    """Run a full collection if one is due; return whether it ran."""
    is_due = gc.get_count()[2] >= (OLDER if quiet >= QUIET_SECONDS else LATEST)
    if not is_due or gc.get_threshold()[2] != NEVER:
        return False
    gc.collect()
    return True
