"""Write a report of an unexpected error, which the person can send to the maintainers."""

import contextlib
import os
import platform
import sys
import tempfile
import traceback
from datetime import UTC, datetime
from pathlib import Path

import ralph_tui
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.redaction import hide, redact, secret_values
from ralph_tui.domain.sanitize import inert
from ralph_tui.store.io.rotation import keep_newest
from ralph_tui.store.layout import Layout

KEPT = 20

_PREFIX = "ralph-crash-"


def write_report(error: BaseException, root: Path) -> Path:
    """Write the traceback to a file that only the person can read; return its path.

    The file is in the log directory of the project at `root` if there is one, else in the system's temporary
    directory.
    """
    hide(secret_values(os.environ))
    text = redact("".join(traceback.format_exception(error)))
    head = f"ralph {ralph_tui.__version__}, Python {platform.python_version()}, {platform.platform()}\n"
    head += f"{datetime.now(UTC).isoformat()}\n{redact(' '.join(sys.argv))}\n\n"
    logs = Layout(root).logs
    for directory in (logs if os.path.isdir(logs) else None, None):  # noqa: PTH112 - never raises
        try:
            descriptor, name = tempfile.mkstemp(".txt", _PREFIX, directory, text=True)
            with os.fdopen(descriptor, "w", encoding="utf-8", errors="backslashreplace") as file:
                file.write(head + inert(text))
        except OSError:  # not writable, full or missing: try the next place
            continue
        if directory is logs:
            with contextlib.suppress(StoreError):  # the report that was just written matters more
                keep_newest(logs, f"{_PREFIX}*.txt", KEPT)
        return Path(name)
    sys.stderr.write(inert(text))
    return Path(os.devnull)
