"""Turns the entries of a foreign file into tasks, for every importer.

This module decides which ids ralph can use, what a priority word means, when a criterion is a command,
and what makes a file unusable: duplicate ids, unknown dependencies, cycles, too many tasks.
"""

import hashlib
import json
import re
import textwrap
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.plan.plan import (
    DEFAULT_PRIORITY,
    ImplementationPlan,
    Origin,
    Task,
    TaskStatus,
)
from ralph_tui.domain.plan.plan_validation import odd_id, plan_problems
from ralph_tui.domain.sanitize import inert, one_line, without_controls
from ralph_tui.domain.verification.check_commands import runnable_command
from ralph_tui.domain.verification.verification import CommandCriterion, Criterion
from ralph_tui.interop.formats import (
    MAX_TASKS,
    Edit,
    Imported,
    ImportOptions,
    InteropError,
    LeftOut,
    Source,
    edited,
)

MAX_TITLE = 300
MAX_TEXT = 20_000
"""Longest description, in characters; more than an agent should read before it starts."""
MAX_CRITERION = 2_000
MAX_CRITERIA = 200
MAX_FOREIGN_ID = 1_000
MAX_DEPENDENCIES = 200_000
"""Most dependencies of all tasks together. A group that waits for another one has as many as there are pairs."""

MEMBERS = "members"
"""The key in `Origin.foreign` under which a task for a whole group keeps the ids of its entries."""


@dataclass(frozen=True)
class PlanEntry:
    """One item of a foreign file that is to become a task.

    Attributes:
        id: Its id in the file, which stays the same when the file is edited and imported again.
        criteria: Criteria as written; `criterion` decides which are commands.
        commands: Commands from a field for commands; those that do not read as one become prose criteria.
        waits_for: The file's ids of its dependencies, each with the line that names it.
        blocked: Why it cannot be worked on; empty if it can.
        members: The entries of the group that it represents, if any.
        marks: The edit of the file for each status that it can have there; empty if ralph does not write it.
    """

    id: str
    title: str
    line: int
    text: str = ""
    criteria: Sequence[str] = ()
    commands: Sequence[str] = ()
    waits_for: Mapping[str, int] = field(default_factory=dict)
    done: bool = False
    blocked: str = ""
    held: bool = False
    priority: int = DEFAULT_PRIORITY
    group: str = ""
    labels: Sequence[str] = ()
    notes: str = ""
    members: "Sequence[PlanEntry]" = ()
    marks: Mapping[TaskStatus, Edit] = field(default_factory=dict)

    @property
    def status(self) -> TaskStatus:
        blocked = TaskStatus.BLOCKED if self.blocked else TaskStatus.PENDING
        return TaskStatus.COMPLETE if self.done else blocked

    def waiting_only_for(self, known: Container[str]) -> "PlanEntry":
        return replace(self, waits_for={d: at for d, at in self.waits_for.items() if d in known})


@dataclass(frozen=True)
class Listing:
    """The entries of a foreign file before they are checked; the other fields are those of `Imported`."""

    entries: Iterable[PlanEntry]
    title: str = ""
    description: str = ""
    branch: str = ""
    left_out: Sequence[LeftOut] = ()
    remarks: Sequence[str] = ()
    unread: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Format:
    """A format of ralph's own.

    Attributes:
        sniff: Scores from 0 to 100 whether a file is in this format.
        listing: Returns what is in a file.
        also: Other names under which people know it.
    """

    name: str
    sniff: Callable[[Source], int]
    listing: Callable[[Source, ImportOptions], Listing]
    also: Sequence[str] = ()

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        return import_listing(self.listing(source, wanted), self.name, source, wanted)


@dataclass(frozen=True)
class WritableFormat(Format):
    """A format whose states are written back, each in its place. `new` returns a new file for a plan."""

    new: Callable[[ImplementationPlan], str] | None = None

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        if not before.text.strip():
            if self.new is not None:
                return self.new(plan)
            what = f"ralph can update {self.name} files but cannot create them"
            raise InteropError("--as", 0, what, "Choose prd, wiggum or todo.")
        tasks, edits = tasks_by_foreign_id(plan, self.name, before.name), list[Edit]()
        for entry in self.listing(before, ImportOptions()).entries:
            if (task := tasks.get(entry.id)) is not None:
                now = task.status if task.status in entry.marks else TaskStatus.PENDING
                # A task for a group does not know which of its members are done.
                knows = now is TaskStatus.COMPLETE or not represents_group(task)
                if now is not entry.status and knows:
                    edits.append(entry.marks[now])
        return edited(before.text, edits)


def import_listing(
    listing: Listing, format_: str, source: Source, wanted: ImportOptions
) -> Imported:
    left_out = list(listing.left_out)
    listed = _entries_within_limits(listing, format_, source)
    _require_unique(listed, source)
    entries, remarks = _without_left_out(listed, left_out, source)
    _require_no_cycle(entries, source, "")
    if wanted.by == "group":
        if not any(entry.group for entry in entries):
            remarks.append("The file has no groups, so `--by group` changes nothing.")
        entries = by_group(entries)
        _require_no_cycle(
            entries, source, "Groups depend on each other. Import the file with `--by task`."
        )
    names = _usable_ids(entries)
    changed = [entry.id for entry in entries if names[entry.id] != entry.id]
    if changed:
        shown = shortlist([f"{one_line(i, 30)!r} becomes {names[i]}" for i in changed], 3)
        remarks.append(f"Changed {plural(len(changed), 'ID')} that ralph cannot use: {shown}.")
    bounded = [_bounded(entry, source) for entry in entries]
    cut = [names[entry.id] for entry, was_cut in bounded if was_cut]
    if cut:
        remarks.append(
            f"Long text was cut in {shortlist(cut, 3)}. The file still has the whole text."
        )
    tasks = tuple(_task(entry, format_, source, names) for entry, _ in bounded)
    return Imported(
        format=format_,
        tasks=tasks,
        title=one_line(listing.title, MAX_TITLE),
        description=without_controls(listing.description).strip()[:MAX_TEXT],
        branch=one_line(listing.branch, 200),
        left_out=tuple(
            replace(out, id=one_line(out.id, 80), title=one_line(out.title, MAX_TITLE))
            for out in left_out
        ),
        remarks=(*listing.remarks, *remarks),
        lines={names[entry.id]: entry.line for entry in entries},
        unread=listing.unread,
    )


_WORDS: Mapping[str, int] = {
    **dict.fromkeys(("critical", "urgent", "blocker", "highest"), 0),
    **dict.fromkeys(("high", "important"), 1),
    **dict.fromkeys(("medium", "normal", "moderate", "med"), 2),
    "low": 3,
    **dict.fromkeys(("lowest", "backlog", "trivial", "minor"), 4),
}
"""Priority words of all formats, on the scale of beads: 0 is critical, 2 is normal, 4 is the backlog."""


def priority_of(word: str) -> int | None:
    """Return the number of a priority such as `high`, `P1`, `priority: low` or `p2-normal`; None for other words."""
    plain = word.strip().casefold()
    plain = re.sub(r"^(?:priority|prio)\s*[:/=_ -]\s*", "", plain)
    if found := re.fullmatch(r"p([0-4])(?:\W.*)?", plain):
        return int(found[1])
    return _WORDS.get(re.sub(r"\s+priority$", "", plain))


_PROGRAM = re.compile(r"(?:\./)?[a-z][a-z0-9_.+/-]*")
_ASSIGNMENT = re.compile(r"[A-Z_][A-Z0-9_]*=\S*")
_PROGRAMS = frozenset(
    re.split(
        r"\s+",
        "act ansible ant bash bats bazel black bun bundle cargo cat clang cmake coverage ctest curl cypress deno "
        "detox diff docker docker-compose dotnet eslint flake8 flutter go golangci-lint gradle gradlew grep helm "
        "hatch isort java jest just kubectl ls make mix mocha mvn mypy ninja node nox npm npx nx pdm phpunit pip "
        "playwright pnpm poetry pre-commit prettier psql pylint pyright pytest python python3 rails rake redis-cli "
        "rg rspec ruby ruff rustc sbt sh shellcheck sqlite3 stack swift task terraform test tox tsc turbo uv uvx "
        "vitest wrangler xcodebuild yarn zig",
    )
)
"""Programs that run checks. A text in backticks that starts with one of them is a command."""


def criterion(text: str) -> Criterion:
    """Return one line of a foreign file as a criterion.

    `runnable_command` decides whether a criterion is a command. Other tools also put backticks around file names,
    routes and identifiers, so a text that does not read as a command loses its backticks and becomes prose.
    """
    line = " ".join(part.strip() for part in without_controls(text).strip().splitlines())
    line = line[: MAX_CRITERION - 1] + "…" if len(line) > MAX_CRITERION else line
    command = runnable_command(line)
    if command is None or _reads_as_command(command):
        return line
    return line.replace("`", "").removeprefix("$ ").strip()


def command_criterion(text: str) -> Criterion:
    """Return one command of a foreign file as a criterion; a text that does not read as a command becomes prose."""
    command = without_controls(text).strip()
    single = "\n" not in command and len(command) <= MAX_CRITERION
    return (
        CommandCriterion(command=command)
        if single and _reads_as_command(command)
        else criterion(text)
    )


def _reads_as_command(command: str) -> bool:
    words = command.split()
    while words and _ASSIGNMENT.fullmatch(words[0]):
        words = words[1:]
    if not words or command.endswith("…") or not _PROGRAM.fullmatch(words[0]):
        return False
    if words[0] in _PROGRAMS or words[0].startswith("./"):
        return True
    return any(word.startswith("-") or word in {"&&", "||", "|"} for word in words[1:])


def slug(text: str, limit: int = 60) -> str:
    words = re.findall(r"\w+", inert(text[: limit * 8]).casefold())
    made = "-".join(words)
    return made if len(made) <= limit else made[: limit + 1].rpartition("-")[0] or made[:limit]


def tasks_by_foreign_id(plan: ImplementationPlan, format_: str, path: str) -> Mapping[str, Task]:
    """Return the tasks that came from a file, by the file's own ids. A task for a group has several of them."""
    found: dict[str, Task] = {}
    for task in plan.tasks:
        origin = task.origin
        if origin is not None and origin.format == format_ and origin.path == path:
            members = origin.foreign.get(MEMBERS)
            ids = members if isinstance(members, list) else [origin.id]
            found.update((str(member), task) for member in ids)
    return found


def represents_group(task: Task) -> bool:
    return task.origin is not None and MEMBERS in task.origin.foreign


def by_group(entries: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Return one entry for each group, in the order of the file; entries without a group stay as they are."""
    groups: dict[tuple[str, str], list[PlanEntry]] = {}
    for entry in entries:
        groups.setdefault((entry.group, "" if entry.group else entry.id), []).append(entry)
    taken = {single: 1 for _, single in groups if single}
    ids: dict[str, str] = {}
    for (group, single), members in groups.items():
        own = single or free_id(slug(group) or f"group-of-{members[0].id}", taken)
        ids.update((member.id, own) for member in members)
    return [_merged(members, ids, group) for (group, _), members in groups.items()]


def _merged(members: Sequence[PlanEntry], ids: Mapping[str, str], group: str) -> PlanEntry:
    first, own = members[0], ids[members[0].id]
    waits = [(ids[dep], at) for m in members for dep, at in m.waits_for.items() if ids[dep] != own]
    if not group:
        return replace(first, waits_for=dict(waits))
    open_ = [member for member in members if not member.done]
    matter = open_ or members
    parts = []
    for member in members:
        mark = "done: " if member.done else "blocked: " if member.blocked else ""
        text = textwrap.indent(member.text.strip(), "  ", lambda _: True)
        parts.append(f"- {mark}{member.id}: {member.title}" + (f"\n{text}" if text else ""))
    is_blocked = bool(open_) and all(member.blocked for member in open_)
    return PlanEntry(
        id=own,
        title=group,
        line=first.line,
        text="\n".join(parts),
        criteria=tuple(dict.fromkeys(each for m in matter for each in m.criteria)),
        commands=tuple(dict.fromkeys(each for m in matter for each in m.commands)),
        waits_for=dict(waits),
        done=not open_,
        blocked="; ".join(f"{m.id}: {m.blocked}" for m in open_) if is_blocked else "",
        held=bool(open_) and all(member.held for member in open_),
        priority=min(member.priority for member in matter),
        group=group,
        labels=tuple(dict.fromkeys(label for member in members for label in member.labels)),
        notes="\n".join(f"{m.id}: {m.notes}" for m in members if m.notes),
        members=members,
    )


def _entries_within_limits(listing: Listing, format_: str, source: Source) -> list[PlanEntry]:
    entries = list(listing.entries)
    dependencies = 0
    for number, entry in enumerate(entries, 1):
        dependencies += len(entry.waits_for)
        what = f"{MAX_TASKS:,} tasks" if number > MAX_TASKS else ""
        what = what or (f"{MAX_DEPENDENCIES:,} dependencies" * (dependencies > MAX_DEPENDENCIES))
        if what:
            raise InteropError(source.name, entry.line, f"more than {what}", "Split the file.")
    if not entries:
        number = len(listing.left_out)
        left = f", and {number} {'entry was' if number == 1 else 'entries were'} left out"
        what = f"no tasks found{left if number else ''}"
        hint = f"The file was read as {format_}. Choose another format with `--as`."
        raise InteropError(source.name, 0, what, hint)
    return entries


def _require_unique(entries: Sequence[PlanEntry], source: Source) -> None:
    seen: dict[str, int] = {}
    for entry in entries:
        if len(entry.id) > MAX_FOREIGN_ID:
            what = f"an ID has {len(entry.id):,} characters, the maximum is {MAX_FOREIGN_ID:,}"
            raise InteropError(source.name, entry.line, what, "Shorten the ID.")
        if entry.id in seen:
            first, second = sorted(
                (seen[entry.id], entry.line)
            )  # the entries may be in another order
            what = f"the ID {one_line(entry.id, 60)!r} is used twice, first in line {first}"
            raise InteropError(source.name, second, what, "Change one of the two IDs.")
        seen[entry.id] = entry.line


def _without_left_out(
    entries: Sequence[PlanEntry], left_out: Sequence[LeftOut], source: Source
) -> tuple[list[PlanEntry], list[str]]:
    known, gone = {entry.id for entry in entries}, {out.id for out in left_out}
    kept: list[PlanEntry] = []
    dropped: list[str] = []
    for entry in entries:
        for dep, line in entry.waits_for.items():
            if dep not in known and dep not in gone:
                raise InteropError(
                    source.name,
                    line or entry.line,
                    f"{one_line(entry.id, 60)!r} depends on {one_line(dep, 60)!r}, which is not in the file",
                    "Correct the dependency or remove it.",
                )
            if dep not in known:
                dropped.append(f"{one_line(entry.id, 40)} on {one_line(dep, 40)}")
        kept.append(entry.waiting_only_for(known))
    remarks = [f"Dropped dependencies on skipped entries: {shortlist(dropped, 5)}."]
    return kept, remarks if dropped else []


def _require_no_cycle(entries: Sequence[PlanEntry], source: Source, hint: str) -> None:
    lines = {entry.id: entry.line for entry in entries}
    problems = plan_problems([(entry.id, tuple(entry.waits_for)) for entry in entries])
    loop = next((problem.path for problem in problems if problem.kind == "cycle"), ())
    if loop:
        path = " → ".join(one_line(task_id, 40) for task_id in loop[:10])
        more = " → …" if len(loop) > 10 else ""
        raise InteropError(
            source.name,
            lines[loop[0]],
            f"tasks depend on each other in a cycle: {path}{more}",
            hint or "Remove one of these dependencies.",
        )


def _usable_ids(entries: Sequence[PlanEntry]) -> Mapping[str, str]:
    names = {entry.id: entry.id for entry in entries if entry.id.strip() and not odd_id(entry.id)}
    taken = dict.fromkeys(names, 1)
    for number, entry in enumerate(entries, 1):
        if entry.id not in names:
            stem = slug(entry.id) or f"task-{number:03}"
            names[entry.id] = free_id(stem, taken)
    return names


def free_id(stem: str, taken: dict[str, int]) -> str:
    """Return the stem, or the stem with a number, and take it; `taken` has the highest number tried for each name."""
    name, number = stem, taken.get(stem, 1)
    while name in taken:
        number += 1
        name = f"{stem}-{number}"
    taken[stem] = number
    taken.setdefault(name, 1)
    return name


def _bounded(entry: PlanEntry, source: Source) -> tuple[PlanEntry, bool]:
    number = len(entry.criteria) + len(entry.commands)
    if number > MAX_CRITERIA:
        raise InteropError(
            source.name,
            entry.line,
            f"{one_line(entry.id, 60)!r} has {number:,} criteria, the maximum is {MAX_CRITERIA}",
            "Split the task.",
        )
    title = re.sub(r"\s+", " ", without_controls(entry.title)).strip()
    text, notes = without_controls(entry.text).strip("\n"), without_controls(entry.notes).strip()
    cut = len(title) > MAX_TITLE or max(len(text), len(notes)) > MAX_TEXT
    cut = cut or any(len(each) > MAX_CRITERION for each in entry.criteria)
    bounded = replace(
        entry,
        title=_cut(title, MAX_TITLE),
        text=_cut(text, MAX_TEXT),
        notes=_cut(notes, MAX_TEXT),
        group=one_line(entry.group, MAX_TITLE),
        labels=tuple(one_line(label, 80) for label in entry.labels[:50]),
    )
    return bounded, cut


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _task(entry: PlanEntry, format_: str, source: Source, names: Mapping[str, str]) -> Task:
    title = entry.title or one_line(entry.text, MAX_TITLE) or names[entry.id]
    text = "" if entry.text.strip() == title else entry.text
    criteria = [
        *(criterion(each) for each in entry.criteria),
        *(command_criterion(each) for each in entry.commands),
    ]
    ids: list[JsonValue] = [member.id for member in entry.members]
    members: dict[str, JsonValue] = {MEMBERS: ids} if ids else {}
    return Task(
        id=names[entry.id],
        description=f"{title}\n\n{text}" if text.strip() else title,
        priority=entry.priority,
        status=entry.status,
        dependencies=tuple(names[dep] for dep in entry.waits_for),
        verification_criteria=tuple(c for c in criteria if c),
        blockers=(one_line(entry.blocked, 500),) if entry.blocked and not entry.done else (),
        held=entry.held and not entry.done,
        group=entry.group,
        labels=tuple(entry.labels),
        notes=entry.notes,
        origin=Origin(
            format=format_,
            path=source.name,
            id=entry.id,
            hash=_hash(entry),
            foreign=members,
        ),
    )


def _hash(entry: PlanEntry) -> str:
    if entry.members:
        # Not of the text, which says which of the members are done.
        return _digest([entry.title, *map(_hash, entry.members)])
    criteria, waits = [*entry.criteria, *entry.commands], list(entry.waits_for)
    about = [entry.title, entry.text, criteria, waits, entry.priority, entry.group]
    return _digest([*about, list(entry.labels), entry.notes])


def _digest(words: object) -> str:
    return hashlib.sha256(json.dumps(words).encode("utf-8", "replace")).hexdigest()
