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
    for item in issue.listed("labels"):
        if not isinstance(item, JsonObject | str):
            raise issue.error("a label is not text", key="labels")
        name = item if isinstance(item, str) else item.text("name")
        if name.strip():
            yield name


_FENCE = re.compile(r"\s*(`{3,}|~{3,})")
_BOX = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+\[[ xX]\]\s+(\S.*)")
_BULLET = re.compile(r"\s*(?:[-*+]|\d+[.)])\s+(\S.*)")
_HEADING = re.compile(r"\s{0,3}#{1,6}\s+(.*?)[\s#]*$|\s*\*\*([^*]+?):?\*\*:?\s*$")
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
    """The parts of the text of an issue.

    Attributes:
        text: The text without HTML comments and without the lines that became criteria.
        criteria: The check boxes, and the bullets of sections about criteria.
        waits_for: Numbers of the issues that must be closed first.
    """

    text: str
    criteria: Sequence[str]
    waits_for: Sequence[str]


@lru_cache(maxsize=8)
def read_prose(text: str) -> Prose:
    """Split a text into its parts. Code blocks stay text."""
    kept: list[str] = []
    criteria: dict[str, None] = {}
    numbers: dict[str, None] = {}
    fence, in_criteria = "", False
    for line in _without_comments(text).splitlines():
        if found := _FENCE.match(line):
            mark = found[1]
            fence = "" if fence and mark.startswith(fence) else fence or mark
        elif not fence:
            if heading := _HEADING.match(line[:MAX_HEADING]):
                in_criteria = bool(_CRITERIA.search(heading[1] or heading[2]))
            elif box := (_BOX.match(line) or (in_criteria and _BULLET.match(line))):
                criteria[box[1].strip()] = None
                continue
            for blocked in _BLOCKED_BY.finditer(re.sub(r"`[^`]*`", "", line)):
                numbers |= dict.fromkeys(re.findall(r"#(\d+)", blocked[1]))
        kept.append(line)
    return Prose(_without_empty_sections(kept), tuple(criteria), tuple(numbers))


def _without_comments(text: str) -> str:
    parts, at = list[str](), 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start)) >= 0:
        parts.append(text[at:start])
        at = end + 3
    return "".join((*parts, text[at:]))


def _without_empty_sections(lines: Sequence[str]) -> str:
    kept: list[str] = []
    below = ""
    for line in reversed(lines):
        heading = _HEADING.match(line[:MAX_HEADING])
        named = heading is not None and _CRITERIA.search(heading[1] or heading[2])
        if named and (not below or _HEADING.match(below[:MAX_HEADING])):
            continue
        kept.append(line)
        below = line if line.strip() else below
    return re.sub(r"\n{3,}", "\n\n", "\n".join(reversed(kept))).strip()


GITHUB_FORMAT = Format("github", json_sniff(_score), _listing, ("gh",))
