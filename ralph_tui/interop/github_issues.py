"""Reads GitHub issues as JSON, from `gh issue view`, `gh issue list` or the REST API."""

from collections.abc import Iterator, Mapping, Sequence

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry, import_listing, priority_of
from ralph_tui.interop.formats import Imported, ImportOptions, LeftOut, Source
from ralph_tui.interop.issue_text import read_prose
from ralph_tui.interop.json_document import JsonDocument, outline
from ralph_tui.interop.json_fields import first_text
from ralph_tui.interop.json_reader import Node


class GithubIssues:
    """An issue is a task, and its check boxes are the criteria. ralph does not write issues, which live on GitHub."""

    name = "github"

    def sniff(self, source: Source) -> int:
        """Score a file by numbers beside titles, in one issue, a list or a search result."""
        keys = outline(source.head)
        for top in ("", "[].", "items[]."):
            if {f"{top}number", f"{top}title"} <= keys:
                if keys & {f"{top}headRefName", f"{top}baseRefName", f"{top}head.ref"}:
                    return 0  # pull requests
                telling = keys & {
                    f"{top}{key}" for key in ("state", "body", "labels", "milestone", "url")
                }
                return 85 if telling else 40
        return 0

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        document = JsonDocument(source)
        nodes = list(_issues(document))
        numbers = [_number(document, node) for node in nodes]
        remarks: list[str] = []
        newest_first = sorted(map(int, numbers), reverse=True) == list(map(int, numbers))
        if len(nodes) > 1 and newest_first:
            nodes.reverse()
            remarks.append(
                "The list starts with the newest issue. The plan starts with the oldest."
            )
        left_out: dict[str, LeftOut] = {}
        for node in nodes:
            if why := _why_left_out(document, node):
                number = _number(document, node)
                left_out[number] = LeftOut(number, document.text(node, "title"), why)
        known = set(numbers)
        outside: dict[str, None] = {}
        entries = []
        for node in nodes:
            if _number(document, node) not in left_out:
                entry = _entry(document, node, known)
                entries.append(entry)
                outside.update(
                    dict.fromkeys(n for n in _blockers(document, node) if n not in known)
                )
        if outside:
            shown = shortlist([f"#{number}" for number in outside], 8)
            remarks.append(f"Dependencies on issues that are not in the file are ignored: {shown}.")
        listing = Listing(
            format=self.name,
            entries=entries,
            title=document.text(nodes[0], "title") if len(nodes) == 1 else "",
            left_out=tuple(left_out.values()),
            remarks=remarks,
        )
        return import_listing(listing, source, wanted)


def _issues(document: JsonDocument) -> Sequence[Node]:
    root = document.root
    nodes: Sequence[Node]
    if root.members is not None and root.get("items") is not None and root.get("number") is None:
        nodes = document.objects(root, "items")
    else:
        nodes = root.items if root.items is not None else (root,)
    for node in nodes:
        if node.members is None:
            raise document.error(
                node, "an issue is not an object", "Choose another format with `--as`."
            )
    return nodes


def _number(document: JsonDocument, node: Node) -> str:
    found = node.get("number")
    if found is None or not isinstance(found.scalar, int) or isinstance(found.scalar, bool):
        raise document.error(
            found or node,
            "an issue has no 'number'",
            "Include it with `gh issue list --json number,title,body,state,labels,milestone`.",
        )
    return str(found.scalar)


def _why_left_out(document: JsonDocument, node: Node) -> str:
    if node.get("pull_request") is not None:
        return "a pull request"
    reason = first_text(document, node, "stateReason", "state_reason").casefold()
    return {"not_planned": "closed as not planned", "duplicate": "closed as a duplicate"}.get(
        reason, ""
    )


def _blockers(document: JsonDocument, node: Node) -> Mapping[str, int]:
    waits: dict[str, int] = {}
    field = node.get("blockedBy")
    if field is not None:
        holder = field if field.items is not None else field.get("nodes")
        for item in (holder.items if holder is not None else None) or ():
            waits[_number(document, item)] = document.line(item)
    body = node.get("body")
    if body is not None:
        for number in read_prose(document.text(node, "body")).waits_for:
            waits.setdefault(number, document.line(body))
    return waits


def _entry(document: JsonDocument, node: Node, known: set[str]) -> PlanEntry:
    number = _number(document, node)
    labels = tuple(_labels(document, node))
    numbers = [found for label in labels if (found := priority_of(label)) is not None]
    milestone = node.get("milestone")
    prose = read_prose(document.text(node, "body"))
    waits = {
        dep: line
        for dep, line in _blockers(document, node).items()
        if dep in known and dep != number
    }
    return PlanEntry(
        id=number,
        title=document.text(node, "title"),
        line=document.line(node),
        text=prose.text,
        criteria=prose.criteria,
        waits_for=waits,
        done=document.text(node, "state").casefold() == "closed" or document.flag(node, "closed"),
        priority=min(numbers, default=DEFAULT_PRIORITY),
        group="" if milestone is None else document.text(milestone, "title"),
        labels=labels,
    )


def _labels(document: JsonDocument, node: Node) -> Iterator[str]:
    for item in document.listed(node, "labels"):
        name = (
            document.text(item, "name")
            if item.members is not None
            else document.scalar_text(item, "a label")
        )
        if name.strip():
            yield name
