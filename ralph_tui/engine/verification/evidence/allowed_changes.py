"""Changes of check files that the task or the person allows, the person for exactly what they saw."""

import difflib
import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path

from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.verification.verification import AllowedCheckChange
from ralph_tui.engine.verification.evidence.check_files import CheckChanges, CheckFiles

MOST_LINES = 400
"""The most lines of a diff that a person sees."""


def paths_of(changes: CheckChanges) -> tuple[str, ...]:
    """Return every file whose change needs permission."""
    return (*changes.changed, *changes.deleted, *changes.added)


def allowed_changes(task: Task, changes: CheckChanges, root: Path) -> tuple[str, ...]:
    """Return the changes that the task or the person allows. Blocks while it reads the files."""
    if task.may_change_checks:
        return paths_of(changes)
    agreed = {(allowed.path, allowed.digest) for allowed in task.allowed_check_changes}
    return tuple(path for path in paths_of(changes) if (path, digest_of(root / path)) in agreed)


def agreed_changes(paths: Iterable[str], root: Path) -> tuple[AllowedCheckChange, ...]:
    """Return the permission for these files in their current content. Blocks."""
    return tuple(AllowedCheckChange(path=path, digest=digest_of(root / path)) for path in paths)


def check_change_notice(task_ids: Sequence[str]) -> str:
    """Return the sentence that tells the person about a plan that wants to change tests."""
    names, verb = ", ".join(task_ids), "asks" if len(task_ids) == 1 else "ask"
    return f"{names} {verb} to change tests that exist; approving the plan allows that."


def allowing_check_changes(plan: ImplementationPlan) -> ImplementationPlan:
    """Return the plan with the requested changes of check files approved."""
    for task in plan.tasks:
        if task.asks_to_change_checks:
            plan = plan.with_task(task.id, asks_to_change_checks=False, may_change_checks=True)
    return plan


def digest_of(file: Path) -> str:
    """Return the digest of a file's content, or an empty string without the file."""
    try:
        return hashlib.sha256(file.read_bytes()).hexdigest()
    except OSError:
        return ""


def diff_of(changes: CheckChanges, files: CheckFiles, root: Path) -> str:
    """Return the changes as a unified diff against the originals, inert and bounded. Blocks."""
    lines: list[str] = []
    for path in paths_of(changes):
        before = _lines(files.original(path))
        try:
            after = _lines((root / path).read_bytes())
        except OSError:
            after = []
        lines += difflib.unified_diff(before, after, f"before/{path}", f"now/{path}", lineterm="")
    if len(lines) > MOST_LINES:
        more = f"({len(lines) - MOST_LINES:,} more lines)"
        lines = [*lines[:MOST_LINES], more]
    return inert("\n".join(lines))


def _lines(data: bytes | None) -> list[str]:
    return (data or b"").decode("utf-8", "replace").splitlines()
