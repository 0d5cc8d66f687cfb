"""Merges imported tasks into the plan: matches them by origin, and keeps complete tasks and a person's edits."""

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
from ralph_tui.domain.plan.plan_validation import MAX_ID
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
"""Format, path and id, by which an imported task is found again."""

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

MOST_COMMANDS = 5_000
"""As many as tasks. The guard judges each of them."""

_WORDS = {"verification_criteria": "criteria", "priority": "priority number"}
_FILE_STATES = frozenset({TaskStatus.COMPLETE, TaskStatus.BLOCKED})
"""The states that a new task takes from the file; otherwise it is pending."""

Verdicts = Mapping[str, ImportedCommand]
"""The guard's verdict on each command, by command."""


@dataclass(frozen=True)
class Incoming:
    """The import of one file.

    Attributes:
        name: The file as the person named it, for messages.
        path: The path for `Origin.path`, relative to the project; empty for standard input.
        imported: The result of the importer.
    """

    name: str
    path: str
    imported: Imported


@dataclass(frozen=True)
class Merged:
    """The plan after an import, with its preview.

    Attributes:
        preview: What the import changes.
        adopted: Ids of the tasks that become complete only because the file says so; ralph has not verified them.
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
    """Return the distinct commands that an import would add, for the guard to judge.

    Commands of tasks that are in the plan already and have not changed are left out.
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
        verdicts: The guard's verdicts; a command without one is refused.
        checks: The project's checks, which define what a criterion such as `tests` runs.
    """
    report = _MergeReport()
    known = _known(plan, incoming)
    retired = _retired(plan, incoming)
    named = _ids_in_plan(plan, incoming, {**retired, **known}, report)
    after = {task.id: task for task in plan.tasks}
    places: dict[str, tuple[str, int]] = {}
    for one in incoming:
        ids = {task.id: named[_key_of(one, task)] for task in one.imported.tasks}
        if len(ids) != len(one.imported.tasks):
            raise InteropError(one.name, 0, f"the importer {one.imported.format} used an ID twice")
        for task in one.imported.tasks:
            if (gone := retired.get(_key_of(one, task))) is not None:
                report.row(ImportChange.SAME, task.model_copy(update={"id": gone.id}), "archived")
                continue
            there = known.get(_key_of(one, task))
            new_id = ids[task.id]
            places[new_id] = (one.name, one.imported.lines.get(task.id, 0))
            clean, commands = _sanitized(one, task, ids, verdicts, checks)
            if there is None:
                after[new_id] = _added(clean, at, one, report)
                report.commands += commands
            elif (now := _updated(there, clean, at, one, report)) is not there:
                after[new_id] = now
                if now.verification_criteria != there.verification_criteria:
                    report.commands += commands
        _report_missing(plan, one, named, report)
    merged = ImplementationPlan(  # a new plan drops dependencies on retired tasks
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
    for task_id, verification in evidence.items():
        plan = plan.with_task(task_id, verification=verification)
    return plan


def _remarks(incoming: Sequence[Incoming]) -> Iterator[str]:
    for one in incoming:
        yield from one.imported.remarks


def _key(origin: Origin) -> Key:
    return origin.format, origin.path, origin.id


def _key_of(one: Incoming, task: Task) -> Key:
    return one.imported.format, one.path, (task.origin.id if task.origin else "") or task.id


def _known(plan: ImplementationPlan, incoming: Sequence[Incoming]) -> dict[Key, Task]:
    """Return the plan's tasks by origin.

    A task that was never imported matches a task of the file with the same id and title, because ralph may have
    written the file.
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
    by_origin = {_key(task.origin): task for task in plan.retired if task.origin is not None}
    own = {(task.id, task.title): task for task in plan.retired if task.origin is None}
    keys = ((_key_of(one, task), task) for one in incoming for task in one.imported.tasks)
    found = ((key, by_origin.get(key) or own.get((task.id, task.title))) for key, task in keys)
    return {key: task for key, task in found if task is not None}


def _ids_in_plan(
    plan: ImplementationPlan,
    incoming: Sequence[Incoming],
    known: Mapping[Key, Task | RetiredTask],
    report: _MergeReport,
) -> dict[Key, str]:
    taken = set(plan.taken_ids())
    theirs = {task.id for one in incoming for task in one.imported.tasks}
    named: dict[Key, str] = {}
    for one in incoming:
        for task in one.imported.tasks:
            key = _key_of(one, task)
            if key in named:
                line = one.imported.lines.get(task.id, 0)
                raise InteropError(one.name, line, f"the ID {key[2]!r:.80} is used twice")
            if (there := known.get(key)) is not None:
                named[key] = there.id
                continue
            name = task.id
            if name in taken:
                free = (f"{name[: MAX_ID - 6]}-{number}" for number in count(2))
                name = next(made for made in free if made not in taken and made not in theirs)
                report.remarks.append(
                    f"Another task already has the ID {task.id}, so the imported one is {name}."
                )
            taken.add(name)
            named[key] = name
    return named


def _sanitized(
    one: Incoming,
    task: Task,
    ids: Mapping[str, str],
    verdicts: Verdicts,
    checks: ProjectChecks,
) -> tuple[Task, list[ImportedCommand]]:
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
    """Return a refused command as a prose criterion, which is never run."""
    about = criterion.description if isinstance(criterion, CommandCriterion) else ""
    return f"{REFUSED}{about + ': ' if about else ''}{command}"


def _shown(task: Task, name: str) -> str:
    return task.model_dump_json(include={name})


def _hash(texts: Sequence[str]) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _added(task: Task, at: datetime, one: Incoming, report: _MergeReport) -> Task:
    if task.status is not TaskStatus.COMPLETE:
        held = "held" if task.held else "blocked" if task.status is TaskStatus.BLOCKED else ""
        report.row(ImportChange.NEW, task, held)
        return task
    report.row(ImportChange.NEW, task, f"complete in the file, {NOT_VERIFIED}")
    return _adopted(task, at, one, report)


def _adopted(task: Task, at: datetime, one: Incoming, report: _MergeReport) -> Task:
    """Return the task as complete but not verified, because the file marks it as complete."""
    report.adopted.append(task.id)
    reason = f"complete in {one_line(one.name, 100)}, {NOT_VERIFIED}"
    verification = TaskVerification(
        outcome=VerificationOutcome.UNVERIFIED, at=at, by="import", reason=reason
    )
    update = {
        "status": TaskStatus.COMPLETE,
        "completed_at": at,
        "completion_notes": task.completion_notes or reason,
        "verification": verification,
        "blockers": (),
        "held": False,
        "begun": None,
    }
    return task.model_copy(update=update)


def _updated(there: Task, new: Task, at: datetime, one: Incoming, report: _MergeReport) -> Task:
    old, origin = there.origin, new.origin
    assert origin is not None
    is_other = old is None or old.hash != origin.hash
    finishes = new.status is TaskStatus.COMPLETE
    if there.status is TaskStatus.COMPLETE:
        detail = "changed in the file, but complete here, so it is not updated" if is_other else ""
        if not finishes:
            detail = detail or "open in the file, but complete here, so it stays complete"
        report.row(ImportChange.SAME, there, detail)
        return there
    if there.status is TaskStatus.IN_PROGRESS and (is_other or finishes):
        detail = "changed in the file, but in progress here. Import again later"
        report.row(ImportChange.SAME, there, detail)
        return there
    if not is_other and not finishes:
        report.row(ImportChange.SAME, there)
        return there
    # All fields of a task that was never imported count as the person's own.
    follows = old is not None and is_other
    edited = [name for name in _FIELDS if not follows or _is_edited(there, name)]
    fields: dict[str, object] = {name: getattr(new, name) for name in _FIELDS if name not in edited}
    # A field that the person edited keeps its old hash, so that it also counts as edited next time.
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
    details += [f"keeps your {kept}"] if kept else []
    now = _adopted(now, at, one, report) if finishes else now
    other = "other details" if old is not None else "same text, now linked to the file"
    report.row(ImportChange.CHANGED, now, "; ".join(details) or other)
    return now


def _is_edited(task: Task, name: str) -> bool:
    was = task.origin.fields.get(name) if task.origin is not None else None
    return was is not None and was != _hash([_shown(task, name)])


def _report_missing(
    plan: ImplementationPlan, one: Incoming, named: Mapping[Key, str], report: _MergeReport
) -> None:
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
        why = reasons.get(origin.id, "no longer in the file")
        stays = (
            "" if task.status is TaskStatus.COMPLETE else f". Remove it with `ralph drop {task.id}`"
        )
        report.row(ImportChange.GONE, task, f"{why}, stays in the plan{stays}")


def _require_workable(
    before: ImplementationPlan,
    after: ImplementationPlan,
    incoming: Sequence[Incoming],
    places: Mapping[str, tuple[str, int]],
) -> None:
    """Check that the import makes the plan neither unworkable nor too long."""
    if len(after.tasks) > MAX_TASKS and len(after.tasks) > len(before.tasks):
        what = f"the plan would have {len(after.tasks):,} tasks, the maximum is {MAX_TASKS:,}"
        raise InteropError(incoming[0].name, 0, what)
    old = {problem.message for problem in before.problems()}
    for problem in after.problems():
        if problem.message not in old:
            involved = [name for name in (problem.task_id, *problem.path) if name in places]
            name, line = places[involved[0]] if involved else (incoming[0].name, 0)
            raise InteropError(name, line, problem.message.rstrip("."))
