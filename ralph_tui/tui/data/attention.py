"""What waits for the person, and when it is put before them. Knows no widget."""

from collections.abc import Collection
from dataclasses import dataclass

from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.domain.events import ApprovalRequested
from ralph_tui.domain.view.loop_view import LoopView


@dataclass(frozen=True, slots=True)
class PendingDecision:
    """One thing that waits: a batch of questions, or a decision."""

    key: str
    questions: tuple[AskedQuestion, ...] = ()
    approval: ApprovalRequested | None = None


def waits(view: LoopView, done: Collection[str] = ()) -> PendingDecision | None:
    """What waits longest, leaving out what the person has dealt with already."""
    left = [asked for asked in view.questions if asked.id not in done]
    if left:
        batch = left[0].batch
        return PendingDecision(batch, tuple(asked for asked in left if asked.batch == batch))
    approval = view.approval
    if approval is None or (key := approval_key(approval)) in done:
        return None
    return PendingDecision(key, approval=approval)


def approval_key(approval: ApprovalRequested) -> str:
    """Tells one request for approval from another of the same kind."""
    return f"{approval.kind}-{approval.seq}-{approval.time}-{approval.summary}"


class Attention:
    """Remembers what was announced and what was opened, so that neither happens twice."""

    def __init__(self) -> None:
        """Nothing waits."""
        self._announced = ""
        self._opened = ""

    def news(self, wait: PendingDecision | None) -> bool:
        """Whether this has just begun to wait: the moment for the bell."""
        key = wait.key if wait else ""
        is_news = bool(key) and key != self._announced
        self._announced = key
        return is_news

    def opens(self, wait: PendingDecision | None, *, free: bool) -> bool:
        """Whether to open it now; once, and only when the person is not in another dialog."""
        if wait is None or not free or wait.key == self._opened:
            return False
        self._opened = wait.key
        return True

    def opened(self, wait: PendingDecision) -> None:
        """The person opened it themselves."""
        self._opened = wait.key
