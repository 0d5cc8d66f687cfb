"""Detect plans of other tools in ralph's plan file, by their shape and their field names. Pure functions.

Unknown fields are usually kept and ignored. But a plan is refused if an unknown field holds a task's description,
criteria, status or dependencies, because its tasks would run without them.
"""

from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import chain
from typing import NamedTuple

from pydantic import JsonValue

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


class ForeignPart(NamedTuple):
    """A part of a plan file that ralph does not read and that must not be ignored."""

    place: tuple[str | int, ...]
    """The keys and indexes of the part; empty for the file as a whole."""
    message: str
    """What is wrong, as the rest of a sentence that begins with the file or the task."""
    hint: str


_NAMES: Mapping[str, str] = {
    CRITERIA: "acceptance acceptancecriteria checks criteria criterion steps tests teststrategy verification verificationcriteria",
    STATUS: "completed definitionofdone done passed passes state status",
    DEPENDENCIES: "blockedby dependencies depends dependson",
    DESCRIPTION: "description details",
    TASKS: "subtasks",
}
_FIELDS = {name: ours for ours, names in _NAMES.items() for name in names.split()}
"""Names, normalized by `_plain`, that mean something to ralph, and ralph's field for each."""

_INSTEAD_OF_DESCRIPTION = ("name", "summary", "content", "task", "story", "text")
"""Field names that are harmless beside a description or title, but otherwise hold the description."""

_TOP_LEVEL = ("userStories", "stories", "queue", "phases", "features", "issues")
"""Lists in files of other tools, which may also have `tasks`."""


def foreign_file(why: str, *place: str) -> ForeignPart:
    message = f"{why}, as in files of other tools, and is not a plan of ralph's"
    return ForeignPart(place, message, f"{SHAPE} {PLAN_FROM_FILE}")


def foreign_part(document: JsonValue) -> ForeignPart | None:
    """Return the first part of a plan file that matters and that ralph would ignore, or None."""
    if not isinstance(document, dict):
        return foreign_file("is a list of tasks") if _has_objects(document) else None
    parts = chain(_foreign_shapes(document), _foreign_in_tasks(document.get("tasks")))
    return next(parts, None)


def _has_objects(value: JsonValue) -> bool:
    return isinstance(value, list) and any(isinstance(item, dict) for item in value)


def _foreign_shapes(document: Mapping[str, JsonValue]) -> Iterator[ForeignPart]:
    has_tasks = "tasks" in document
    for name, value in document.items():
        if _has_objects(value) and (name in _TOP_LEVEL or not has_tasks):
            yield foreign_file(f"has a list {_quoted(name)}", name)
        if isinstance(value, dict) and isinstance(value.get("tasks"), list) and not has_tasks:
            yield foreign_file(f"has its tasks under {_quoted(name)}", name)
    described = not document.keys().isdisjoint(("description", "title"))
    if "id" in document and described and not has_tasks:
        yield foreign_file("is a single task")
    for name in document:
        ours = _FIELDS.get(_plain(name), "")
        if name not in ImplementationPlan.model_fields and ours in {CRITERIA, STATUS, DEPENDENCIES}:
            message = f"has a field {_quoted(name)} beside 'tasks', which ralph does not read"
            hint = "Only a task has a status, criteria and dependencies: move the field into the tasks, or remove it."
            yield ForeignPart((name,), message, hint)


def _foreign_in_tasks(tasks: JsonValue) -> Iterator[ForeignPart]:
    for index, task in enumerate(tasks if isinstance(tasks, list) else ()):
        if not isinstance(task, dict):
            continue
        described = any(str(task.get(name) or "").strip() for name in ("description", "title"))
        meant = (
            _FIELDS if described else _FIELDS | dict.fromkeys(_INSTEAD_OF_DESCRIPTION, DESCRIPTION)
        )
        known = (*Task.model_fields, "title")
        unknown = {
            name: meant[_plain(name)]
            for name in task
            if name not in known and _plain(name) in meant
        }
        for first in list(unknown)[:1]:
            names = (f"{_quoted(name)} to {ours}" for name, ours in list(unknown.items())[:5])
            message = f"has a field {_quoted(first)}, which ralph's plans do not have"
            hint = f"Rename {' and '.join(names)}. {PLAN_FROM_FILE}"
            yield ForeignPart(("tasks", index, first), message, hint)
        criteria = task.get("verification_criteria")
        for number, criterion in enumerate(criteria if isinstance(criteria, list) else ()):
            for name in criterion if isinstance(criterion, dict) else ():
                is_ignored = _plain(name) in _FIELDS or _plain(name).startswith("expect")
                if is_ignored and name not in CommandCriterion.model_fields:
                    message = (
                        f"has a field {_quoted(name)} in a criterion, which ralph does not check"
                    )
                    hint = "A command passes when it exits with status 0: let the command itself check that."
                    yield ForeignPart(
                        ("tasks", index, "verification_criteria", number, name), message, hint
                    )


@cache
def _plain(name: str) -> str:
    """Normalize a name to lower-case letters and digits, so that `acceptanceCriteria` equals `acceptance_criteria`, and mend a long one."""
    plain = "".join(c for c in name.casefold() if c.isalnum())
    near = get_close_matches(plain, (one for one in _FIELDS if len(one) > 7), 1, 0.9)
    return (plain, *near)[-1]


def _quoted(name: str) -> str:
    return repr(one_line(name, 60))
