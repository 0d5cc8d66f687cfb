"""What makes a completion believed: ralph's own record of the gate's result, or of the person's decision."""

import asyncio
from datetime import datetime
from typing import TYPE_CHECKING

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.verification.verification import TaskVerification, VerificationOutcome
from ralph_tui.store.backup.receipts import ReceiptBook
from ralph_tui.store.io.files import utc_now
from ralph_tui.store.project import Documents

if TYPE_CHECKING:
    from ralph_tui.engine.workshop import Workshop

BY_HAND = "marked complete by hand"

MOST_NAMED = 5


def recorded(book: ReceiptBook, task_id: str, rests: TaskVerification) -> TaskVerification:
    """The verification with the id of ralph's record of it; without one where none can be kept."""
    try:
        receipt = book.add(
            task_id, rests.outcome, rests.at or utc_now(), by=rests.by, reason=rests.reason
        )
    except StoreError:
        return rests  # that no copy of the state can be kept outside of the project is told already
    return rests.model_copy(update={"receipt": receipt})


def decided_by_person(reason: str, at: datetime) -> TaskVerification:
    """What a completion rests on that the person decided."""
    return TaskVerification(outcome=VerificationOutcome.ACCEPTED, at=at, by="person", reason=reason)


def without_record(book: ReceiptBook, plan: ImplementationPlan) -> tuple[Task, ...]:
    """The complete tasks that ralph has no record of."""
    if not book.can_be_kept:
        return ()
    complete = (task for task in plan.tasks if task.status is TaskStatus.COMPLETE)
    return tuple(task for task in complete if not book.vouches_for(task))


async def accept_marked_by_hand(shop: "Workshop") -> None:
    """Record what the person marked complete in the plan file as their decision, and say so once.

    What a command of the agent marked is undone before anything is read here.
    """
    book = shop.ledger.project.receipts
    if not await asyncio.to_thread(without_record, book, shop.ledger.docs.plan):
        return
    docs = await shop.ledger.transact(lambda docs: docs)
    tasks = await asyncio.to_thread(without_record, book, docs.plan)
    rests = decided_by_person(BY_HAND, shop.clock())
    made = {task.id: await asyncio.to_thread(recorded, book, task.id, rests) for task in tasks}

    def change(now: Documents) -> Documents:
        plan = now.plan
        for task in without_record(book, plan):
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
