"""Merges imported tasks into the plan: the file's words replace the old ones, except in complete tasks and a person's edits."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime

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
from ralph_tui.interop.foreign_tasks import free_id
from ralph_tui.interop.formats import MAX_TASKS, Imported, InteropError

NOT_VERIFIED = "not verified by ralph"
REFUSED = "Not run, refused by the guard: "
MOST_COMMANDS = 5_000

_FIELDS = (
    *("description", "priority", "verification_criteria"),
    *("dependencies", "group", "labels", "notes"),
)
"""What follows the file, unless the person edited one of them."""
_WORDS = {"verification_criteria": "criteria", "priority": "priority number"}

Key = tuple[str, str, str]
"""Format, path and id, by which an imported task is found again."""

Verdicts = Mapping[str, ImportedCommand]


@dataclass(frozen=True)
class Incoming:
    """The import of one file: its name for messages, and its path in the project, empty for standard input."""

    name: str
    path: str
    imported: Imported

    @property
    def tasks(self) -> Iterator[tuple[Key, Task]]:
        for task in self.imported.tasks:
            own = task.origin.id if task.origin else ""
            yield (self.imported.format, self.path, own or task.id), task


@dataclass(frozen=True)
class Merged:
    """The plan after an import, with its preview.

    Attributes:
        adopted: Ids of the tasks that become complete only because the file says so; ralph has not verified them.
    """

    plan: ImplementationPlan
    preview: ImportPreview
    adopted: tuple[str, ...] = ()


def commands_in(
    plan: ImplementationPlan, incoming: Incoming, checks: ProjectChecks
) -> tuple[str, ...]:
    """Return the distinct commands that an import would add, for the guard to judge.

    Commands of tasks that are in the plan already and have not changed are left out.
    """
    same = {(_key(task.origin), task.origin.hash) for task in plan.tasks if task.origin is not None}
    found: dict[str, None] = {}
    for key, task in incoming.tasks:
        if (key, task.origin.hash if task.origin else "") not in same:
            commands = (runnable_command(c, checks) for c in task.verification_criteria)
            found.update((command, None) for command in commands if command)
    if len(found) > MOST_COMMANDS:
        what = f"its criteria are more than {MOST_COMMANDS:,} different commands"
        raise InteropError(incoming.name, 0, what, "Split the file.")
    return tuple(found)


def merge(
    plan: ImplementationPlan,
    incoming: Incoming,
    *,
    verdicts: Verdicts,
    checks: ProjectChecks,
    at: datetime,
) -> Merged:
    """Merge the tasks of a file into a plan.

    Args:
        verdicts: The guard's verdicts; a command without one is refused.
        checks: The project's checks, which define what a criterion such as `tests` runs.
    """
    work = _Merge(plan, incoming, verdicts, checks, at)
    work.take()
    imported = incoming.imported
    merged = ImplementationPlan(  # a new plan drops dependencies on retired tasks
        **{
            **dict(plan),
            "tasks": tuple(work.after.values()),
            "created_at": plan.created_at or at,
            "title": plan.title or imported.title,
            "description": plan.description or imported.description,
        }
    )
    work.require_workable(merged)
    preview = ImportPreview(
        source=incoming.name,
        format=imported.format,
        rows=tuple(work.rows),
        commands=tuple(work.commands),
        remarks=tuple(dict.fromkeys((*work.remarks, *imported.remarks))),
    )
    if not preview.changes_plan:
        return Merged(plan, preview)
    return Merged(merged, preview, tuple(work.adopted))


@dataclass
class _Merge:
    plan: ImplementationPlan
    file: Incoming
    verdicts: Verdicts
    checks: ProjectChecks
    at: datetime
    rows: list[ImportRow] = field(default_factory=list)
    commands: list[ImportedCommand] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    adopted: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.after = {task.id: task for task in self.plan.tasks}
        self._there = self._found_again()
        self._named = self._ids()
        self._lines: dict[str, int] = {}

    def take(self) -> None:
        ids = {task.id: self._named[key] for key, task in self.file.tasks}
        for key, task in self.file.tasks:
            there = self._there.get(key)
            if isinstance(there, RetiredTask):
                self._row(ImportChange.SAME, there.id, task.title, "archived")
                continue
            self._lines[ids[task.id]] = self.file.imported.lines.get(task.id, 0)
            clean, commands = self._sanitized(key, task, ids)
            now = self._added(clean) if there is None else self._updated(there, clean)
            if there is None or now.verification_criteria != there.verification_criteria:
                self.commands += commands
            self.after[now.id] = now
        self._report_missing()

    def require_workable(self, merged: ImplementationPlan) -> None:
        if len(merged.tasks) > max(MAX_TASKS, len(self.plan.tasks)):
            what = f"the plan would have {len(merged.tasks):,} tasks, the maximum is {MAX_TASKS:,}"
            raise InteropError(self.file.name, 0, what)
        old = {problem.message for problem in self.plan.problems()}
        for problem in merged.problems():
            if problem.message not in old:
                involved = (problem.task_id, *problem.path)
                line = next((self._lines[name] for name in involved if name in self._lines), 0)
                raise InteropError(self.file.name, line, problem.message.rstrip("."))

    def _found_again(self) -> dict[Key, Task | RetiredTask]:
        """Return the plan's task for each task of the file that was imported before.

        A task that was never imported matches a task of the file with the same id and title, because ralph may have
        written the file.
        """
        held: tuple[Task | RetiredTask, ...] = (*self.plan.retired, *self.plan.tasks)
        found = {_key(task.origin): task for task in held if task.origin is not None}
        own = {(task.id, task.title): task for task in held if task.origin is None}
        for key, task in self.file.tasks:
            if key not in found and (same := own.pop((task.id, task.title), None)):
                found[key] = same
        return found

    def _ids(self) -> dict[Key, str]:
        taken = dict.fromkeys(self.plan.taken_ids(), 1)
        used = {task.id: 1 for _, task in self.file.tasks} | taken
        named: dict[Key, str] = {}
        own: set[str] = set()
        for key, task in self.file.tasks:
            if key in named or task.id in own:
                line = self.file.imported.lines.get(task.id, 0)
                raise InteropError(self.file.name, line, f"the ID {key[2]!r:.80} is used twice")
            own.add(task.id)
            name, there = task.id, self._there.get(key)
            if there is None and name in taken:
                name = free_id(name[: MAX_ID - 6], used)
                self.remarks.append(
                    f"Another task already has the ID {task.id}, so the imported one is {name}."
                )
            named[key] = there.id if there is not None else name
            taken[named[key]] = 1
        return named

    def _sanitized(
        self, key: Key, task: Task, ids: Mapping[str, str]
    ) -> tuple[Task, list[ImportedCommand]]:
        """Return the task with what a file may say, and its commands with the guard's verdicts."""
        criteria, commands = list[Criterion](), list[ImportedCommand]()
        for criterion in task.verification_criteria:
            if (command := runnable_command(criterion, self.checks)) is None:
                criteria.append(criterion)
                continue
            judged = self.verdicts.get(command, _unjudged(command))
            commands.append(judged.model_copy(update={"task_id": ids[task.id]}))
            about = criterion.description if isinstance(criterion, CommandCriterion) else ""
            refused = f"{REFUSED}{about and f'{about}: '}{command}"  # as prose, which is never run
            criteria.append(refused if judged.is_refused else criterion)
        is_blocked = task.status is TaskStatus.BLOCKED
        states = (TaskStatus.COMPLETE, TaskStatus.BLOCKED)
        clean = Task(
            **{name: getattr(task, name) for name in (*_FIELDS, "estimated_tokens", "held")}
            | {
                "id": ids[task.id],
                "status": task.status if task.status in states else TaskStatus.PENDING,
                "dependencies": tuple(dict.fromkeys(ids.get(d, d) for d in task.dependencies)),
                "verification_criteria": tuple(criteria),
                "blockers": task.blockers if is_blocked else (),
            }
        )
        origin = task.origin or Origin(format=self.file.imported.format)
        words = [clean.description, str(clean.priority), *map(str, criteria)]
        filled = {
            **dict(zip(("format", "path", "id"), key, strict=True)),
            "hash": origin.hash or _hash("\0".join(words)),
            "written": _hash_of(clean),
        }
        return clean.model_copy(update={"origin": origin.model_copy(update=filled)}), commands

    def _added(self, task: Task) -> Task:
        if task.status is TaskStatus.COMPLETE:
            detail = f"complete in the file, {NOT_VERIFIED}"
            self._row(ImportChange.NEW, task.id, task.title, detail)
            return self._adopted(task)
        blocked = "blocked" if task.status is TaskStatus.BLOCKED else ""
        self._row(ImportChange.NEW, task.id, task.title, "held" if task.held else blocked)
        return task

    def _adopted(self, task: Task) -> Task:
        """Return the task as complete but not verified, because the file marks it as complete."""
        self.adopted.append(task.id)
        reason = f"complete in {one_line(self.file.name, 100)}, {NOT_VERIFIED}"
        update = {
            "status": TaskStatus.COMPLETE,
            "completed_at": self.at,
            "completion_notes": task.completion_notes or reason,
            "verification": TaskVerification(
                outcome=VerificationOutcome.UNVERIFIED, at=self.at, by="import", reason=reason
            ),
            "blockers": (),
            "held": False,
            "begun": None,
        }
        return task.model_copy(update=update)

    def _updated(self, there: Task, new: Task) -> Task:
        old, origin = there.origin, new.origin
        assert origin is not None
        is_other = old is None or old.hash != origin.hash
        finishes = new.status is TaskStatus.COMPLETE
        # All fields of a task that was never imported count as the person's own.
        is_edited = old is None or old.written != _hash_of(there)
        stays = None
        if there.status is TaskStatus.COMPLETE:
            stays = "" if finishes else "open in the file, but complete here, so it stays complete"
            if is_other:
                stays = "changed in the file, but complete here, so it is not updated"
        elif not is_other and not finishes:
            stays = ""
        elif there.status is TaskStatus.IN_PROGRESS:
            stays = "changed in the file, but in progress here. Import again later"
        elif old is not None and is_edited and not finishes:
            stays = "changed in the file, but edited here, so it is not updated"
        if stays is not None:
            self._row(ImportChange.SAME, there.id, there.title, stays)
            return there
        fields = {} if is_edited else {name: getattr(new, name) for name in _FIELDS}
        changed = [name for name in fields if getattr(there, name) != fields[name]]
        if old is not None and is_edited:
            origin = origin.model_copy(update={"written": old.written})
        now = there.model_copy(update={**fields, "origin": origin})
        details = (f"complete in the file, {NOT_VERIFIED}" if finishes else "", _listed(changed))
        other = "other details" if old is not None else "same text, now linked to the file"
        detail = "; ".join(filter(None, details)) or other
        self._row(ImportChange.CHANGED, now.id, now.title, detail)
        return self._adopted(now) if finishes else now

    def _report_missing(self) -> None:
        one = self.file
        reasons = {left.id: left.reason for left in one.imported.left_out}
        for left in one.imported.left_out:
            self._row(ImportChange.LEFT_OUT, left.id, left.title, left.reason)
        for task in self.plan.tasks:
            origin = task.origin
            if origin is None or (origin.format, origin.path) != (one.imported.format, one.path):
                continue
            if _key(origin) not in self._named and origin.id not in one.imported.unread:
                is_complete = task.status is TaskStatus.COMPLETE
                way = "" if is_complete else f". Remove it with `ralph drop {task.id}`"
                why = reasons.get(origin.id, "no longer in the file")
                self._row(ImportChange.GONE, task.id, task.title, f"{why}, stays in the plan{way}")

    def _row(self, change: ImportChange, id_: str, title: str, detail: str = "") -> None:
        shown = one_line(title, 200)
        self.rows.append(ImportRow(change=change, id=id_, title=shown, detail=detail))


def _unjudged(command: str) -> ImportedCommand:
    why = "it was not judged"
    return ImportedCommand(task_id="", command=command, verdict="deny", reason=why)


def _listed(fields: Iterable[str]) -> str:
    return ", ".join(_WORDS.get(name, name) for name in fields)


def _key(origin: Origin) -> Key:
    return origin.format, origin.path, origin.id


def _hash_of(task: Task) -> str:
    return _hash(task.model_dump_json(include=set(_FIELDS)))


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]
