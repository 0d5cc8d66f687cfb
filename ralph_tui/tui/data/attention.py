"""Decides what waits for the person, and when it opens. Knows no widget."""

from collections.abc import Collection
from dataclasses import dataclass

from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.events import ApprovalRequested
from ralph_tui.domain.view.loop_view import LoopView


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """What waits for the person: a batch of questions, or an approval."""

    key: str
    questions: tuple[AskedQuestion, ...] = ()
    approval: ApprovalRequested | None = None


def waits(view: LoopView, done: Collection[str] = ()) -> PendingDecision | None:
    """Return what waits longest, without what the person has answered already."""
    left = [asked for asked in view.questions if asked.id not in done]
    if left:
        batch = left[0].batch
        return PendingDecision(batch, tuple(asked for asked in left if asked.batch == batch))
    approval = view.approval
    if approval is None or (key := approval_key(approval)) in done:
        return None
    return PendingDecision(key, approval=approval)


def approval_key(approval: ApprovalRequested) -> str:
    """Return a key that tells one approval from another of the same kind."""
    return f"{approval.kind}-{approval.seq}-{approval.time}-{approval.summary}"


class Attention:
    """Remembers what was announced and opened, so that neither happens twice."""

    def __init__(self) -> None:
        """Nothing waits."""
        self._announced = ""
        self._opened = ""

    def news(self, wait: PendingDecision | None) -> bool:
        """Return whether this has just begun to wait: the moment for the bell."""
        key = wait.key if wait else ""
        is_news = bool(key) and key != self._announced
        self._announced = key
        return is_news

    def opens(self, wait: PendingDecision | None, *, free: bool) -> bool:
        """Return whether to open it now: once, and only when the person is not in another dialog."""
        if wait is None or not free or wait.key == self._opened:
            return False
        self._opened = wait.key
        return True

    def opened(self, wait: PendingDecision) -> None:
        """Remember that the person opened it."""
        self._opened = wait.key
