"""Take guidance for an iteration, and give it back when the iteration did not hear it."""

from collections.abc import Collection
from typing import TYPE_CHECKING

from ralph_tui.domain import events as ev
from ralph_tui.domain.project_state import Injection
from ralph_tui.store.project import Documents

if TYPE_CHECKING:  # the screen reads a project without loading what a run needs
    from ralph_tui.engine.context import RunContext

Injections = tuple[Injection, ...]


def with_guidance_taken(docs: Documents, ids: Collection[str] | None = None) -> Documents:
    """Return the documents with pending guidance, or these `ids`, taken; it is kept until the iteration has an outcome."""
    said = tuple(i for i in docs.pending if ids is None or i.id in ids)
    left = tuple(i for i in docs.pending if i not in said)
    return docs.with_state(given=(*docs.state.given, *said)).replacing(pending=left)


def with_guidance_used(docs: Documents, *, heard: bool) -> Documents:
    """Return the documents after the iteration; guidance it did not hear to the end waits for the next one."""
    if not docs.state.given:
        return docs
    pending = docs.pending if heard else (*docs.state.given, *docs.pending)
    return docs.with_state(given=()).replacing(pending=pending)


def emit_consumed(run: "RunContext", waiting: Injections, iteration: int) -> None:
    """Report which iteration got the guidance."""
    if waiting:
        ids = tuple(injection.id for injection in waiting)
        run.emit(ev.InjectionConsumed(ids=ids, iteration=iteration))
