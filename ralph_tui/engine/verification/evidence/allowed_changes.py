"""Decide which changes of check files the plan or the person allows.

A permission of the person covers exactly the content that they saw.
"""

import difflib
import hashlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.sanitize import inert
from ralph_tui.domain.verification.verification import AllowedCheckChange

MOST_LINES = 1_000
"""The most lines of a diff shown to the person. A file whose diff does not fit is not part of the permission."""


_NOT_COVERED = "This permission does not cover that file. To allow it, run `ralph edit TASK --may-change-checks`."


def plan_notices(plan: ImplementationPlan) -> Iterator[str]:
    if asking := [task.id for task in plan.tasks if task.asks_to_change_checks]:
        verb = "asks" if len(asking) == 1 else "ask"
        yield f"{', '.join(asking)} {verb} to change existing tests. Approving the plan allows that."
    if kept := [task.id for task in plan.tasks if task.shows == "kept"]:
        yield f"{', '.join(kept)}: the checks only show that nothing broke."
    for task in plan.tasks:
        if task.touches:
            yield f"{task.id} may change {shortlist(task.touches, 5)}."


def allowing_check_changes(plan: ImplementationPlan) -> ImplementationPlan:
    for task in plan.tasks:
        if task.asks_to_change_checks:
            plan = plan.with_task(task.id, asks_to_change_checks=False, may_change_checks=True)
    return plan


def shown_changes(
    paths: Iterable[str], original: Callable[[str], bytes | None], root: Path
) -> tuple[str, tuple[AllowedCheckChange, ...]]:
    """Return the changes as a diff against the originals, inert and bounded, and the permission for what it shows.

    Each file is read once, so that the permission is for the content in the diff. A file whose diff does not
    fit is named, but the permission does not cover it. Blocks.
    """
    lines: list[str] = []
    agreed: list[AllowedCheckChange] = []
    for path in paths:
        file = root / path
        try:
            now = file.read_bytes() if file.is_file() else None
        except OSError as error:
            lines.append(f"{path} cannot be read ({error.strerror}). {_NOT_COVERED}")
            continue
        before, after = (
            (one or b"").decode("utf-8", "replace").splitlines() for one in (original(path), now)
        )
        diff = list(
            difflib.unified_diff(before, after, f"before/{path}", f"now/{path}", lineterm="")
        )
        if len(lines) + len(diff) > MOST_LINES:
            lines.append(f"{path}: {len(diff):,} lines of changes do not fit here. {_NOT_COVERED}")
            continue
        lines += diff
        digest = "" if now is None else hashlib.sha256(now).hexdigest()
        agreed.append(AllowedCheckChange(path=path, digest=digest))
    return inert("\n".join(lines)), tuple(agreed)
