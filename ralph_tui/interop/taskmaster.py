"""Reads and writes Taskmaster's tasks.json: with tags or in the older shape without, tasks with subtasks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry, import_listing, tasks_by_foreign_id
from ralph_tui.interop.formats import Imported, ImportOptions, LeftOut, Source
from ralph_tui.interop.json_document import JsonDocument, outline, pretty
from ralph_tui.interop.json_fields import (
    BLOCKED,
    DONE,
    States,
    body,
    criteria,
    criterion_text,
    first_text,
    needs_change,
    priority,
    priority_word,
    required_id,
    state_of,
    unused_fields_remark,
)
from ralph_tui.interop.json_reader import Node

MAIN = "master"

_CANCELLED = ("cancelled", "canceled")
_STATES = States(
    "status",
    done=("done", "completed", "complete"),
    open=("pending", "in-progress", "review", "todo", "deferred", *_CANCELLED),
    blocked=("blocked", "failed"),
)
_KNOWN = frozenset(
    (
        *(
            "id",
            "title",
            "description",
            "details",
            "testStrategy",
            "acceptanceCriteria",
            "priority",
        ),
        *(
            "status",
            "dependencies",
            "subtasks",
            "parentTaskId",
            "parentId",
            "notes",
            "labels",
            "tags",
        ),
        *("complexityScore", "complexity", "updatedAt", "createdAt"),
    )
)


class Taskmaster:
    """Taskmaster's plan. Each subtask becomes a task, and so does each task without subtasks."""

    name = "taskmaster"

    def sniff(self, source: Source) -> int:
        """Score a file by tasks under a tag, or by tasks with Taskmaster's fields."""
        keys = outline(source.head)
        if any(key.endswith("[].verification_criteria") for key in keys):
            return 0  # ralph's own plan
        own = ("dependencies", "subtasks", "testStrategy")
        if "tasks[].id" in keys:
            return 90 if any(f"tasks[].{key}" in keys for key in own) else 20
        tagged = [key for key in keys if key.endswith(".tasks[].id") and key.count(".") == 2]
        if not tagged:
            return 60 if any(_is_tag_list(key) for key in keys) else 0
        tag = tagged[0].removesuffix("id")
        return 90 if any(tag + key in keys for key in own) else 70

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        document = JsonDocument(source)
        chosen = _chosen(document, wanted.tag)
        items = list(_items(document, chosen))
        entries, left_out = _entries(document, items, source)
        remarks = list(chosen.remarks)
        forced = [
            item.id
            for item in items
            if item.forced and _STATES.read(document, item.node)[0] != DONE
        ]
        if forced:
            remarks.append(
                f"{shortlist(forced, 5)}: not done, but the parent task is, so it counts as complete."
            )
        fields = (key for item in items for key in item.node.members or ())
        listing = Listing(
            format=self.name,
            entries=entries,
            title=chosen.tag if chosen.tag != MAIN else "",
            description=chosen.description,
            left_out=left_out,
            unread=frozenset(
                item.id
                for tag in _tags(document)
                if tag.tag != chosen.tag
                for item in _items(document, tag)
            ),
            remarks=(*remarks, *unused_fields_remark(fields, _KNOWN)),
        )
        return import_listing(listing, source, wanted)

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Set the status of each task in every tag, or write a new file with a single tag."""
        if not before.text.strip():
            return pretty({MAIN: {"tasks": [_new_task(task) for task in plan.tasks]}})
        document = JsonDocument(before)
        tasks = tasks_by_foreign_id(plan, self.name, before.name)
        edits = []
        for chosen in _tags(document):
            for item in _items(document, chosen):
                task = tasks.get(item.id)
                if task is None:
                    continue
                state = DONE if item.forced else _STATES.read(document, item.node)[0]
                if needs_change(task, state):
                    edits.append(document.edit(item.node, "status", _STATES.word(state_of(task))))
        return document.with_edits(edits)


def _is_tag_list(key: str) -> bool:
    return key.count(".") == 1 and key.endswith(".tasks")


@dataclass(frozen=True)
class _Tag:
    """The tasks of one tag; the older shape is one tag without a name."""

    tag: str
    tasks: Sequence[Node]
    description: str = ""
    remarks: Sequence[str] = ()

    @property
    def prefix(self) -> str:
        return f"{self.tag}:" if self.tag not in {"", MAIN} else ""


@dataclass(frozen=True)
class _Item:
    """A task or a subtask.

    Attributes:
        id: Its id as a task of ralph: `2.1`, or `tag:2.1` outside the main tag.
        node: Its JSON value.
        prefix: The prefix of the ids of its tag.
        parts: The ids of its subtasks.
        forced: Whether it counts as done because its task is.
    """

    id: str
    node: Node
    prefix: str
    parent: "_Item | None" = None
    parts: tuple[str, ...] = ()
    forced: bool = False


def _tags(document: JsonDocument) -> Sequence[_Tag]:
    root = document.root
    if root.members is None:
        raise document.error(root, "there are no tasks", "Choose another format with `--as`.")
    if root.get("tasks") is not None:
        return [_Tag("", document.objects(root, "tasks"))]
    found = [
        _Tag(tag, document.objects(node, "tasks"), _description(document, node))
        for tag, node in root.members.items()
        if node.get("tasks") is not None
    ]
    if not found:
        raise document.error(root, "there is no list 'tasks'", "Choose another format with `--as`.")
    return found


def _description(document: JsonDocument, tag: Node) -> str:
    metadata = tag.get("metadata")
    return document.text(metadata, "description") if metadata is not None else ""


def _chosen(document: JsonDocument, wanted: str) -> _Tag:
    """Return the wanted tag, or else the main one, or else the only one."""
    tags = _tags(document)
    names = [one_line(tag.tag, 40) for tag in tags]
    if tags[0].tag == "":
        if wanted:
            raise document.error(document.root, "the file has no tags", "Omit `--tag`.")
        return tags[0]
    name = wanted or (MAIN if MAIN in names or len(tags) > 1 else tags[0].tag)
    for tag in tags:
        if tag.tag == name:
            others = [other for other in names if other != name]
            remark = (
                f"Tag {name!r} was read. Choose another one with `--tag`: {shortlist(others, 8)}."
            )
            return _Tag(
                tag.tag, tag.tasks, tag.description, (remark,) if others and not wanted else ()
            )
    shown = ", ".join(names[:20])
    what = f"there is no tag {one_line(wanted, 40)!r}" if wanted else "it has several tags"
    raise document.error(document.root, what, f"Choose one with `--tag`: {shown}.")


def _items(document: JsonDocument, tag: _Tag) -> Iterator[_Item]:
    for node in tag.tasks:
        own = required_id(document, node, "a task")
        id_ = tag.prefix + own
        done = _STATES.read(document, node)[0] == DONE
        subtasks = document.objects(node, "subtasks")
        ids = [
            id_ + "." + required_id(document, sub, "a subtask").removeprefix(f"{own}.")
            for sub in subtasks
        ]
        item = _Item(id_, node, tag.prefix, parts=tuple(ids))
        yield item
        for sub_id, sub in zip(ids, subtasks, strict=True):
            yield _Item(sub_id, sub, tag.prefix, parent=item, forced=done)


def _entries(
    document: JsonDocument, items: Sequence[_Item], source: Source
) -> tuple[Iterator[PlanEntry], list[LeftOut]]:
    left_out: list[LeftOut] = []
    gone: set[str] = set()
    for item in items:
        word = _STATES.read(document, item.node)[1]
        if word in _CANCELLED or (item.parent is not None and item.parent.id in gone):
            gone.add(item.id)
            left_out.append(LeftOut(item.id, document.text(item.node, "title"), "cancelled"))
    # A task whose subtasks were all cancelled is a task of its own.
    parts = {
        item.id: tuple(part for part in item.parts if part not in gone)
        for item in items
        if item.parent is None
    }
    entries = (
        _entry(document, item, _waits(document, item, parts), source)
        for item in items
        if item.id not in gone and not parts.get(item.id)
    )
    return entries, left_out


def _waits(
    document: JsonDocument, item: _Item, parts: Mapping[str, tuple[str, ...]]
) -> Mapping[str, int]:
    prefix = item.prefix
    waits: dict[str, int] = {}
    parent = item.parent
    siblings = set(parent.parts) if parent is not None else set()
    for dep, line in document.texts(item.node, "dependencies").items():
        sibling = f"{parent.id}.{dep}" if parent is not None else ""
        # A subtask's own number cannot mean the subtask itself, so it means the task of that number.
        inside = sibling in siblings and sibling != item.id
        waits[sibling if inside else prefix + dep] = line
    if parent is not None:
        for dep, line in document.texts(parent.node, "dependencies").items():
            waits.setdefault(prefix + dep, line)
        waits.pop(parent.id, None)  # a subtask cannot wait for its own task
    return {part: line for dep, line in waits.items() for part in parts.get(dep) or (dep,)}


def _entry(
    document: JsonDocument, item: _Item, waits: Mapping[str, int], source: Source
) -> PlanEntry:
    node, parent = item.node, item.parent
    state, word = _STATES.read(document, node)
    description, details = document.text(node, "description"), document.text(node, "details")
    above = None if parent is None else parent.node
    number = priority(document, node)
    if number is None and above is not None:
        number = priority(document, above)
    return PlanEntry(
        id=item.id,
        title=document.text(node, "title") or one_line(description),
        line=document.line(node),
        text="\n\n".join(part for part in (description, details) if part.strip()),
        criteria=criteria(document, node, "testStrategy", "acceptanceCriteria"),
        waits_for=waits,
        done=state == DONE or item.forced,
        blocked=f"{word} in {one_line(source.name, 100)}" if state == BLOCKED else "",
        held=word == "deferred",
        priority=DEFAULT_PRIORITY if number is None else number,
        group="" if parent is None else _heading(document, parent),
        labels=(*document.texts(node, "labels"), *document.texts(node, "tags")),
        notes="\n".join(_notes(document, node, parent)),
    )


def _heading(document: JsonDocument, item: _Item) -> str:
    return f"{item.id} {document.text(item.node, 'title')}".strip()


def _notes(document: JsonDocument, node: Node, parent: _Item | None) -> Iterator[str]:
    if notes := document.text(node, "notes").strip():
        yield notes
    if parent is not None:
        about = first_text(document, parent.node, "description", "details")
        yield f"Part of {_heading(document, parent)}{f': {about}' if about else ''}"
        if strategy := document.text(parent.node, "testStrategy").strip():
            yield f"How the whole task is tested: {strategy}"


def _new_task(task: Task) -> JsonValue:
    return {
        "id": _new_id(task.id),
        "title": task.title,
        "description": body(task),
        "details": task.notes,
        "testStrategy": "\n".join(criterion_text(each) for each in task.verification_criteria),
        "status": _STATES.word(state_of(task)),
        "dependencies": [_new_id(dep) for dep in task.dependencies],
        "priority": priority_word(task),
        "subtasks": [],
    }


def _new_id(id_: str) -> JsonValue:
    return int(id_) if id_.isdecimal() and id_.isascii() and str(int(id_)) == id_ else id_
