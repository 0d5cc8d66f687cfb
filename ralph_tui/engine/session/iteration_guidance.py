"""Take guidance for an iteration, and queue it again if the iteration did not process it."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from ralph_tui.domain import events as ev
from ralph_tui.domain.project_state import Injection
from ralph_tui.store.project import Documents

if TYPE_CHECKING:  # keeps a run's dependencies from loading when the screen only reads a project
    from ralph_tui.engine.context import RunContext

Injections = tuple[Injection, ...]


def with_guidance_taken(docs: Documents, ids: Collection[str] | None = None) -> Documents:
    """Return the documents with all pending guidance, or that with these `ids`, marked as given.

    Given guidance is kept until the iteration ends, in case it must be queued again.
    """
    taken = tuple(i for i in docs.pending if ids is None or i.id in ids)
    left = tuple(i for i in docs.pending if i not in taken)
    return docs.with_state(given=(*docs.state.given, *taken)).replacing(pending=left)


def with_guidance_used(docs: Documents, *, heard: bool) -> Documents:
    """Return the documents after the iteration; guidance that was not `heard` waits for the next one."""
    if not docs.state.given:
        return docs
    pending = docs.pending if heard else (*docs.state.given, *docs.pending)
    return docs.with_state(given=()).replacing(pending=pending)


def emit_consumed(run: "RunContext", waiting: Injections, iteration: int) -> None:
    if waiting:
        ids = tuple(injection.id for injection in waiting)
        run.emit(ev.InjectionConsumed(ids=ids, iteration=iteration))
