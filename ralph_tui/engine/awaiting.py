"""Questions that stand on disk until somebody answers them there; what is lost with its file is asked again."""

from collections.abc import Callable, Sequence

from ralph_tui.domain.documents.questions import AskedQuestion
from ralph_tui.engine.ledger import Ledger
from ralph_tui.store.project import Documents

Asked = tuple[AskedQuestion, ...]


async def answered(
    ledger: Ledger, asked: Asked, *, gives_up: Callable[[], bool] = lambda: False
) -> Asked:
    """Ask, and wait until none of them is open, or the loop `gives_up`; what was answered is not asked again."""
    await ask(ledger, asked)
    while True:
        log = ledger.docs.questions
        asked = tuple(log.find(question.id) or question for question in asked)
        if gives_up() or not any(question.is_open for question in asked):
            return asked
        if lost := [question for question in asked if log.find(question.id) is None]:
            await ask(ledger, lost)  # nobody could answer it
        else:
            await ledger.wait_changed()


async def ask(ledger: Ledger, asked: Sequence[AskedQuestion]) -> None:
    """Write questions down; one that is there already stays as it is."""

    def change(docs: Documents) -> Documents:
        new = [question for question in asked if docs.questions.find(question.id) is None]
        return docs.model_copy(update={"questions": docs.questions.asking(new)})

    await ledger.transact(change)
