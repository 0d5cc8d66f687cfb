"""Reads and writes the issues of beads: the lines of `.beads/issues.jsonl`, or the list from `bd list --json`."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pydantic import JsonValue

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry, import_listing, tasks_by_foreign_id
from ralph_tui.interop.formats import Imported, ImportOptions, LeftOut, Source
from ralph_tui.interop.issue_text import read_prose
from ralph_tui.interop.json_document import JsonDocument, literal, outline
from ralph_tui.interop.json_fields import (
    BLOCKED,
    DONE,
    States,
    body,
    criterion_text,
    needs_change,
    priority,
    required_id,
    state_of,
)
from ralph_tui.interop.json_reader import Node

_STATES = States(
    "status",
    done=("closed",),
    open=("open", "in-progress", "hooked", "pinned", "deferred", "tombstone"),
    blocked=("blocked",),
    others=True,
)
_NOT_WORK = frozenset(("message", "event", "agent", "role", "rig", "convoy", "gate", "molecule"))


class Beads:
    """Every issue except an epic is a task. `blocks` links are dependencies, `parent-child` links give the group."""

    name = "beads"

    def sniff(self, source: Source) -> int:
        """Score a file by ids beside issue types, in its lines or list entries."""
        keys = outline(source.head)
        for top in ("", "[]."):
            if {f"{top}id", f"{top}title"} <= keys and f"{top}issue_type" in keys:
                return 95
        named = source.name.endswith((".jsonl", ".beads")) and {"id", "title", "status"} <= keys
        return 50 if named else 0

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        document, nodes = _issues(source)
        issues = _Issues(document, nodes)
        left_out = list(issues.left_out())
        gone = {out.id for out in left_out}
        entries = (
            _entry(issues, node, source)
            for id_, node in issues.by_id
            if id_ not in gone and not issues.is_epic(id_)
        )
        listing = Listing(
            format=self.name, entries=entries, left_out=left_out, remarks=tuple(issues.remarks())
        )
        return import_listing(listing, source, wanted)

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Set the status of each issue in the file, or write a new file."""
        if not before.text.strip():
            return "".join(f"{literal(_new_issue(task))}\n" for task in plan.tasks)
        document, nodes = _issues(before)
        tasks = tasks_by_foreign_id(plan, self.name, before.name)
        edits = []
        for node in nodes:
            task = tasks.get(document.text(node, "id"))
            if task is not None and needs_change(task, _STATES.read(document, node)[0]):
                edits.append(document.edit(node, "status", _STATES.word(state_of(task))))
        return document.with_edits(edits)


def _issues(source: Source) -> tuple[JsonDocument, Sequence[Node]]:
    is_list = source.text.lstrip().startswith("[")
    document = JsonDocument(source, lines=not is_list)
    nodes = document.root.items if is_list else document.roots
    for node in nodes or ():
        if node.members is None:
            raise document.error(
                node, "an issue is not an object", "Name another format with `--as`."
            )
    # `bd export` may add records of other kinds to the issues.
    return document, [node for node in nodes or () if document.text(node, "_type") in {"", "issue"}]


@dataclass(frozen=True)
class _Link:
    """A dependency of an issue."""

    kind: str
    to: str
    line: int


class _Issues:
    """The issues of a file, by id, with their links."""

    def __init__(self, document: JsonDocument, nodes: Sequence[Node]) -> None:
        self.document = document
        # A list of pairs, because a duplicate id is reported later.
        self.by_id = [(required_id(document, node, "an issue"), node) for node in nodes]
        self.nodes: Mapping[str, Node] = dict(self.by_id)
        self.links = {id_: tuple(self._links(node)) for id_, node in self.by_id}
        self.children: dict[str, list[str]] = {}
        self._members: dict[str, tuple[str, ...]] = {}
        for id_, links in self.links.items():
            for link in links:
                if link.kind == "parent-child":
                    self.children.setdefault(link.to, []).append(id_)

    def is_epic(self, id_: str) -> bool:
        return self.document.text(self.nodes[id_], "issue_type") == "epic"

    def left_out(self) -> Iterator[LeftOut]:
        for id_, node in self.by_id:
            title = self.document.text(node, "title")
            kind = self.document.text(node, "issue_type")
            if (
                _STATES.read(self.document, node)[1] == "tombstone"
                or node.get("deleted_at") is not None
            ):
                yield LeftOut(id_, title, "deleted")
            elif kind in _NOT_WORK:
                yield LeftOut(id_, title, f"type {kind}, which is not a task")
            elif kind == "epic" and not self.members(id_):
                yield LeftOut(id_, title, "an epic without tasks")

    def parent(self, id_: str) -> str:
        found = (link.to for link in self.links[id_] if link.kind == "parent-child")
        return next((to for to in found if to in self.nodes), "")

    def members(self, epic: str) -> tuple[str, ...]:
        if epic in self._members:
            return self._members[epic]
        found: dict[str, None] = {}
        pending, seen = deque([epic]), set[str]()
        while pending:
            above = pending.popleft()
            if above in seen:
                continue
            seen.add(above)
            for child in self.children.get(above, ()):
                if self.is_epic(child):
                    pending.append(child)
                else:
                    found[child] = None
        self._members[epic] = tuple(found)
        return self._members[epic]

    def waits(self, id_: str) -> Mapping[str, int]:
        """Return the issues that must be closed first, with their lines; an epic counts as all of its issues."""
        waits: dict[str, int] = {}
        for link in self.links[id_]:
            if link.kind != "blocks" or link.to.startswith("external:"):
                continue
            epic = link.to in self.nodes and self.is_epic(link.to)
            for to in (self.members(link.to) or (link.to,)) if epic else (link.to,):
                if to != id_:
                    waits[to] = link.line
        return waits

    def remarks(self) -> Iterator[str]:
        outside = [
            f"{id_} on {link.to}"
            for id_, links in self.links.items()
            for link in links
            if link.kind == "blocks" and link.to.startswith("external:")
        ]
        if outside:
            shown = shortlist([one_line(each, 80) for each in outside], 3)
            yield f"Dependencies on other projects are not checked: {shown}."

    def _links(self, node: Node) -> Iterator[_Link]:
        document = self.document
        for item in document.listed(node, "dependencies"):
            if item.members is None:  # `bd list --json` of early versions has bare ids
                yield _Link(
                    "blocks", document.scalar_text(item, "a dependency"), document.line(item)
                )
                continue
            to = document.text(item, "depends_on_id") or document.text(item, "id")
            kind = document.text(item, "type") or document.text(item, "dependency_type") or "blocks"
            yield _Link(kind, to, document.line(item))
        if parent := document.text(node, "parent"):
            yield _Link("parent-child", parent, document.line(node))


def _entry(issues: _Issues, node: Node, source: Source) -> PlanEntry:
    document = issues.document
    id_ = document.text(node, "id")
    state, word = _STATES.read(document, node)
    number = priority(document, node)
    prose = read_prose(document.text(node, "description"))
    design = document.text(node, "design").strip()
    parent = issues.parent(id_)
    return PlanEntry(
        id=id_,
        title=document.text(node, "title") or one_line(prose.text),
        line=document.line(node),
        text="\n\n".join(part for part in (prose.text, design) if part),
        criteria=(*_written(document, node), *prose.criteria),
        waits_for=issues.waits(id_),
        done=state == DONE,
        blocked=f"{word} in {one_line(source.name, 100)}" if state == BLOCKED else "",
        held=word in {"deferred", "pinned"},
        priority=DEFAULT_PRIORITY if number is None else number,
        group=document.text(issues.nodes[parent], "title") or parent if parent else "",
        labels=tuple(document.texts(node, "labels")),
        notes=document.text(node, "notes"),
    )


def _written(document: JsonDocument, node: Node) -> Sequence[str]:
    text = document.text(node, "acceptance_criteria")
    bullets = read_prose(f"## Acceptance criteria\n{text}").criteria
    return bullets or tuple(line.strip() for line in text.splitlines() if line.strip())


def _new_issue(task: Task) -> JsonValue:
    links: list[JsonValue] = [
        {"issue_id": task.id, "depends_on_id": dep, "type": "blocks"} for dep in task.dependencies
    ]
    made: dict[str, JsonValue] = {
        "id": task.id,
        "title": task.title,
        "description": body(task),
        "acceptance_criteria": "\n".join(
            f"- {criterion_text(c)}" for c in task.verification_criteria
        ),
        "notes": task.notes,
        "status": _STATES.word(state_of(task)),
        "priority": task.priority if task.priority in range(5) else 2,
        "issue_type": "task",
        "labels": list(task.labels),
        "dependencies": links,
    }
    return {key: value for key, value in made.items() if value not in ("", [])}
