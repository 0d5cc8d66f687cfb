"""Check what green checks cannot show: that the task changed something, and that no test was removed.

A claim is compared with the project at the start of the task's first attempt (`Task.begun`).
"""

import hashlib
import re
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from ralph_tui.domain.plan.plan import Begun, Task
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus, criterion_text
from ralph_tui.engine.core.project_tree import files_of

MOST_FILES = 50_000
"""A project with more is not looked at: nobody would wait for it before each task."""

MOST_BYTES = 8 * 1024 * 1024
"""The most bytes read of a test file, because an agent's files may have any size."""

_LOCK = "uv.lock"
_TEST_FILE = re.compile(r"test_.*\.py|.*_test\.py")
_TEST = re.compile(rb"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(", re.MULTILINE)
_REMOVING = re.compile(
    r"\b(?:remov|delet|drop|retir|prun|merg|replac|consolidat|simplif|refactor|rewrit|clean)",
    re.IGNORECASE,
)


def look(root: Path) -> Begun:
    """Return the project's current state. Blocks for a walk through all files."""
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
            continue  # gone meanwhile, or not ours to read
        told = f"{entry.path}\0{info.st_size}\0{info.st_mtime_ns}\n".encode(
            errors="surrogateescape"
        )
        if entry.name == _LOCK:
            lock = hashlib.sha256(told).hexdigest()
        else:
            digest.update(told)
    return Begun(files=digest.hexdigest(), lock=lock, tests=tests)


def _head(path: str) -> bytes:
    with Path(path).open("rb") as file:
        return file.read(MOST_BYTES)


def objections(task: Task, now: Begun, receipts: Sequence[Receipt]) -> Iterator[Receipt]:
    """Yield the objections to a claim whose checks are green."""
    begun = task.begun
    if begun is None or not begun.files or not now.files:
        return
    shown = any(r.source == "criterion" and r.status is ReceiptStatus.PASSED for r in receipts)
    # uv writes a missing lock file with the first command, whoever runs it.
    same = (begun.files, begun.lock or now.lock) == (now.files, now.lock)
    if same and not shown:
        yield _objection(
            "a change was made",
            "no file has changed since this task began",
            "None of its criteria is a command that shows that it is done. Do it; if it was done "
            "before, add a test that shows it.",
        )
    fewer = begun.tests - now.tests
    if fewer > 0 and not _REMOVING.search(_words(task)):
        yield _objection(
            "every test is kept",
            f"{fewer} of the {begun.tests} test functions there were when this task began "
            f"{'is' if fewer == 1 else 'are'} gone",
            "Put them back: nothing in the task's words asks to remove or replace any.",
        )


def _words(task: Task) -> str:
    return "\n".join((task.description, *map(criterion_text, task.verification_criteria)))


def _objection(command: str, reason: str, instead: str) -> Receipt:
    status = ReceiptStatus.FAILED
    return Receipt(command=command, source="evidence", status=status, reason=reason, tail=instead)
