"""Detect plans of other tools in ralph's plan file, by their shape and their field names. Pure functions.

Unknown fields are usually kept and ignored. But a plan is refused if an unknown field holds a task's description,
criteria, status or dependencies, because its tasks would run without them.
"""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from ralph_tui.domain.base import Model
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import CommandCriterion

CRITERIA = "`verification_criteria` (a list of strings)"
STATUS = '`status` ("pending" or "complete")'
DEPENDENCIES = "`dependencies` (a list of task ids)"
DESCRIPTION = "`description`"
TASKS = "`tasks` (each a task of its own)"

PLAN_FROM_FILE = (
    "To import a plan of another tool, move the file out of .ralph, for example to prd.json, and run "
    "`ralph import prd.json`."
)
SHAPE = 'A plan looks like this: {"tasks": [{"id": "…", "description": "…", "verification_criteria": ["…"]}]}.'


class ForeignPart(Model):
    """A part of a plan file that ralph does not read and that must not be ignored.

    Attributes:
        place: The keys and indexes of the part; empty for the file as a whole.
        message: What is wrong, as the rest of a sentence that begins with the file or the task.
    """

    place: tuple[str | int, ...]
    message: str
    hint: str


_FIELDS: Mapping[str, str] = {
    **dict.fromkeys(
        (
            *("acceptancecriteria", "acceptance", "checks", "criteria", "criterion", "steps"),
            *("tests", "teststrategy", "verification", "verificationcriteria"),
        ),
        CRITERIA,
    ),
    **dict.fromkeys(
        ("completed", "definitionofdone", "done", "passed", "passes", "state", "status"), STATUS
    ),
    **dict.fromkeys(
        ("blockedby", "dependancies", "dependencies", "depends", "dependson"), DEPENDENCIES
    ),
    "description": DESCRIPTION,
    "details": DESCRIPTION,
    "subtasks": TASKS,
}
"""Names, normalized by `_plain`, that mean something to ralph, and ralph's field for each."""

_ONLY_IN_TASKS = (CRITERIA, STATUS, DEPENDENCIES)

_INSTEAD_OF_DESCRIPTION = ("name", "summary", "content", "task", "story", "text")
"""Field names that are harmless beside a description or title, but otherwise hold the description."""

_TOP_LEVEL = ("userStories", "stories", "queue", "phases", "features", "issues")
"""Lists in files of other tools, which may also have `tasks`."""


def foreign_part(document: Mapping[str, JsonValue]) -> ForeignPart | None:
    """Return the first part of a plan file that matters and that ralph would ignore, or None."""
    if (whole := _foreign_shape(document)) is not None:
        return whole
    known = ImplementationPlan.model_fields
    for name in document:
        if name not in known and _ralph_field(name, described=True) in _ONLY_IN_TASKS:
            return ForeignPart(
                place=(name,),
                message=f"has a field {_quoted(name)} beside 'tasks', which ralph does not read",
                hint="Only a task has a status, criteria and dependencies: move the field into the tasks, or remove it.",
            )
    tasks = document.get("tasks")
    return next(_foreign_in_tasks(tasks), None) if isinstance(tasks, list) else None


def foreign_list(items: Sequence[JsonValue]) -> ForeignPart | None:
    return _foreign_file((), "is a list of tasks") if _has_objects([*items]) else None


def foreign_lines() -> ForeignPart:
    return _foreign_file((), "has one JSON object on each line")


def _foreign_file(place: tuple[str | int, ...], why: str) -> ForeignPart:
    message = f"{why}, as in files of other tools, and is not a plan of ralph's"
    return ForeignPart(place=place, message=message, hint=f"{SHAPE} {PLAN_FROM_FILE}")


def _foreign_shape(document: Mapping[str, JsonValue]) -> ForeignPart | None:
    has_tasks = "tasks" in document
    for name, value in document.items():
        if _has_objects(value) and (name in _TOP_LEVEL or not has_tasks):
            return _foreign_file((name,), f"has a list {_quoted(name)}")
        if isinstance(value, dict) and isinstance(value.get("tasks"), list) and not has_tasks:
            return _foreign_file((name,), f"has its tasks under {_quoted(name)}")
    is_task = "id" in document and not document.keys().isdisjoint(("description", "title"))
    return _foreign_file((), "is a single task") if is_task and not has_tasks else None


def _has_objects(value: JsonValue) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _foreign_in_tasks(tasks: Sequence[JsonValue]) -> Iterator[ForeignPart]:
    for index, task in enumerate(tasks):
        if not isinstance(task, dict):
            continue
        words = (task.get("description"), task.get("title"))
        described = any(str(word or "").strip() for word in words)
        unknown = {
            name: ours
            for name in task
            if name not in (*Task.model_fields, "title")
            and (ours := _ralph_field(name, described=described))
        }
        if unknown:
            yield _foreign_fields(unknown, index)
        criteria = task.get("verification_criteria")
        for number, criterion in enumerate(criteria if isinstance(criteria, list) else ()):
            if isinstance(criterion, dict):
                yield from _foreign_in_criterion(
                    criterion, ("tasks", index, "verification_criteria", number)
                )


def _foreign_in_criterion(
    criterion: Mapping[str, JsonValue], place: tuple[str | int, ...]
) -> Iterator[ForeignPart]:
    for name in criterion:
        plain = _plain(name)
        is_ignored = plain in _FIELDS or plain.startswith("expect")
        if name not in CommandCriterion.model_fields and is_ignored:
            yield ForeignPart(
                place=(*place, name),
                message=f"has a field {_quoted(name)} in a criterion, which ralph does not check",
                hint="A command passes when it exits with status 0: let the command itself check that.",
            )


def _foreign_fields(unknown: Mapping[str, str], index: int) -> ForeignPart:
    first = next(iter(unknown))
    names = " and ".join(f"{_quoted(name)} to {ours}" for name, ours in list(unknown.items())[:5])
    return ForeignPart(
        place=("tasks", index, first),
        message=f"has a field {_quoted(first)}, which ralph's plans do not have",
        hint=f"Rename {names}. {PLAN_FROM_FILE}",
    )


def _ralph_field(name: str, *, described: bool) -> str:
    plain = _plain(name)
    if plain in _INSTEAD_OF_DESCRIPTION:
        return "" if described else DESCRIPTION
    return _FIELDS.get(plain, "")


def _plain(name: str) -> str:
    """Normalize a name to lower-case letters and digits, so that `acceptanceCriteria` equals `acceptance_criteria`."""
    return "".join(c for c in name.casefold() if c.isalnum())


def _quoted(name: str) -> str:
    return repr(one_line(name, 60))
