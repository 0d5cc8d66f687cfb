"""Which formats there are, and which one a file is in."""

from collections.abc import Sequence
from functools import cache

from ralph_tui.interop.formats import Importer


@cache
def built_in() -> Sequence[Importer]:
    """Return ralph's own importers, in the order in which they are listed."""
    return ()


def is_exporter(importer: Importer) -> bool:
    """Return whether the format can be written, too."""
    return callable(getattr(importer, "write", None))
