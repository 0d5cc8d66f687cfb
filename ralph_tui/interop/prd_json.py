"""Reads and writes the prd.json files of snarktank/ralph, ralph-hybrid, ralph-tui by subsy, and wiggum in Go."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry, import_listing, tasks_by_foreign_id
from ralph_tui.interop.formats import Imported, ImportOptions, Source
from ralph_tui.interop.json_document import JsonDocument, outline, pretty
from ralph_tui.interop.json_fields import (
    BLOCKED,
    DONE,
    OPEN,
    States,
    body,
    criteria,
    criterion_text,
    dependencies,
    first_text,
    needs_change,
    priority,
    priority_word,
    required_id,
    state_of,
    unused_fields_remark,
)
from ralph_tui.interop.json_reader import Node

_WAITS = ("dependsOn", "dependencies", "depends_on", "blockedBy")
_COMMANDS = ("run", "quality", "preCommit", "successCriteria")
_GUIDANCE = (
    "technicalNotes",
    "implementationNotes",
    "details",
    "context",
    "approach",
    "spec_ref",
    "specRef",
    "files",
)
"""Fields with guidance for the agent, from related tools; they are added to a task's notes."""

_KNOWN = frozenset(
    (
        *("id", "title", "description", "acceptanceCriteria", "e2eTests", "priority", "passes"),
        *("notes", "completionNotes", "labels", "tags", *_WAITS, *_COMMANDS, *_GUIDANCE),
    )
)


class Prd:
    """A prd.json with `userStories`, in any of its three dialects."""

    name = "prd"

    def sniff(self, source: Source) -> int:
        """Score a file by its list of stories."""
        keys = outline(source.head)
        if "userStories[].passes" in keys:
            return 95
        return 70 if "userStories" in keys else 0

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        document = JsonDocument(source)
        stories = _required(document, "userStories")
        listing = Listing(
            format=self.name,
            entries=(_story(document, node) for node in stories),
            title=first_text(document, document.root, "name", "project", "feature"),
            description=document.text(document.root, "description"),
            branch=document.text(document.root, "branchName"),
            remarks=[
                *_commands_for_all(document),
                *unused_fields_remark(
                    (key for node in stories for key in node.members or ()), _KNOWN
                ),
            ],
        )
        return import_listing(listing, source, wanted)

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Set `passes` of each story in the file, or write a new file in the format of snarktank/ralph."""
        if not before.text.strip():
            return pretty(_new_prd(plan))
        document = JsonDocument(before)
        tasks = tasks_by_foreign_id(plan, self.name, before.name)
        return document.with_edits(_flags(document, tasks))


def _required(document: JsonDocument, key: str) -> Sequence[Node]:
    root = document.root
    if root.members is None or root.get(key) is None:
        raise document.error(
            root, f"there is no list {key!r}", "Choose another format with `--as`."
        )
    return document.objects(root, key)


def _story(document: JsonDocument, node: Node) -> PlanEntry:
    id_ = required_id(document, node, "a story")
    if node.get("passes") is None and (status := node.get("status")) is not None:
        raise document.error(
            status, "a story has 'status' but no 'passes'", 'Write "passes": true or false.'
        )
    text = document.text(node, "description")
    number = priority(document, node)
    return PlanEntry(
        id=id_,
        title=document.text(node, "title") or one_line(text),
        line=document.line(node),
        text=text,
        criteria=criteria(document, node, "acceptanceCriteria", "e2eTests"),
        commands=_commands(document, node),
        waits_for=dependencies(document, node, *_WAITS),
        done=document.flag(node, "passes"),
        priority=DEFAULT_PRIORITY if number is None else number,
        labels=(*document.texts(node, "labels"), *document.texts(node, "tags")),
        notes="\n".join((*_notes(document, node), *_guidance(document, node))),
    )


def _commands(document: JsonDocument, node: Node) -> Sequence[str]:
    found: list[str] = []
    for key in (*_COMMANDS, "acceptanceCriteria"):
        member = node.get(key)
        if member is None:
            continue
        for item in member.items if member.items is not None else [member]:
            if item.members is not None:
                found.append(first_text(document, item, "command", "testCommand"))
            elif key in _COMMANDS:
                found.append(document.scalar_text(item, key))
    return tuple(command for command in dict.fromkeys(found) if command.strip())


def _notes(document: JsonDocument, node: Node) -> Iterator[str]:
    text = first_text(document, node, "notes", "completionNotes")
    if text.strip():
        yield text


def _guidance(document: JsonDocument, node: Node) -> Iterator[str]:
    for key in _GUIDANCE:
        member = node.get(key)
        if member is not None and member.members is None:
            texts = [text for text in document.texts(node, key) if text.strip()]
            if texts:
                yield f"{key}: {', '.join(texts)}"


def _commands_for_all(document: JsonDocument) -> Iterator[str]:
    root = document.root
    found = list(_commands(document, root))
    for holder in (root, root.get("metadata")):
        if holder is not None and (gates := holder.get("qualityGates")) is not None:
            found += document.texts(holder, "qualityGates") if gates.members is None else ()
    for command in dict.fromkeys(found):
        shown = one_line(command, 100)
        yield f"The file runs `{shown}` for every story. To run it for every task, add it to `backpressure` in the config."


def _flags(document: JsonDocument, tasks: Mapping[str, Task]) -> Iterator[tuple[int, int, str]]:
    for node in _required(document, "userStories"):
        task = tasks.get(document.text(node, "id"))
        passes = document.flag(node, "passes")
        if task is None or not needs_change(task, DONE if passes else _open_as(task)):
            continue
        yield document.edit(node, "passes", not passes)


def _open_as(task: Task) -> str:
    return BLOCKED if state_of(task) == BLOCKED else OPEN


def _new_prd(plan: ImplementationPlan) -> JsonValue:
    with_order = any(task.dependencies for task in plan.tasks)
    stories: list[JsonValue] = []
    for task in plan.tasks:
        story: dict[str, JsonValue] = {
            "id": task.id,
            "title": task.title,
            "description": body(task),
            "acceptanceCriteria": [criterion_text(each) for each in task.verification_criteria],
            "priority": task.priority,
            "passes": state_of(task) == DONE,
        }
        if with_order:
            story["dependsOn"] = list(task.dependencies)
        stories.append({**story, "notes": task.notes})
    return {
        "project": plan.title or "Plan",
        "branchName": "",
        "description": plan.description,
        "userStories": stories,
    }


_STATES = States(
    "status",
    done=("done", "complete", "completed"),
    open=("todo", "in-progress", "pending"),
    blocked=("failed", "blocked"),
)
_ORDERED = (
    "dependencies",
    "subtasks",
    "testStrategy",
    "verification_criteria",
    "acceptanceCriteria",
)
"""Fields that tasks of Taskmaster and of ralph have, but those of wiggum do not."""


class Wiggum:
    """The prd.json of chr1sbest/wiggum: `tasks` with a status and a priority in words."""

    name = "wiggum"

    def sniff(self, source: Source) -> int:
        """Score a file by tasks that are neither Taskmaster's nor ralph's own."""
        keys = outline(source.head)
        if not {"tasks[].id", "tasks[].title"} <= keys or any(
            f"tasks[].{key}" in keys for key in _ORDERED
        ):
            return 0
        telling = "tasks[].tests" in keys or "tasks[].details" in keys
        named = source.name.replace("\\", "/").rpartition("/")[2] == "prd.json"
        return 90 if named and telling else 75 if named or telling else 50

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        document = JsonDocument(source)
        tasks = _required(document, "tasks")
        known = frozenset(
            ("id", "title", "details", "description", "priority", "status", "tests", *_WAITS)
        )
        listing = Listing(
            format=self.name,
            entries=(_task(document, node, source) for node in tasks),
            title=first_text(document, document.root, "name", "project"),
            remarks=unused_fields_remark(
                (key for node in tasks for key in node.members or ()), known
            ),
        )
        return import_listing(listing, source, wanted)

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Set the status of each task in the file, or write a new file."""
        if not before.text.strip():
            return pretty({"version": 1, "tasks": [_new_task(task) for task in plan.tasks]})
        document = JsonDocument(before)
        tasks = tasks_by_foreign_id(plan, self.name, before.name)
        edits = []
        for node in _required(document, "tasks"):
            task = tasks.get(document.text(node, "id"))
            if task is not None and needs_change(task, _STATES.read(document, node)[0]):
                edits.append(document.edit(node, "status", _STATES.word(state_of(task))))
        return document.with_edits(edits)


def _task(document: JsonDocument, node: Node, source: Source) -> PlanEntry:
    state, word = _STATES.read(document, node)
    number = priority(document, node)
    text = first_text(document, node, "details", "description")
    return PlanEntry(
        id=required_id(document, node, "a task"),
        title=document.text(node, "title") or one_line(text),
        line=document.line(node),
        text=text,
        criteria=criteria(document, node, "tests"),
        waits_for=dependencies(document, node, *_WAITS),
        done=state == DONE,
        blocked=f"{word} in {one_line(source.name, 100)}" if state == BLOCKED else "",
        priority=DEFAULT_PRIORITY if number is None else number,
    )


def _new_task(task: Task) -> JsonValue:
    return {
        "id": task.id,
        "title": task.title,
        "details": body(task),
        "priority": priority_word(task),
        "status": _STATES.word(state_of(task)),
        "tests": "; ".join(criterion_text(each) for each in task.verification_criteria),
    }
