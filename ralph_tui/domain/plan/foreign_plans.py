"""Finds plans of other tools in the place of ralph's, by their shape and their field names.

A field that ralph does not read is kept, unless losing it would lose what a task must do or when it is
done. Such a plan is refused, because its tasks would run without their criteria. Pure functions.
"""

import re
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
    """A part of a plan file that ralph's plans do not have and that must not be lost.

    Attributes:
        place: Keys and indexes that lead to it; empty for the file as a whole.
        message: What is wrong, as the rest of a sentence that begins with the file or the task.
        hint: What to do about it.
    """

    place: tuple[str | int, ...]
    message: str
    hint: str


_PRD = "prd.json (snarktank/ralph, ralph-tui, ralph-hybrid)"
_TASKMASTER = "Taskmaster"

_FOREIGN_FIELDS: Mapping[str, tuple[str, str]] = {
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
}
"""Other tools' names of what ralph calls otherwise, without capitals and underscores: whose, and ours."""

_INSTEAD_OF_DESCRIPTION = ("name", "summary", "content", "task", "story", "text")
"""Harmless beside a description or a title; the only words of a task without one."""

_TELLING = (
    *((stem, CRITERIA) for stem in ("criteri", "accept", "check", "test", "verif")),
    *((stem, STATUS) for stem in ("status", "state", "done", "complete", "pass")),
    ("depend", DEPENDENCIES),
)
"""What a name contains that represents a criterion, a status or a dependency."""

_INNOCENT = (
    "abandoned|attest|autocomplete|bypass|checkout|compass|contest|estate|fastest|greatest|latest"
    "|passage|passenger|passion|passive|passphrase|passport|passthrough|password|protest|statement|testimon"
)
"""Words that contain one of these by chance."""

_FIELDS: Mapping[str, str] = {
    "description": "description",
    "dependencies": "dependencies",
    "priority": "priority",
    "verificationcriteria": "verification_criteria",
}
"""Fields that are missed when their names are misspelled."""

_TOP_LEVEL: Mapping[str, str] = {
    "userStories": _PRD,
    "stories": "a prd.json of iannuttall/ralph",
    "queue": "a queue.json of ralph-claude-code",
    "phases": "an implementation_plan.json of Auto-Claude",
    "features": "a feature list of another tool",
    "issues": "a list of issues of another tool",
}
"""Lists at the top of other tools' files: whose."""


def foreign_part(document: Mapping[str, JsonValue]) -> ForeignPart | None:
    """Return the first part of a plan file that the plan depends on and ralph would lose, or None."""
    if (whole := _foreign_shape(document)) is not None:
        return whole
    known = ImplementationPlan.model_fields
    for name in document:
        if name not in known and _meaning(name):
            return _refused_above(name)
    tasks = document.get("tasks")
    return next(_foreign_in_tasks(tasks), None) if isinstance(tasks, list) else None


def foreign_list(items: Sequence[JsonValue]) -> ForeignPart | None:
    """Do the same for a file that is a list; None when there is no task in it."""
    if not any(isinstance(item, dict) for item in items):
        return None
    return _not_ours((), "is a list of tasks, as other tools write it")


def foreign_lines(first: Mapping[str, JsonValue]) -> ForeignPart:
    """Do the same for a file with one JSON object on each line, of which `first` is the first."""
    whose = "beads" if "issue_type" in first else "beads or ralph-orchestrator"
    return _not_ours((), f"has one JSON object on each line, as {whose} write them")


def _not_ours(place: tuple[str | int, ...], why: str) -> ForeignPart:
    """Refuse a whole file of another tool."""
    message = f"{why}, and is not a plan of ralph's"
    return ForeignPart(place=place, message=message, hint=f"{SHAPE} {PLAN_FROM_FILE}")


def _foreign_shape(document: Mapping[str, JsonValue]) -> ForeignPart | None:
    """Recognize another tool's file as a whole by its top level."""
    for name, whose in _TOP_LEVEL.items():
        if _has_objects(document.get(name)):
            return _not_ours((name,), f"has {name!r} at its top level like {whose}")
    if "tasks" in document:
        return None
    for name, value in document.items():
        if isinstance(value, dict) and isinstance(value.get("tasks"), list):
            return _not_ours(
                (name,), f"has its tasks under {_quoted(name)} like Taskmaster's tasks.json"
            )
        if _has_objects(value):
            return _not_ours((name,), f"has a list {_quoted(name)} but no 'tasks'")
    if "id" in document and not document.keys().isdisjoint(("description", "title")):
        return _not_ours((), "is a single task")
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
            and (ours := _ours(name, described=described))
        }
        if unknown:
            yield _refused(unknown, index)
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
        if name not in CommandCriterion.model_fields and (
            "expect" in _plain(name) or _meaning(name)
        ):
            yield ForeignPart(
                place=(*place, name),
                message=f"has a field {_quoted(name)} in a criterion, which ralph does not check",
                hint="A command passes when it exits with status 0: let the command itself check that.",
            )


def _refused(unknown: Mapping[str, str], index: int) -> ForeignPart:
    """Refuse a task's fields that must not be lost: name the first, list all in the hint."""
    first = next(iter(unknown))
    whose = _FOREIGN_FIELDS.get(_plain(first), ("", ""))[0]
    names = " and ".join(f"{_quoted(name)} to {ours}" for name, ours in list(unknown.items())[:5])
    return ForeignPart(
        place=("tasks", index, first),
        message=f"has a field {_quoted(first)}, which ralph's plans do not have"
        + (f"; it comes from {whose}" if whose else ""),
        hint=f"Rename {names}.{f' {PLAN_FROM_FILE}' if whose else ''}",
    )


def _refused_above(name: str) -> ForeignPart:
    """Refuse a field beside `tasks`."""
    return ForeignPart(
        place=(name,),
        message=f"has a field {_quoted(name)} beside 'tasks', which ralph does not read",
        hint="Only a task has a status, criteria and dependencies: move the field into the tasks, or remove it.",
    )


def _ours(name: str, *, described: bool) -> str:
    """Return ralph's name for an unknown field of a task; empty where nothing is lost with it."""
    plain = _plain(name)
    if plain in _FOREIGN_FIELDS:
        return _FOREIGN_FIELDS[plain][1]
    if plain in _INSTEAD_OF_DESCRIPTION:
        return "" if described else DESCRIPTION
    if meaning := _meaning(name):
        return meaning
    from difflib import get_close_matches  # only a field that no plan of ralph's has waits for it

    meant = get_close_matches(plain, _FIELDS, n=1, cutoff=0.8) if len(plain) > 6 else ()
    return f"`{_FIELDS[meant[0]]}`" if meant else ""


def _meaning(name: str) -> str:
    """Return what a name means by the words in it; empty where it means nothing."""
    plain = re.sub(_INNOCENT, "", _plain(name))
    return next((ours for stem, ours in _TELLING if stem in plain), "")


def _plain(name: str) -> str:
    """Strip capitals, underscores and the like: `acceptanceCriteria` is `acceptance_criteria`."""
    return "".join(c for c in name.casefold() if c.isalnum())


def _quoted(name: str) -> str:
    return repr(one_line(name, 60))
