"""Decides which question or approval is pending, and when to open it."""

from collections.abc import Collection
from dataclasses import dataclass

from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.events import ApprovalRequested
from ralph_tui.domain.view.loop_view import LoopView


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """A batch of questions, or an approval, that waits for the person."""

    key: str
    questions: tuple[AskedQuestion, ...] = ()
    approval: ApprovalRequested | None = None


def pending_decision(view: LoopView, done: Collection[str] = ()) -> PendingDecision | None:
    """Return the decision that has been pending longest, except those in `done`."""
    left = [asked for asked in view.questions if asked.id not in done]
    if left:
        batch = left[0].batch
        return PendingDecision(batch, tuple(asked for asked in left if asked.batch == batch))
    approval = view.approval
    if approval is None or (key := approval_key(approval)) in done:
        return None
    return PendingDecision(key, approval=approval)


def approval_key(approval: ApprovalRequested) -> str:
    return f"{approval.kind}-{approval.seq}-{approval.time}-{approval.summary}"


class Attention:
    """Remembers which decisions were announced and opened, so that neither happens twice."""

    def __init__(self) -> None:
        self._announced = ""
        self._opened = ""

    def is_new(self, pending: PendingDecision | None) -> bool:
        """Return whether this decision is new, so that the person is alerted once."""
        key = pending.key if pending else ""
        is_news = bool(key) and key != self._announced
        self._announced = key or self._announced
        return is_news

    def should_open(self, pending: PendingDecision | None, *, free: bool) -> bool:
        """Return whether to open the decision now: only once, and only while the person is free."""
        if pending is None or not free or pending.key == self._opened:
            return False
        self._opened = pending.key
        return True

    def opened(self, pending: PendingDecision) -> None:
        self._opened = pending.key
