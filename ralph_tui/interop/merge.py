"""Merges what was read from a file into the plan: matches by origin, keeps what is done and what a person edited."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import count

from ralph_tui.domain.plan.import_preview import (
    ImportChange,
    ImportedCommand,
    ImportPreview,
    ImportRow,
)
from ralph_tui.domain.plan.plan import ImplementationPlan, Origin, RetiredTask, Task, TaskStatus
from ralph_tui.domain.plan.plan_validation import MAX_ID, PlanProblem
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.check_commands import ProjectChecks, runnable_command
from ralph_tui.domain.verification.verification import (
    CommandCriterion,
    Criterion,
    TaskVerification,
    VerificationOutcome,
)
from ralph_tui.interop.formats import MAX_TASKS, Imported, InteropError

Key = tuple[str, str, str]
"""Format, path and id: what an imported task is found again by."""

NOT_VERIFIED = "not verified by ralph"
REFUSED = "Not run, refused by the guard: "
_FIELDS = (
    "description",
    "priority",
    "verification_criteria",
    "dependencies",
    "group",
    "labels",
    "notes",
)
"""What a later import may change, unless the person edited it meanwhile."""

MOST_COMMANDS = 5_000
"""As many as there may be tasks; the guard reads each of them."""

_WORDS = {"verification_criteria": "criteria", "priority": "priority number"}
_FILE_STATES = frozenset({TaskStatus.COMPLETE, TaskStatus.BLOCKED})
"""States that a file can give to a new task; all others begin as pending."""

Verdicts = Mapping[str, ImportedCommand]
"""What the guard says about each command, by the command."""


@dataclass(frozen=True)
class Incoming:
    """What was read from one file.

    Attributes:
        name: The file as the person named it, for messages.
        path: What its tasks remember; relative to the project, empty for standard input.
        imported: What the importer made of it.
    """

    name: str
    path: str
    imported: Imported


@dataclass(frozen=True)
class Merged:
    """The plan after an import, and what a person is shown of it first.

    Attributes:
        plan: The merged plan.
        preview: What is going to happen.
        adopted: Ids of tasks that become complete because the file says so; ralph has verified none of them.
    """

    plan: ImplementationPlan
    preview: ImportPreview
    adopted: tuple[str, ...] = ()


@dataclass
class _MergeReport:
    rows: list[ImportRow] = field(default_factory=list)
    commands: list[ImportedCommand] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)

    def row(self, change: ImportChange, task: Task, detail: str = "") -> None:
        self.rows.append(
            ImportRow(change=change, id=task.id, title=one_line(task.title, 200), detail=detail)
        )


def commands_in(
    plan: ImplementationPlan, incoming: Sequence[Incoming], checks: ProjectChecks
) -> tuple[str, ...]:
    """Return the commands that an import would bring, each once, for the guard to judge.

    Those of tasks that the plan has already, and that have not changed, are left out: they are not touched.

    Raises:
        InteropError: They are more than anybody would read.
    """
    same = {(_key(t.origin), t.origin.hash) for t in plan.tasks if t.origin is not None}
    found: dict[str, None] = {}
    for one in incoming:
        for task in one.imported.tasks:
            if (_key_of(one, task), task.origin.hash if task.origin else None) in same:
                continue
            commands = (runnable_command(c, checks) for c in task.verification_criteria)
            found.update((command, None) for command in commands if command)
        if len(found) > MOST_COMMANDS:
            what = f"its criteria are more than {MOST_COMMANDS:,} different commands"
            raise InteropError(one.name, 0, what, "Split the file.")
    return tuple(found)


def merge(
    plan: ImplementationPlan,
    incoming: Sequence[Incoming],
    *,
    verdicts: Verdicts,
    checks: ProjectChecks,
    at: datetime,
) -> Merged:
    """Merge the tasks of files into a plan.

    Args:
        plan: The plan as it is.
        incoming: What was read, in order.
        verdicts: What the guard says about the commands in it; a command without a verdict is refused.
        checks: The project's checks, which say what a criterion such as `tests` runs.
        at: The time of the import.

    Returns:
        The merged plan with its preview.

    Raises:
        InteropError: The merged plan could not be worked on, or is too long.
    """
    report = _MergeReport()
    known = _known(plan, incoming)
    retired = _retired(plan, incoming)
    named = _names(plan, incoming, {**retired, **known}, report)
    after = {task.id: task for task in plan.tasks}
    places: dict[str, tuple[str, int]] = {}
    for one in incoming:
        ids = {task.id: named[_key_of(one, task)] for task in one.imported.tasks}
        if len(ids) != len(one.imported.tasks):
            raise InteropError(one.name, 0, f"the importer {one.imported.format} used an id twice")
        for task in one.imported.tasks:
            if (gone := retired.get(_key_of(one, task))) is not None:
                report.row(ImportChange.SAME, task.model_copy(update={"id": gone.id}), "archived")
                continue
            there = known.get(_key_of(one, task))
            new_id = ids[task.id]
            places[new_id] = (one.name, one.imported.lines.get(task.id, 0))
            clean, commands = _clean(one, task, ids, verdicts, checks)
            if there is None:
                after[new_id] = _added(clean, at, one, report)
                report.commands += commands
            elif (now := _updated(there, clean, at, one, report)) is not there:
                after[new_id] = now
                if now.verification_criteria != there.verification_criteria:
                    report.commands += commands
        _tell_rest(plan, one, named, report)
    merged = ImplementationPlan(  # made again, so that nothing waits for a retired task
        **{
            **dict(plan),
            "tasks": tuple(after.values()),
            "created_at": plan.created_at or at,
            "title": plan.title
            or next((o.imported.title for o in incoming if o.imported.title), ""),
            "description": plan.description
            or next((o.imported.description for o in incoming if o.imported.description), ""),
        }
    )
    _require_workable(plan, merged, incoming, places)
    first = incoming[0]
    preview = ImportPreview(
        source=first.name if len(incoming) == 1 else f"{len(incoming)} files",
        format=first.imported.format,
        rows=tuple(report.rows),
        commands=tuple(report.commands),
        remarks=tuple(dict.fromkeys((*report.remarks, *_remarks(incoming)))),
    )
    if not preview.changes_plan:
        return Merged(plan, preview)
    return Merged(merged, preview, tuple(report.adopted))


def with_evidence(
    plan: ImplementationPlan, evidence: Mapping[str, TaskVerification]
) -> ImplementationPlan:
    """Return the plan with what ralph knows about the tasks that an import made complete."""
    for task_id, rests in evidence.items():
        plan = plan.with_task(task_id, verification=rests)
    return plan


def _remarks(incoming: Sequence[Incoming]) -> Iterator[str]:
    for one in incoming:
        yield from one.imported.remarks


def _key(origin: Origin) -> Key:
    return origin.format, origin.path, origin.id


def _key_of(one: Incoming, task: Task) -> Key:
    return one.imported.format, one.path, (task.origin.id if task.origin else "") or task.id


def _known(plan: ImplementationPlan, incoming: Sequence[Incoming]) -> dict[Key, Task]:
    """Return the plan's tasks by where they come from.

    A task that was never imported is the same as one in the file with its id and its title: ralph may have
    written the file itself.
    """
    known = {_key(task.origin): task for task in plan.tasks if task.origin is not None}
    own = {(task.id, task.title): task for task in plan.tasks if task.origin is None}
    for one in incoming:
        for task in one.imported.tasks:
            key = _key_of(one, task)
            if key not in known and (same := own.pop((task.id, task.title), None)) is not None:
                known[key] = same
    return known


def _retired(plan: ImplementationPlan, incoming: Sequence[Incoming]) -> dict[Key, RetiredTask]:
    """Return the retired tasks that a file still names, by where they come from."""
    by_origin = {_key(task.origin): task for task in plan.retired if task.origin is not None}
    own = {(task.id, task.title): task for task in plan.retired if task.origin is None}
    keys = ((_key_of(one, task), task) for one in incoming for task in one.imported.tasks)
    found = ((key, by_origin.get(key) or own.get((task.id, task.title))) for key, task in keys)
    return {key: task for key, task in found if task is not None}


def _names(
    plan: ImplementationPlan,
    incoming: Sequence[Incoming],
    known: Mapping[Key, Task | RetiredTask],
    report: _MergeReport,
) -> dict[Key, str]:
    """Return the id of each incoming task in the plan: the one it has there, its own, or a free one."""
    taken = set(plan.taken_ids())
    theirs = {task.id for one in incoming for task in one.imported.tasks}
    named: dict[Key, str] = {}
    for one in incoming:
        for task in one.imported.tasks:
            key = _key_of(one, task)
            if key in named:
                line = one.imported.lines.get(task.id, 0)
                raise InteropError(one.name, line, f"the id {key[2]!r:.80} is used twice")
            if (there := known.get(key)) is not None:
                named[key] = there.id
                continue
            name = task.id
            if name in taken:
                free = (f"{name[: MAX_ID - 6]}-{number}" for number in count(2))
                name = next(made for made in free if made not in taken and made not in theirs)
                report.remarks.append(
                    f"Another task is called {task.id} already, so the imported one is called {name}."
                )
            taken.add(name)
            named[key] = name
    return named


def _clean(
    one: Incoming,
    task: Task,
    ids: Mapping[str, str],
    verdicts: Verdicts,
    checks: ProjectChecks,
) -> tuple[Task, list[ImportedCommand]]:
    """Return the task with nothing in it that only ralph or the person may say, and its commands."""
    new_id = ids[task.id]
    criteria: list[Criterion] = []
    commands: list[ImportedCommand] = []
    for criterion in task.verification_criteria:
        command = runnable_command(criterion, checks)
        if command is None:
            criteria.append(criterion)
            continue
        unknown = ImportedCommand(
            task_id="", command=command, verdict="deny", reason="it was not judged"
        )
        judged = verdicts.get(command, unknown).model_copy(update={"task_id": new_id})
        commands.append(judged)
        criteria.append(_as_words(criterion, command) if judged.is_refused else criterion)
    origin = task.origin or Origin(format=one.imported.format, id=task.id)
    clean = Task(
        id=new_id,
        description=task.description,
        priority=task.priority,
        status=task.status if task.status in _FILE_STATES else TaskStatus.PENDING,
        dependencies=tuple(dict.fromkeys(ids.get(dep, dep) for dep in task.dependencies)),
        verification_criteria=tuple(criteria),
        blockers=task.blockers if task.status is TaskStatus.BLOCKED else (),
        estimated_tokens=task.estimated_tokens,
        held=task.held,
        group=task.group,
        labels=task.labels,
        notes=task.notes,
    )
    filled = origin.model_copy(
        update={
            "format": one.imported.format,
            "path": one.path,
            "id": origin.id or task.id,
            "hash": origin.hash
            or _hash([clean.description, str(clean.priority), *map(str, criteria)]),
            "fields": {name: _hash([_shown(clean, name)]) for name in _FIELDS},
        }
    )
    return clean.model_copy(update={"origin": filled}), commands


def _as_words(criterion: Criterion, command: str) -> str:
    """Return a refused command as a criterion that is read and never run."""
    said = criterion.description if isinstance(criterion, CommandCriterion) else ""
    return f"{REFUSED}{said + ': ' if said else ''}{command}"


def _shown(task: Task, name: str) -> str:
    return task.model_dump_json(include={name})


def _hash(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _added(task: Task, at: datetime, one: Incoming, report: _MergeReport) -> Task:
    """Return a task that the plan does not have yet."""
    if task.status is not TaskStatus.COMPLETE:
        held = "held" if task.held else "blocked" if task.status is TaskStatus.BLOCKED else ""
        report.row(ImportChange.NEW, task, held)
        return task
    report.row(ImportChange.NEW, task, f"complete in the file, {NOT_VERIFIED}")
    return _adopted(task, at, one, report)


def _adopted(task: Task, at: datetime, one: Incoming, report: _MergeReport) -> Task:
    """Return the task as complete on the file's word."""
    report.adopted.append(task.id)
    reason = f"complete in {one_line(one.name, 100)}, {NOT_VERIFIED}"
    rests = TaskVerification(
        outcome=VerificationOutcome.UNVERIFIED, at=at, by="import", reason=reason
    )
    update = {
        "status": TaskStatus.COMPLETE,
        "completed_at": at,
        "completion_notes": task.completion_notes or reason,
        "verification": rests,
        "blockers": (),
        "held": False,
        "begun": None,
    }
    return task.model_copy(update=update)


def _updated(there: Task, new: Task, at: datetime, one: Incoming, report: _MergeReport) -> Task:
    """Return a task of an earlier import as it is after this one; the same object when nothing changes."""
    old, origin = there.origin, new.origin
    assert origin is not None
    is_other = old is None or old.hash != origin.hash
    finishes = new.status is TaskStatus.COMPLETE
    if there.status is TaskStatus.COMPLETE:
        told = "changed in the file, but complete: stays as it is" if is_other else ""
        if not finishes:
            told = told or "complete here, open in the file: stays complete"
        report.row(ImportChange.SAME, there, told)
        return there
    if there.status is TaskStatus.IN_PROGRESS and (is_other or finishes):
        told = "changed in the file, but in progress: stays as it is; import again later"
        report.row(ImportChange.SAME, there, told)
        return there
    if not is_other and not finishes:
        report.row(ImportChange.SAME, there)
        return there
    # A task that was never imported is all the person's own.
    follows = old is not None and is_other
    edited = [name for name in _FIELDS if not follows or _is_edited(there, name)]
    fields: dict[str, object] = {name: getattr(new, name) for name in _FIELDS if name not in edited}
    # What the person edited keeps its old hash, so that it counts as edited the next time, too.
    before = old or origin
    hashes = {name: (before if name in edited else origin).fields.get(name, "") for name in _FIELDS}
    now = there.model_copy(
        update={**fields, "origin": origin.model_copy(update={"fields": hashes})}
    )
    details = [f"complete in the file, {NOT_VERIFIED}"] if finishes else []
    changed = [_WORDS.get(n, n) for n in fields if getattr(there, n) != fields[n]]
    details += [", ".join(changed)] if changed else []
    differs = [n for n in edited if is_other and getattr(there, n) != getattr(new, n)]
    kept = ", ".join(_WORDS.get(name, name) for name in differs)
    details += [f"your {kept} stays"] if kept else []
    now = _adopted(now, at, one, report) if finishes else now
    other = "other details" if old is not None else "the same words, imported from now on"
    report.row(ImportChange.CHANGED, now, "; ".join(details) or other)
    return now


def _is_edited(task: Task, name: str) -> bool:
    """Return whether the person changed a field since it was imported."""
    was = task.origin.fields.get(name) if task.origin is not None else None
    return was is not None and was != _hash([_shown(task, name)])


def _tell_rest(
    plan: ImplementationPlan, one: Incoming, named: Mapping[Key, str], report: _MergeReport
) -> None:
    """Tell what the file has and the plan will not, and what the plan has and the file does not any more."""
    for left in one.imported.left_out:
        row = ImportRow(
            change=ImportChange.LEFT_OUT,
            id=left.id,
            title=one_line(left.title, 200),
            detail=left.reason,
        )
        report.rows.append(row)
    reasons = {left.id: left.reason for left in one.imported.left_out}
    for task in plan.tasks:
        origin = task.origin
        if origin is None or (origin.format, origin.path) != (one.imported.format, one.path):
            continue
        if _key(origin) in named or origin.id in one.imported.unread:
            continue
        why = reasons.get(origin.id, "not in the file any more")
        stays = (
            "" if task.status is TaskStatus.COMPLETE else f"; remove it with `ralph drop {task.id}`"
        )
        report.row(ImportChange.GONE, task, f"{why}: stays in the plan{stays}")


def _require_workable(
    before: ImplementationPlan,
    after: ImplementationPlan,
    incoming: Sequence[Incoming],
    places: Mapping[str, tuple[str, int]],
) -> None:
    """Refuse a plan that the loop could not work on because of what is new in it."""
    if len(after.tasks) > MAX_TASKS and len(after.tasks) > len(before.tasks):
        what = f"the plan would have {len(after.tasks):,} tasks, more than {MAX_TASKS:,}"
        raise InteropError(incoming[0].name, 0, what)
    old = set(map(_told, before.problems()))
    for problem in after.problems():
        if _told(problem) not in old:
            involved = [name for name in (problem.task_id, *problem.path) if name in places]
            name, line = places[involved[0]] if involved else (incoming[0].name, 0)
            raise InteropError(name, line, problem.message.rstrip("."))


def _told(problem: PlanProblem) -> str:
    return problem.message
