"""Reads Taskmaster's tasks.json: with tags or in the older shape without, tasks with subtasks."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Format, Listing, PlanEntry
from ralph_tui.interop.formats import ImportOptions, LeftOut, Source
from ralph_tui.interop.json_plans import (
    COMPLETE,
    TASKMASTER,
    json_sniff,
    keys_of,
    number_of,
    unused_remark,
)
from ralph_tui.interop.json_text import JsonObject, JsonText

MAIN = "master"


def _score(document: JsonText) -> int:
    root = document.root
    lists = [root.get("tasks")] if "tasks" in root else []
    lists += [tag["tasks"] for tag in root.values() if isinstance(tag, dict) and "tasks" in tag]
    keys = set[str]().union(*map(keys_of, lists))
    if "verification_criteria" in keys:
        return 0  # ralph's own plan
    if "id" in keys and keys & {"dependencies", "subtasks", "testStrategy"}:
        return 90
    tagged = bool(lists) and "tasks" not in root
    return (70 if "id" in keys else 60) if tagged else 20 if "id" in keys else 0


@dataclass(frozen=True)
class _Item:
    """A task or a subtask. Its id is `2.1`, or `tag:2.1` outside the main tag; `parts` are the ids of its subtasks."""

    id: str
    node: JsonObject
    prefix: str
    parent: "_Item | None" = None
    parts: tuple[str, ...] = ()

    @property
    def heading(self) -> str:
        return f"{self.id} {self.node.text('title')}".strip()

    @property
    def is_done(self) -> bool:
        return TASKMASTER.state(self.node)[0] is COMPLETE


def _listing(source: Source, wanted: ImportOptions) -> Listing:
    """List each subtask, and each task without subtasks."""
    document = JsonText(source)
    tags = _tags(document.root)
    name = _chosen(document.root, tags, wanted.tag)
    items, gone = list(_items(name, tags[name])), dict[str, LeftOut]()
    for item in items:
        cancelled = TASKMASTER.state(item.node)[1] in {"cancelled", "canceled"}
        if cancelled or (item.parent is not None and item.parent.id in gone):
            gone[item.id] = LeftOut(item.id, item.node.text("title"), "cancelled")
    # A task whose subtasks were all cancelled is a task of its own.
    parts = {item.id: tuple(part for part in item.parts if part not in gone) for item in items}
    entries = [_entry(item, parts) for item in items if item.id not in gone and not parts[item.id]]
    metadata = tags[name].get("metadata")
    about = metadata.text("description") if name and isinstance(metadata, JsonObject) else ""
    others = [tag for tag in tags if tag != name]
    remarks = []
    if others and not wanted.tag:
        shown = shortlist([one_line(tag, 40) for tag in others], 8)
        remarks.append(f"Tag {name!r} was read. Choose another one with `--tag`: {shown}.")
    if forced := [i.id for i in items if i.parent and i.parent.is_done and not i.is_done]:
        shown = shortlist(forced, 5)
        remarks.append(f"{shown}: not done, but the parent task is, so it counts as complete.")
    return Listing(
        entries,
        title=name if name != MAIN else "",
        description=about,
        left_out=list(gone.values()),
        unread=frozenset(item.id for tag in others for item in _items(tag, tags[tag])),
        remarks=[*remarks, *unused_remark(document, (item.node for item in items))],
    )


def _tags(root: JsonObject) -> Mapping[str, JsonObject]:
    """Return the holder of the tasks of each tag; the older shape is one tag without a name."""
    tags = {"": root} if root.get("tasks") is not None else {}
    tags = tags or {
        tag: node
        for tag, node in root.items()
        if isinstance(node, JsonObject) and node.get("tasks") is not None
    }
    if not tags:
        raise root.error("there is no list 'tasks'", "Choose another format with `--as`.")
    return tags


def _chosen(root: JsonObject, tags: Mapping[str, JsonObject], wanted: str) -> str:
    if "" in tags and wanted:
        raise root.error("the file has no tags", "Omit `--tag`.")
    name = wanted or (MAIN if MAIN in tags or len(tags) > 1 else next(iter(tags)))
    if name not in tags:
        what = f"there is no tag {one_line(wanted, 40)!r}" if wanted else "it has several tags"
        names = ", ".join(one_line(tag, 40) for tag in list(tags)[:20])
        raise root.error(what, f"Choose one with `--tag`: {names}.")
    return name


def _items(tag: str, holder: JsonObject) -> Iterator[_Item]:
    prefix = f"{tag}:" if tag not in {"", MAIN} else ""
    for node in holder.objects("tasks"):
        own, subtasks = node.required("id", "a task"), node.objects("subtasks")
        numbers = [sub.required("id", "a subtask").removeprefix(f"{own}.") for sub in subtasks]
        task = _Item(prefix + own, node, prefix, parts=tuple(f"{prefix}{own}.{n}" for n in numbers))
        yield task
        for id_, sub in zip(task.parts, subtasks, strict=True):
            yield _Item(id_, sub, prefix, task)


def _entry(item: _Item, parts: Mapping[str, tuple[str, ...]]) -> PlanEntry:
    plain, parent = TASKMASTER.entry(item.node), item.parent
    entry = replace(plain, id=item.id, waits_for=_waits(item, parts))
    if parent is None:
        return entry
    about = parent.node.text("description", "details")
    notes = [entry.notes.strip(), f"Part of {parent.heading}{f': {about}' if about else ''}"]
    if strategy := parent.node.text("testStrategy").strip():
        notes.append(f"How the whole task is tested: {strategy}")
    return replace(
        entry,
        done=entry.done or parent.is_done,
        priority=number_of(parent.node if item.node.get("priority") is None else item.node),
        group=parent.heading,
        notes="\n".join(filter(None, notes)),
    )


def _waits(item: _Item, parts: Mapping[str, tuple[str, ...]]) -> Mapping[str, int]:
    waits: dict[str, int] = {}
    parent = item.parent
    for dep, line in item.node.texts("dependencies").items():
        sibling = f"{parent.id}.{dep}" if parent is not None else ""
        # A subtask's own number cannot mean the subtask itself, so it means the task of that number.
        inside = parent is not None and sibling in parent.parts and sibling != item.id
        waits[sibling if inside else item.prefix + dep] = line
    if parent is not None:
        for dep, line in parent.node.texts("dependencies").items():
            waits.setdefault(item.prefix + dep, line)
        waits.pop(parent.id, None)  # a subtask cannot wait for its own task
    return {part: line for dep, line in waits.items() for part in parts.get(dep) or (dep,)}


TASKMASTER_FORMAT = Format("taskmaster", json_sniff(_score), _listing, ("task-master",))
