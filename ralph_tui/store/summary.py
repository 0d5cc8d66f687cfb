"""Read the plan's tasks and questions without locks or repairs, for shell completion.

A file that cannot be read counts as empty. The command that needs it reports the error.
"""

from pathlib import Path

from pydantic import ValidationError

from ralph_tui.domain.documents.questions import AskedQuestion, QuestionLog
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.io.files import DamagedError, read_regular
from ralph_tui.store.io.strict_json import parse_object

_UNREADABLE = (StoreError, DamagedError, ValidationError)


def read_tasks(root: Path) -> tuple[Task, ...]:
    try:
        plan = read_regular(layout_of(root).plan)
        return ImplementationPlan.model_validate(parse_object(plan or b"{}")).tasks
    except _UNREADABLE:
        return ()


def read_open_questions(root: Path) -> tuple[AskedQuestion, ...]:
    try:
        log = read_regular(layout_of(root).questions)
        return QuestionLog.model_validate(parse_object(log or b"{}")).open()
    except _UNREADABLE:
        return ()
