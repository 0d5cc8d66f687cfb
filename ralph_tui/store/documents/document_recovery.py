"""Recover a damaged document: set it aside and replace it with the best known content.

The best source is the last known good copy, then the journal. An empty plan is never
created, because it could be mistaken for a finished one.
"""

import math
import stat
import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from ralph_tui.domain.base import Record
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.project_state import RalphState
from ralph_tui.store.documents.documents import Decoded, Document, decode_document, encode_document
from ralph_tui.store.io.files import DamagedError, read_regular, replace_file
from ralph_tui.store.io.quarantine import set_aside
from ralph_tui.store.layout import Layout

if TYPE_CHECKING:
    from ralph_tui.domain.events import PlanLoaded
    from ralph_tui.domain.view.loop_view import LoopView

R = TypeVar("R", bound=Record)

SETTLE_SECONDS = 0.05
SETTLE_TRIES = 10

EDITOR_SECONDS = 30.0
"""Seconds. An invalid file written more recently may be incomplete, so it is left alone."""


def backup_path(path: Path) -> Path:
    return path.with_name(f"{path.name}.bak")


def keep_backup(path: Path, data: bytes) -> str:
    """Store a document as known good; return an error sentence, or an empty string.

    The copy is not synced, because after a power cut the document itself is intact. A failure is reported
    and not raised, because the document itself was written.
    """
    try:
        replace_file(backup_path(path), data)
    except OSError as error:
        return f"A backup of {path.name} could not be written: {error.strerror or error}."
    return ""


def is_typed(path: Path, data: bytes | None) -> bool:
    """Return whether invalid JSON is text that somebody typed, and not what a disk or a crash left of a document.

    A process that starts with such a plan must not take the last one for it: the person wants the new one built.
    """
    try:
        text = (data or b"").decode()
        good = read_regular(backup_path(path)) or b""
    except (DamagedError, StoreError, UnicodeDecodeError):
        return False
    cut_short = good.startswith((data or b"").rstrip())
    return bool(text.strip()) and "\0" not in text and not cut_short


def wait_until_settled(path: Path) -> bytes | None:
    """Return a file's bytes once they stop changing, because an editor may be writing it in place."""
    data = read_regular(path)
    for _ in range(SETTLE_TRIES):
        time.sleep(SETTLE_SECONDS)
        again = read_regular(path)
        if again == data:
            break
        data = again
    return data


def wait_for_file(path: Path) -> bytes | None:
    """Wait for a missing file to reappear, because many editors rename before they write; return its bytes."""
    for _ in range(SETTLE_TRIES):
        time.sleep(SETTLE_SECONDS)
        if (data := read_regular(path)) is not None:
            return data
    return None


def is_being_written(path: Path) -> bool:
    return seconds_unchanged(path) < EDITOR_SECONDS


def seconds_unchanged(path: Path) -> float:
    """Return the seconds since a file was written, or infinity when it is not a regular file."""
    try:
        info = path.lstat()
    except OSError:
        return math.inf
    # A time in the future comes from another clock, so the distance counts.
    return abs(time.time() - info.st_mtime) if stat.S_ISREG(info.st_mode) else math.inf


def good_copy(kind: Document[R], path: Path) -> R | None:
    """Return the last known good copy, or None when it is missing or damaged itself."""
    try:
        data = read_regular(backup_path(path))
    except DamagedError:
        return None
    if data is None:
        return None
    try:
        decoded: Decoded[R] = decode_document(kind, data, backup_path(path))
    except (DamagedError, StoreError):
        return None
    return decoded.value


def repair(
    kind: Document[R], path: Path, previous: R | None, *, layout: Layout, reason: str, now: datetime
) -> tuple[R, bytes, str] | None:
    """Set a damaged document aside and restore it. Hold the write lock.

    Returns:
        The restored model, its bytes, and a sentence for the person. None for a plan that cannot be
        restored, which is left in place.
    """
    restored = restore(kind, path, layout)
    if restored is None and previous is not None:
        restored = *encode_document(kind, previous, path), "Its previous content was restored"
    if restored is None:
        return None
    value, data, source = restored
    aside = set_aside(path, now, replacement=data)
    backup_error = keep_backup(path, data)
    message = f"{path.name} was damaged ({reason}) and was set aside as {aside.name}."
    return value, data, f"{message} {source}. {backup_error}".strip()


def restore(kind: Document[R], path: Path, layout: Layout) -> tuple[R, bytes, str] | None:
    """Return the best known content of a document, its bytes, and a phrase that names the source, or None."""
    if (kept := good_copy(kind, path)) is not None:
        return *encode_document(kind, kept, path), "The last valid copy was restored"
    rebuild = _REBUILD.get(kind.name)
    past = None if rebuild is None else _reconstruct(layout)
    rebuilt = rebuild(past) if rebuild is not None and past is not None else None
    if isinstance(rebuilt, kind.model):
        return *encode_document(kind, rebuilt, path), "It was rebuilt from the journal"
    if kind.model is ImplementationPlan:
        return None
    return *encode_document(kind, kind.model(), path), "It was reset to default values"


class _Reconstruction(NamedTuple):
    """A feature's state as reconstructed from the journal.

    Attributes:
        view: The reduced events.
        plan: The last event that loaded a whole plan, because the view has only the tasks; None without one.
    """

    view: "LoopView"
    plan: "PlanLoaded | None"


def _reconstruct(layout: Layout) -> _Reconstruction | None:
    # The event union takes 50 ms to build, which `ralph status` of a healthy project need not pay.
    from ralph_tui.domain.events import LoopStarted, PlanLoaded
    from ralph_tui.domain.view.loop_view import LoopView
    from ralph_tui.domain.view.reducer import reduce
    from ralph_tui.store.journal.journal import read_events

    view, any_event, is_ours = LoopView(), False, True
    plan: PlanLoaded | None = None
    for _, event in read_events(layout.events):
        if isinstance(event, LoopStarted):
            is_ours = event.feature == layout.feature
        if not is_ours:
            continue
        view, any_event = reduce(view, event), any_event or isinstance(event, LoopStarted)
        any_event = any_event or bool(view.tasks)
        plan = event if isinstance(event, PlanLoaded) else plan
    return _Reconstruction(view, plan) if any_event else None


def _state_from(past: _Reconstruction) -> RalphState:
    view = past.view
    return RalphState(
        current_phase=view.phase,
        iteration_count=view.iteration,
        total_cost_usd=view.costs.total,
        session_cost_usd=view.costs.session,
    )


def _plan_from(past: _Reconstruction) -> ImplementationPlan | None:
    tasks, loaded = tuple(past.view.tasks.values()), past.plan
    if loaded is None:
        return ImplementationPlan(tasks=tasks) if tasks else None
    if not (tasks or loaded.retired):
        return None
    return ImplementationPlan(tasks=tasks, title=loaded.title, retired=loaded.retired)


_REBUILD: "dict[str, Callable[[_Reconstruction], Record | None]]" = {
    "state": _state_from,
    "plan": _plan_from,
    "breaker": lambda past: past.view.breaker,
    "budget": lambda past: past.view.budget,
}
