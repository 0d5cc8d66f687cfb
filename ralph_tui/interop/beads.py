"""Reads the issues of beads: the lines of `.beads/issues.jsonl`, or the list from `bd list --json`."""

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry
from ralph_tui.interop.formats import ImportOptions, LeftOut, Source
from ralph_tui.interop.github_issues import read_prose
from ralph_tui.interop.json_plans import DONE, JsonImporter, States, blocked_in, number_of
from ralph_tui.interop.json_text import JsonList, JsonObject, JsonText

_NOT_WORK = frozenset(("message", "event", "agent", "role", "rig", "convoy", "gate", "molecule"))


class Beads(JsonImporter):
    """Every issue except an epic is a task. `blocks` links are dependencies, `parent-child` links give the group."""

    name = "beads"
    states = States(
        done=("closed",),
        open=("open", "in-progress", "hooked", "pinned", "deferred", "tombstone"),
        blocked=("blocked",),
        others=True,
    )

    def score(self, document: JsonText, source: Source) -> int:
        keys = {key for value in _records(document) if isinstance(value, dict) for key in value}
        if {"id", "title", "issue_type"} <= keys:
            return 95
        named = source.name.endswith((".jsonl", ".beads")) and {"id", "title", "status"} <= keys
        return 50 if named else 0

    def listing(self, document: JsonText, wanted: ImportOptions) -> Listing:  # noqa: ARG002 - part of the interface
        issues = _Issues(self.entries(document))
        left_out = [
            LeftOut(id_, issue.text("title"), why)
            for id_, issue in issues.listed
            if (why := self._why_left_out(issues, id_, issue))
        ]
        gone = {out.id for out in left_out}
        entries = [
            self._entry(issues, id_, issue)
            for id_, issue in issues.listed
            if id_ not in gone and not issues.is_epic(id_)
        ]
        return Listing(self.name, entries, left_out=left_out, remarks=list(issues.remarks()))

    def entries(self, document: JsonText) -> Iterable[tuple[str, JsonObject]]:
        for record in _records(document):
            if not isinstance(record, JsonObject):
                at = document.source.text.find("[", 1)
                what = "an issue is not an object"
                raise document.error(max(at, 0), what, "Choose another format with `--as`.")
            # `bd export` may add records of other kinds to the issues.
            if record.text("_type") in {"", "issue"}:
                yield record.required("id", "an issue"), record

    def _why_left_out(self, issues: "_Issues", id_: str, issue: JsonObject) -> str:
        kind = issue.text("issue_type")
        if self.states.read(issue)[1] == "tombstone" or issue.get("deleted_at") is not None:
            return "deleted"
        if kind in _NOT_WORK:
            return f"type {kind}, which is not a task"
        return "an epic without tasks" if kind == "epic" and not issues.members(id_) else ""

    def _entry(self, issues: "_Issues", id_: str, issue: JsonObject) -> PlanEntry:
        state, word = self.states.read(issue)
        prose = read_prose(issue.text("description"))
        parts = (prose.text, issue.text("design").strip())
        written = issue.text("acceptance_criteria")
        bullets = read_prose(f"## Acceptance criteria\n{written}").criteria
        lines = bullets or [line.strip() for line in written.splitlines() if line.strip()]
        parent = next((to for to in issues.parents(id_) if to in issues.by_id), "")
        return PlanEntry(
            id=id_,
            title=issue.text("title") or one_line(prose.text),
            line=issue.line,
            text="\n\n".join(part for part in parts if part),
            criteria=(*lines, *prose.criteria),
            waits_for=issues.waits(id_),
            done=state == DONE,
            blocked=blocked_in(issue, state, word),
            held=word in {"deferred", "pinned"},
            priority=number_of(issue),
            group=issues.by_id[parent].text("title") or parent if parent else "",
            labels=tuple(issue.texts("labels")),
            notes=issue.text("notes"),
        )


def _records(document: JsonText) -> Iterable[object]:
    first = document.values[0]
    return first if isinstance(first, JsonList) and len(document.values) == 1 else document.values


class _Link(NamedTuple):
    """A dependency of an issue."""

    kind: str
    to: str
    line: int


class _Issues:
    """The issues of a file with their links. A duplicate id is reported later."""

    def __init__(self, listed: Iterable[tuple[str, JsonObject]]) -> None:
        self.listed = list(listed)
        self.by_id = dict(self.listed)
        self.links = {id_: list(_links(issue)) for id_, issue in self.listed}
        self._children: dict[str, list[str]] = {}
        for id_ in self.links:
            for parent in self.parents(id_):
                self._children.setdefault(parent, []).append(id_)
        self._members: dict[str, tuple[str, ...]] = {}

    def parents(self, id_: str) -> list[str]:
        return [link.to for link in self.links[id_] if link.kind == "parent-child"]

    def is_epic(self, id_: str) -> bool:
        return id_ in self.by_id and self.by_id[id_].text("issue_type") == "epic"

    def members(self, epic: str) -> tuple[str, ...]:
        """Return the issues of an epic and of the epics in it."""
        if epic not in self._members:
            epics, found = {epic: None}, dict[str, None]()
            for above in (pending := [epic]):
                for child in self._children.get(above, ()):
                    if not self.is_epic(child):
                        found[child] = None
                    elif child not in epics:
                        epics[child] = None
                        pending.append(child)
            self._members[epic] = tuple(found)
        return self._members[epic]

    def waits(self, id_: str) -> Mapping[str, int]:
        """Return the issues that must be closed first, with their lines; an epic counts as all of its issues."""
        waits: dict[str, int] = {}
        for link in self.links[id_]:
            if link.kind == "blocks" and not link.to.startswith("external:"):
                parts = (self.is_epic(link.to) and self.members(link.to)) or (link.to,)
                waits |= {to: link.line for to in parts if to != id_}
        return waits

    def remarks(self) -> Iterator[str]:
        outside = [
            one_line(f"{id_} on {link.to}", 80)
            for id_, links in self.links.items()
            for link in links
            if link.kind == "blocks" and link.to.startswith("external:")
        ]
        if outside:
            yield f"Dependencies on other projects are not checked: {shortlist(outside, 3)}."


def _links(issue: JsonObject) -> Iterator[_Link]:
    for item, line in issue.items_of("dependencies"):
        if isinstance(item, JsonObject):
            kind = item.text("type", "dependency_type") or "blocks"
            yield _Link(kind, item.text("depends_on_id", "id"), line)
        else:  # `bd list --json` of early versions has bare ids
            yield _Link("blocks", str(item), line)
    if parent := issue.text("parent"):
        yield _Link("parent-child", parent, issue.line)
