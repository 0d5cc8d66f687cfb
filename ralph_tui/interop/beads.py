"""Reads the issues of beads: the lines of `.beads/issues.jsonl`, or the list from `bd list --json`."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Format, Listing, PlanEntry
from ralph_tui.interop.formats import ImportOptions, LeftOut, Source
from ralph_tui.interop.github_issues import read_prose
from ralph_tui.interop.json_plans import BEADS, json_sniff
from ralph_tui.interop.json_text import JsonList, JsonObject, JsonText

_NOT_WORK = frozenset(("message", "event", "agent", "role", "rig", "convoy", "gate", "molecule"))
_ELSEWHERE = "external:"


def _score(document: JsonText) -> int:
    keys = {key for value in _records(document) if isinstance(value, dict) for key in value}
    if {"id", "title", "issue_type"} <= keys:
        return 95
    named = document.source.name.endswith((".jsonl", ".beads"))
    return 50 if named and {"id", "title", "status"} <= keys else 0


def _records(document: JsonText) -> Iterable[object]:
    first = document.values[0]
    return first if isinstance(first, JsonList) and len(document.values) == 1 else document.values


@dataclass
class _Issue:
    """An issue with the ids of others; `blocked_by` has their lines."""

    node: JsonObject
    parents: list[str] = field(default_factory=list)
    blocked_by: dict[str, int] = field(default_factory=dict)
    children: list[str] = field(default_factory=list)

    @property
    def is_epic(self) -> bool:
        return self.node.text("issue_type") == "epic"


def _listing(source: Source, _: ImportOptions) -> Listing:
    """List every issue except epics. `blocks` links are dependencies, `parent-child` links give the group."""
    listed = list(_issues(JsonText(source)))
    by_id = dict(listed)
    for id_, issue in listed:
        for parent in issue.parents:
            if parent in by_id:
                by_id[parent].children.append(id_)
    left_out = [
        LeftOut(id_, issue.node.text("title"), why)
        for id_, issue in listed
        if (why := _why_left_out(by_id, id_))
    ]
    gone = {out.id for out in left_out}
    outside = [
        one_line(f"{id_} on {to}", 80)
        for id_, issue in listed
        for to in issue.blocked_by
        if to.startswith(_ELSEWHERE)
    ]
    shown = f"Dependencies on other projects are not checked: {shortlist(outside, 3)}."
    return Listing(
        [
            _entry(by_id, id_, issue)
            for id_, issue in listed
            if id_ not in gone and not issue.is_epic
        ],
        left_out=left_out,
        remarks=[shown] if outside else (),
    )


def _issues(document: JsonText) -> Iterator[tuple[str, _Issue]]:
    for record in _records(document):
        if not isinstance(record, JsonObject):
            at = document.source.text.find("[", 1)
            what = "an issue is not an object"
            raise document.error(max(at, 0), what, "Choose another format with `--as`.")
        # `bd export` may add records of other kinds to the issues.
        if record.text("_type") not in {"", "issue"}:
            continue
        issue = _Issue(record)
        for link, line in record.items_of("dependencies"):
            # `bd list --json` of early versions has bare ids.
            is_object = isinstance(link, JsonObject)
            kind = (is_object and link.text("type", "dependency_type")) or "blocks"
            to = link.text("depends_on_id", "id") if is_object else str(link)
            if kind == "parent-child":
                issue.parents.append(to)
            elif kind == "blocks":
                issue.blocked_by[to] = line
        if parent := record.text("parent"):
            issue.parents.append(parent)
        yield record.required("id", BEADS.thing), issue


def _why_left_out(by_id: Mapping[str, _Issue], id_: str) -> str:
    node = by_id[id_].node
    kind = node.text("issue_type")
    if BEADS.state(node)[1] == "tombstone" or node.get("deleted_at") is not None:
        return "deleted"
    if kind in _NOT_WORK:
        return f"type {kind}, which is not a task"
    return "an epic without tasks" if kind == "epic" and not _members(by_id, id_) else ""


def _members(by_id: Mapping[str, _Issue], epic: str) -> list[str]:
    seen = {epic: None}
    for above in (pending := [epic]):
        new = [child for child in by_id[above].children if child not in seen]
        seen |= dict.fromkeys(new)
        pending += [child for child in new if by_id[child].is_epic]
    return [id_ for id_ in seen if not by_id[id_].is_epic]


def _entry(by_id: Mapping[str, _Issue], id_: str, issue: _Issue) -> PlanEntry:
    node, waits = issue.node, dict[str, int]()
    for to, line in issue.blocked_by.items():
        if not to.startswith(_ELSEWHERE):
            is_epic = to in by_id and by_id[to].is_epic
            parts = (is_epic and _members(by_id, to)) or (to,)  # an epic counts as its issues
            waits |= {part: line for part in parts if part != id_}
    prose = read_prose(node.text("description"))
    written = node.text("acceptance_criteria")
    bullets = read_prose(f"## Acceptance criteria\n{written}").criteria
    lines = bullets or [line.strip() for line in written.splitlines() if line.strip()]
    parent = next((to for to in issue.parents if to in by_id), "")
    return replace(
        BEADS.entry(node),
        text="\n\n".join(filter(None, (prose.text, node.text("design").strip()))),
        criteria=(*lines, *prose.criteria),
        waits_for=waits,
        group=by_id[parent].node.text("title") or parent if parent else "",
    )


BEADS_FORMAT = Format("beads", json_sniff(_score), _listing, ("bd",))
