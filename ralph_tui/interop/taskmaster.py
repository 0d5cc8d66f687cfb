"""Reads Taskmaster's tasks.json: with tags or in the older shape without, tasks with subtasks."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry
from ralph_tui.interop.formats import ImportOptions, LeftOut, Source
from ralph_tui.interop.json_plans import (
    DONE,
    JsonImporter,
    States,
    blocked_in,
    criteria_of,
    keys_of,
    labels_of,
    number_of,
    unused_remark,
)
from ralph_tui.interop.json_text import JsonObject, JsonText

MAIN = "master"
_CANCELLED = ("cancelled", "canceled")


class Taskmaster(JsonImporter):
    """Taskmaster's plan. Each subtask becomes a task, and so does each task without subtasks."""

    name = "taskmaster"
    states = States(
        done=("done", "completed", "complete"),
        open=("pending", "in-progress", "review", "todo", "deferred", *_CANCELLED),
        blocked=("blocked", "failed"),
    )

    def score(self, document: JsonText, source: Source) -> int:  # noqa: ARG002 - part of the interface
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

    def listing(self, document: JsonText, wanted: ImportOptions) -> Listing:
        chosen = _chosen(document, wanted.tag)
        items = list(self._items(chosen))
        entries, left_out = self._listed(items)
        remarks = [chosen.remark] if chosen.remark else []
        forced = [item.id for item in items if item.forced and self._state(item) != DONE]
        if forced:
            remarks.append(
                f"{shortlist(forced, 5)}: not done, but the parent task is, so it counts as complete."
            )
        others = [tag for tag in _tags(document) if tag.tag != chosen.tag]
        return Listing(
            format=self.name,
            entries=entries,
            title=chosen.tag if chosen.tag != MAIN else "",
            description=chosen.description,
            left_out=left_out,
            unread=frozenset(item.id for tag in others for item in self._items(tag)),
            remarks=[*remarks, *unused_remark(document, (item.node for item in items))],
        )

    def _state(self, item: "_Item") -> str:
        return self.states.read(item.node)[0]

    def _items(self, tag: "_Tag") -> Iterator["_Item"]:
        for node in tag.tasks:
            own = node.required("id", "a task")
            id_ = tag.prefix + own
            subtasks = node.objects("subtasks")
            numbers = [sub.required("id", "a subtask").removeprefix(f"{own}.") for sub in subtasks]
            item = _Item(id_, node, tag.prefix, parts=tuple(f"{id_}.{n}" for n in numbers))
            yield item
            forced = self._state(item) == DONE
            for sub_id, sub in zip(item.parts, subtasks, strict=True):
                yield _Item(sub_id, sub, tag.prefix, parent=item, forced=forced)

    def _listed(self, items: Sequence["_Item"]) -> tuple[list[PlanEntry], list[LeftOut]]:
        gone: dict[str, LeftOut] = {}
        for item in items:
            cancelled = self.states.read(item.node)[1] in _CANCELLED
            if cancelled or (item.parent is not None and item.parent.id in gone):
                gone[item.id] = LeftOut(item.id, item.node.text("title"), "cancelled")
        # A task whose subtasks were all cancelled is a task of its own.
        parts = {
            item.id: tuple(part for part in item.parts if part not in gone)
            for item in items
            if item.parent is None
        }
        own = [item for item in items if item.id not in gone and not parts.get(item.id)]
        return [self._entry(item, _waits(item, parts)) for item in own], list(gone.values())

    def _entry(self, item: "_Item", waits: Mapping[str, int]) -> PlanEntry:
        node, parent = item.node, item.parent
        state, word = self.states.read(node)
        texts = (node.text("description"), node.text("details"))
        above = parent.node if parent is not None and node.get("priority") is None else node
        return PlanEntry(
            id=item.id,
            title=node.text("title") or one_line(texts[0]),
            line=node.line,
            text="\n\n".join(part for part in texts if part.strip()),
            criteria=criteria_of(node, "testStrategy", "acceptanceCriteria"),
            waits_for=waits,
            done=state == DONE or item.forced,
            blocked=blocked_in(node, state, word),
            held=word == "deferred",
            priority=number_of(above),
            group="" if parent is None else parent.heading,
            labels=labels_of(node),
            notes="\n".join(_notes(node, parent)),
        )


@dataclass(frozen=True)
class _Tag:
    """The tasks of one tag; the older shape is one tag without a name."""

    tag: str
    tasks: Sequence[JsonObject]
    description: str = ""
    remark: str = ""

    @property
    def prefix(self) -> str:
        return f"{self.tag}:" if self.tag not in {"", MAIN} else ""


@dataclass(frozen=True)
class _Item:
    """A task or a subtask.

    Attributes:
        id: Its id as a task of ralph: `2.1`, or `tag:2.1` outside the main tag.
        prefix: The prefix of the ids of its tag.
        parts: The ids of its subtasks.
        forced: Whether it counts as done because its task is.
    """

    id: str
    node: JsonObject
    prefix: str
    parent: "_Item | None" = None
    parts: tuple[str, ...] = ()
    forced: bool = False

    @property
    def heading(self) -> str:
        return f"{self.id} {self.node.text('title')}".strip()


def _tags(document: JsonText) -> Sequence[_Tag]:
    root = document.root
    if root.get("tasks") is not None:
        return [_Tag("", root.objects("tasks"))]
    found = []
    for tag, node in root.items():
        if isinstance(node, JsonObject) and node.get("tasks") is not None:
            metadata = node.get("metadata")
            about = metadata.text("description") if isinstance(metadata, JsonObject) else ""
            found.append(_Tag(tag, node.objects("tasks"), about))
    if not found:
        raise root.error("there is no list 'tasks'", "Choose another format with `--as`.")
    return found


def _chosen(document: JsonText, wanted: str) -> _Tag:
    """Return the wanted tag, or else the main one, or else the only one."""
    tags = _tags(document)
    names = [one_line(tag.tag, 40) for tag in tags]
    if tags[0].tag == "":
        if wanted:
            raise document.root.error("the file has no tags", "Omit `--tag`.")
        return tags[0]
    name = wanted or (MAIN if MAIN in names or len(tags) > 1 else tags[0].tag)
    for tag in tags:
        if tag.tag == name:
            others = [other for other in names if other != name]
            remark = (
                f"Tag {name!r} was read. Choose another one with `--tag`: {shortlist(others, 8)}."
            )
            return _Tag(
                tag.tag, tag.tasks, tag.description, remark if others and not wanted else ""
            )
    what = f"there is no tag {one_line(wanted, 40)!r}" if wanted else "it has several tags"
    raise document.root.error(what, f"Choose one with `--tag`: {', '.join(names[:20])}.")


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


def _notes(node: JsonObject, parent: _Item | None) -> Iterator[str]:
    if notes := node.text("notes").strip():
        yield notes
    if parent is not None:
        about = parent.node.text("description", "details")
        yield f"Part of {parent.heading}{f': {about}' if about else ''}"
        if strategy := parent.node.text("testStrategy").strip():
            yield f"How the whole task is tested: {strategy}"
