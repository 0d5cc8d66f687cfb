"""Read the plan's tasks and questions without locks or repairs, for shell completion.

A file that cannot be read counts as empty. The command that needs it reports the error.
"""

from pathlib import Path
from typing import TypeVar

from pydantic import ValidationError

from ralph_tui.domain.documents.questions import AskedQuestion, QuestionLog
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.store.feature_choice import layout_of
from ralph_tui.store.io.files import DamagedError, read_regular
from ralph_tui.store.io.strict_json import parse_object

R = TypeVar("R", ImplementationPlan, QuestionLog)


def read_tasks(root: Path) -> tuple[Task, ...]:
    return _read(root, "plan", ImplementationPlan).tasks


def read_open_questions(root: Path) -> tuple[AskedQuestion, ...]:
    return _read(root, "questions", QuestionLog).open()


def _read(root: Path, name: str, model: type[R]) -> R:
    try:
        data = read_regular(layout_of(root).document(name))
        return model.model_validate(parse_object(data or b"{}"))
    except (StoreError, DamagedError, ValidationError):
        return model()
