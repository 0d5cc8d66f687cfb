"""Reads GitHub issues as JSON, from `gh issue view`, `gh issue list` or the REST API, and the prose of issues."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY
from ralph_tui.interop.foreign_tasks import Format, Listing, PlanEntry, priority_of
from ralph_tui.interop.formats import ImportOptions, LeftOut, Source
from ralph_tui.interop.json_plans import json_sniff, keys_of
from ralph_tui.interop.json_text import JsonList, JsonObject, JsonText
from ralph_tui.interop.markdown.boxes import read_boxes

_TELLING = {"state", "body", "labels", "milestone", "url"}
_PULL = {"headRefName", "baseRefName", "head"}


def _score(document: JsonText) -> int:
    root = document.values[0]
    found = root.get("items") if isinstance(root, dict) and "number" not in root else root
    keys = set(found) if isinstance(found, dict) else keys_of(found)
    if not {"number", "title"} <= keys or keys & _PULL:
        return 0
    return 85 if keys & _TELLING else 40


def _listing(source: Source, _: ImportOptions) -> Listing:
    """List the issues, whose check boxes are criteria. ralph does not write issues, which live on GitHub."""
    issues = [(_number(issue), issue) for issue in _issues(JsonText(source))]
    remarks: list[str] = []
    if len(issues) > 1 and issues == sorted(issues, key=lambda each: -int(each[0])):
        issues.reverse()
        remarks.append("The list starts with the newest issue. The plan starts with the oldest.")
    left_out = {
        number: LeftOut(number, issue.text("title"), why)
        for number, issue in issues
        if (why := _why_left_out(issue))
    }
    known = {number for number, _ in issues}
    entries = [_entry(issue) for number, issue in issues if number not in left_out]
    outside = dict.fromkeys(n for entry in entries for n in entry.waits_for if n not in known)
    if outside:
        shown = shortlist([f"#{number}" for number in outside], 8)
        remarks.append(f"Dependencies on issues that are not in the file are ignored: {shown}.")
    return Listing(
        [entry.waiting_only_for(known - {entry.id}) for entry in entries],
        title=issues[0][1].text("title") if len(issues) == 1 else "",
        left_out=tuple(left_out.values()),
        remarks=remarks,
    )


def _issues(document: JsonText) -> Sequence[JsonObject]:
    root = document.values[0]
    if isinstance(root, JsonObject):
        is_search = "items" in root and "number" not in root
        return root.objects("items") if is_search else document.values
    items = root if isinstance(root, JsonList) else JsonList(0)
    for item, (start, _) in zip(items, items.places, strict=True):
        if not isinstance(item, JsonObject):
            what = "an issue is not an object"
            raise document.error(start, what, "Choose another format with `--as`.")
    return items


def _number(issue: JsonObject) -> str:
    found = issue.get("number")
    if not isinstance(found, int) or isinstance(found, bool):
        hint = "Include it with `gh issue list --json number,title,body,state,labels,milestone`."
        raise issue.error("an issue has no 'number'", hint)
    return str(found)


def _why_left_out(issue: JsonObject) -> str:
    if issue.get("pull_request") is not None:
        return "a pull request"
    reason = issue.text("stateReason", "state_reason").casefold()
    why = {"not_planned": "closed as not planned", "duplicate": "closed as a duplicate"}
    return why.get(reason, "")


def _entry(issue: JsonObject) -> PlanEntry:
    labels = tuple(_labels(issue))
    numbers = [found for label in labels if (found := priority_of(label)) is not None]
    milestone = issue.get("milestone")
    prose = read_prose(issue.text("body"))
    return PlanEntry(
        id=_number(issue),
        title=issue.text("title"),
        line=issue.line,
        text=prose.text,
        criteria=prose.criteria,
        waits_for={**dict.fromkeys(prose.waits_for, issue.line), **_blockers(issue)},
        done=issue.text("state").casefold() == "closed" or issue.flag("closed"),
        priority=min(numbers, default=DEFAULT_PRIORITY),
        group=milestone.text("title") if isinstance(milestone, JsonObject) else "",
        labels=labels,
    )


def _blockers(issue: JsonObject) -> Mapping[str, int]:
    holder = issue.get("blockedBy")
    found = (holder if isinstance(holder, JsonObject) else issue).items_of(
        "nodes" if isinstance(holder, JsonObject) else "blockedBy"
    )
    return {_number(item): line for item, line in found if isinstance(item, JsonObject)}


def _labels(issue: JsonObject) -> Iterator[str]:
    for item, _ in issue.items_of("labels"):
        if not isinstance(item, JsonObject | str):
            raise issue.error("a label is not text", key="labels")
        name = item if isinstance(item, str) else item.text("name")
        if name.strip():
            yield name


_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(\S.*)")
_BOLD = re.compile(r"\s*\*\*([^*]+?):?\*\*:?\s*$")
_CRITERIA = re.compile(
    r"(?:acceptance|success) criteria|definition of done|\bdone when\b", re.IGNORECASE
)
_BLOCKED_BY = re.compile(
    r"\b(?:blocked\s(?:by|on)|depends\son|waits?\s(?:for|on)|requires)\b:?"
    r"((?:(?:,|and|&|\s)*#\d{1,10}\b)+)",
    re.IGNORECASE,
)
MAX_HEADING = 300


@dataclass(frozen=True)
class Prose:
    """The text of an issue without the lines that became criteria, and the numbers of the issues that it waits for."""

    text: str
    criteria: Sequence[str]
    waits_for: Sequence[str]


@lru_cache(maxsize=8)
def read_prose(text: str) -> Prose:
    """Split a text into its parts. Code blocks stay text."""
    document = read_boxes(text)
    boxes = {box.line: box.text for box in document.boxes}
    headings = {heading.line: heading.text for heading in document.headings}
    kept: list[tuple[str, str]] = []
    criteria: dict[str, None] = {}
    numbers: dict[str, None] = {}
    in_criteria = False
    for line in document.lines:
        bold = _BOLD.match(line.shown[:MAX_HEADING])
        heading = headings.get(line.number) or (bold[1] if bold else "")
        bullet = _BULLET.match(line.shown) if in_criteria else None
        if heading:
            in_criteria = bool(_CRITERIA.search(heading))
        elif criterion := boxes.get(line.number) or (bullet[1].strip() if bullet else ""):
            criteria[criterion] = None
            continue
        for blocked in _BLOCKED_BY.finditer(re.sub(r"`[^`]*`", "", line.shown)):
            numbers |= dict.fromkeys(re.findall(r"#(\d+)", blocked[1]))
        kept.append((line.text, heading))
    return Prose(_without_empty_sections(kept), tuple(criteria), tuple(numbers))


def _without_empty_sections(lines: Sequence[tuple[str, str]]) -> str:
    """Join lines, each with the heading that it is, without headings of criteria that have no text below them."""
    kept: list[str] = []
    is_empty = True
    for line, heading in reversed(lines):
        if not (is_empty and _CRITERIA.search(heading)):
            kept.append(line)
            is_empty = bool(heading) or (is_empty and not line.strip())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(reversed(kept))).strip()


GITHUB_FORMAT = Format("github", json_sniff(_score), _listing, ("gh",))
