"""How many settled questions are kept: each transaction writes the file anew, and the journal has them all."""

from ralph_tui.domain.questions import QuestionLog

MOST_SETTLED = 200
"""Far more than one run of a phase may ask, so that counting them there stays exact."""


def bounded(log: QuestionLog) -> QuestionLog:
    """A copy with every open question and the newest of the settled ones; the same one if none is too many."""
    settled = [q.id for q in log.questions if not q.is_open]
    if len(settled) <= MOST_SETTLED:
        return log
    gone = frozenset(settled[:-MOST_SETTLED])
    kept = tuple(q for q in log.questions if q.is_open or q.id not in gone)
    return log.model_copy(update={"questions": kept})
