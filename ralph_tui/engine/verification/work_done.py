"""Check what passing checks cannot show: that the task changed something, and that no test was removed.

A claim is compared with the state of the project at the task's first attempt (`Task.begun`).
"""

import hashlib
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from ralph_tui.domain.plan.plan import Begun, Task
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.engine.core.project_tree import files_of

MOST_FILES = 50_000
"""Larger projects are not compared, because the walk would delay each task."""

MOST_BYTES = 8 * 1024 * 1024
"""The most bytes read of a test file."""

_LOCK = "uv.lock"
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_TEST = re.compile(rb"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(", re.MULTILINE)
_REMOVAL_WORDS = re.compile(
    r"\b(?:remov|delet|drop|retir|prun|merg|replac|consolidat|simplif|refactor|rewrit|clean)",
    re.IGNORECASE,
)


def look(root: Path) -> Begun:
    """Return the current state of the project's files. Blocks while it walks all of them."""
    digest, number, tests, lock = hashlib.sha256(), 0, 0, ""
    for entry in files_of(root):
        number += 1
        if number > MOST_FILES:
            return Begun()
        try:
            info = entry.stat(follow_symlinks=False)
            if stat.S_ISREG(info.st_mode) and _TEST_FILE.fullmatch(entry.name):
                tests += len(_TEST.findall(_head(entry.path)))
        except OSError:
            continue  # deleted meanwhile, or unreadable
        state = f"{entry.path}\0{info.st_size}\0{info.st_mtime_ns}\n".encode(
            errors="surrogateescape"
        )
        if entry.name == _LOCK:
            lock = hashlib.sha256(state).hexdigest()
        else:
            digest.update(state)
    return Begun(files=digest.hexdigest(), lock=lock, tests=tests)


def _head(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(MOST_BYTES)


def objections(task: Task, now: Begun, receipts: Sequence[Receipt]) -> Iterator[Receipt]:
    """Yield the objections to a claim whose checks passed."""
    begun = task.begun
    if begun is None or not begun.files or not now.files:
        return
    shown = any(r.source == "criterion" and r.status is ReceiptStatus.PASSED for r in receipts)
    # The first uv command writes a missing lock file, whoever runs it.
    same = (begun.files, begun.lock or now.lock) == (now.files, now.lock)
    if same and not shown:
        yield _objection(
            "a change was made",
            "no file has changed since this task began",
            "None of its criteria is a command that shows that it is done. Do the task. If it was already "
            "done, add a test that shows it.",
        )
    fewer = begun.tests - now.tests
    if fewer > 0 and not _REMOVAL_WORDS.search(task.full_text):
        yield _objection(
            "every test is kept",
            f"{fewer} of the {begun.tests} test functions that existed when this task began "
            f"{'was' if fewer == 1 else 'were'} removed",
            "Restore them. The task does not ask to remove or replace tests.",
        )


def _objection(command: str, reason: str, instead: str) -> Receipt:
    status = ReceiptStatus.FAILED
    return Receipt(command=command, source="evidence", status=status, reason=reason, tail=instead)
