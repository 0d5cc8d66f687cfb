"""ralph-tui: a deterministic Claude loop you can watch, steer and trust.

What lives here: the version and nothing heavy. May not: import any room.
Callers: everyone.
"""

__version__: str
"""The installed version; looked up when it is asked for, because looking takes time."""


def __getattr__(name: str) -> str:
    if name != "__version__":
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("ralph-tui")
    except PackageNotFoundError:  # a bare source tree that was never installed
        return "0+unknown"
