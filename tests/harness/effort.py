"""How much work something is, whatever else the machine does at that moment."""

import gc
import time
from collections.abc import Callable


def effort(work: Callable[[], object]) -> float:
    """Return the processor time of `work` as a multiple of adding up five million numbers, about a tenth of a second."""
    gc.disable()  # what other tests left would be swept meanwhile
    try:
        floor = _seconds(lambda: sum(range(5_000_000)))
        return _seconds(work) / floor
    finally:
        gc.enable()


def _seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began
