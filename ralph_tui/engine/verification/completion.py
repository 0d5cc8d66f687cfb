"""Tasks that the person marked complete in the plan file: recorded as their decision."""

import asyncio
from typing import TYPE_CHECKING

from ralph_tui.domain import events as ev
from ralph_tui.domain.verification.verification import TaskVerification
from ralph_tui.store.project import Documents

if TYPE_CHECKING:
    from ralph_tui.engine.workshop import Workshop

BY_HAND = "marked complete by hand"

MOST_NAMED = 5


async def accept_marked_by_hand(shop: "Workshop") -> None:
    """Record what the person marked complete in the plan file as their decision, and say so once.

    What a command of the agent marked is undone before anything is read here.
    """
    book = shop.ledger.project.receipts
    if not await asyncio.to_thread(book.unrecorded, shop.ledger.docs.plan):
        return
    docs = await shop.ledger.transact(lambda docs: docs)
    tasks = await asyncio.to_thread(book.unrecorded, docs.plan)
    rests = TaskVerification.decided_by_person(BY_HAND, shop.clock())
    made = {task.id: await asyncio.to_thread(book.record, task.id, rests) for task in tasks}

    def change(now: Documents) -> Documents:
        plan = now.plan
        for task in book.unrecorded(plan):
            if task.id in made:
                plan = plan.with_task(task.id, verification=made[task.id])
        return now.model_copy(update={"plan": plan})

    if made:
        await shop.ledger.transact(change, "recorded as your decision")
        shop.emit(ev.Notice(text=_told(tuple(made))))


def _told(ids: tuple[str, ...]) -> str:
    named = ", ".join(ids[:MOST_NAMED]) + (", …" if len(ids) > MOST_NAMED else "")
    count = "1 task was" if len(ids) == 1 else f"{len(ids)} tasks were"
    return f"{count} marked complete by hand ({named}). Ralph takes your word for it and runs no checks."
