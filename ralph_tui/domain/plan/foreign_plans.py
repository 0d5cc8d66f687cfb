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


_PRD = "prd.json (snarktank/ralph, ralph-tui, ralph-hybrid)"
_TASKMASTER = "Taskmaster"

_FIELDS: Mapping[str, tuple[str, str]] = {
    "acceptancecriteria": (f"{_PRD}, Taskmaster or beads", CRITERIA),
    "passes": (_PRD, STATUS),
    "dependson": (_PRD, DEPENDENCIES),
    "teststrategy": (_TASKMASTER, CRITERIA),
    "subtasks": (_TASKMASTER, TASKS),
    "details": (_TASKMASTER, DESCRIPTION),
    "done": ("another tool's task list", STATUS),
    "completed": ("ralphy", STATUS),
    "steps": ("feature_list.json", CRITERIA),
    "blockedby": ("ralph-orchestrator or beads", DEPENDENCIES),
    **dict.fromkeys(
        ("acceptance", "checks", "criteria", "criterion", "tests", "verification"), ("", CRITERIA)
    ),
    **dict.fromkeys(("definitionofdone", "passed", "state", "status"), ("", STATUS)),
    **dict.fromkeys(("dependancies", "depends", "dependencies"), ("", DEPENDENCIES)),
    "verificationcriteria": ("", CRITERIA),
    "description": ("", DESCRIPTION),
}
"""Names, normalized by `_plain`, that mean something to ralph: the tool that uses the name, and ralph's field for it."""

_ONLY_IN_TASKS = (CRITERIA, STATUS, DEPENDENCIES)

_INSTEAD_OF_DESCRIPTION = ("name", "summary", "content", "task", "story", "text")
"""Field names that are harmless beside a description or title, but otherwise hold the description."""

_TOP_LEVEL: Mapping[str, str] = {
    "userStories": _PRD,
    "stories": "a prd.json of iannuttall/ralph",
    "queue": "a queue.json of ralph-claude-code",
    "phases": "an implementation_plan.json of Auto-Claude",
    "features": "a feature list of another tool",
    "issues": "a list of issues of another tool",
}
"""Top-level lists in files of other tools, and which tool writes them."""


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
    if not any(isinstance(item, dict) for item in items):
        return None
    return _foreign_file((), "is a list of tasks, as other tools write it")


def foreign_lines(first: Mapping[str, JsonValue]) -> ForeignPart:
    tool = "beads" if "issue_type" in first else "beads or ralph-orchestrator"
    return _foreign_file((), f"has one JSON object on each line, as {tool} write them")


def _foreign_file(place: tuple[str | int, ...], why: str) -> ForeignPart:
    message = f"{why}, and is not a plan of ralph's"
    return ForeignPart(place=place, message=message, hint=f"{SHAPE} {PLAN_FROM_FILE}")


def _foreign_shape(document: Mapping[str, JsonValue]) -> ForeignPart | None:
    for name, tool in _TOP_LEVEL.items():
        if _has_objects(document.get(name)):
            return _foreign_file((name,), f"has {name!r} at its top level like {tool}")
    if "tasks" in document:
        return None
    for name, value in document.items():
        if isinstance(value, dict) and isinstance(value.get("tasks"), list):
            return _foreign_file(
                (name,), f"has its tasks under {_quoted(name)} like Taskmaster's tasks.json"
            )
        if _has_objects(value):
            return _foreign_file((name,), f"has a list {_quoted(name)} but no 'tasks'")
    if "id" in document and not document.keys().isdisjoint(("description", "title")):
        return _foreign_file((), "is a single task")
    return None


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
    tool = _FIELDS.get(_plain(first), ("", ""))[0]
    names = " and ".join(f"{_quoted(name)} to {ours}" for name, ours in list(unknown.items())[:5])
    return ForeignPart(
        place=("tasks", index, first),
        message=f"has a field {_quoted(first)}, which ralph's plans do not have"
        + (f"; it comes from {tool}" if tool else ""),
        hint=f"Rename {names}.{f' {PLAN_FROM_FILE}' if tool else ''}",
    )


def _ralph_field(name: str, *, described: bool) -> str:
    plain = _plain(name)
    if plain in _INSTEAD_OF_DESCRIPTION:
        return "" if described else DESCRIPTION
    return _FIELDS.get(plain, ("", ""))[1]


def _plain(name: str) -> str:
    """Normalize a name to lower-case letters and digits, so that `acceptanceCriteria` equals `acceptance_criteria`."""
    return "".join(c for c in name.casefold() if c.isalnum())


def _quoted(name: str) -> str:
    return repr(one_line(name, 60))
