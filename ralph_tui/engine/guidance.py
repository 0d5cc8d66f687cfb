"""What a person says to the next iteration: taken under the lock, told, given back when nobody heard it."""

from ralph_tui.domain import events as ev
from ralph_tui.domain.state import Injection
from ralph_tui.engine.workshop import Workshop
from ralph_tui.store.project import Documents

Injections = tuple[Injection, ...]


def tell_consumed(shop: Workshop, waiting: Injections, iteration: int) -> None:
    """Which iteration got it."""
    if waiting:
        ids = tuple(injection.id for injection in waiting)
        shop.emit(ev.InjectionConsumed(ids=ids, iteration=iteration))


async def give_back(shop: Workshop, waiting: Injections) -> None:
    """Guidance that a failed session swallowed waits for the next one."""

    def change(docs: Documents) -> Documents:
        return docs.model_copy(update={"pending": (*waiting, *docs.pending)})

    if waiting:
        await shop.ledger.transact(change)
