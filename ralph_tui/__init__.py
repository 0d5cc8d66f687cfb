"""ralph-tui: a deterministic Claude loop you can watch, steer and trust.

What lives here: the version and nothing heavy. May not: import any room.
Callers: everyone.
"""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("ralph-tui")
except PackageNotFoundError:  # a bare source tree that was never installed
    __version__ = "0+unknown"
