"""Reports of what nobody expected, for the project in the current directory."""

from pathlib import Path

from ralph_tui.store import crash


def write_report(error: BaseException) -> Path:
    """Write the traceback where it can be found; returns the file."""
    return crash.write_report(error, Path.cwd())
