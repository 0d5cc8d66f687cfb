"""Finds criteria and dependencies in the text of an issue: check boxes, a section of criteria, `Blocked by #12`."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

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
    """The parts of a text.

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
    fence, in_criteria = "", False
    for line in _without_comments(text).splitlines():
        if found := _FENCE.match(line):
            mark = found[1]
            if not fence:
                fence = mark
            elif mark[0] == fence[0] and len(mark) >= len(fence):
                fence = ""
        elif not fence:
            if heading := _HEADING.match(line[:MAX_HEADING]):
                in_criteria = bool(_CRITERIA.search(heading[1] or heading[2]))
            elif box := (_BOX.match(line) or (in_criteria and _BULLET.match(line))):
                criteria[box[1].strip()] = None
                continue
        kept.append(line)
    numbers = [number for line in _outside_code(kept) for number in _numbers(line)]
    return Prose(_without_empty_sections(kept), tuple(criteria), tuple(dict.fromkeys(numbers)))


def _numbers(line: str) -> list[str]:
    return [
        number for found in _BLOCKED_BY.finditer(line) for number in re.findall(r"#(\d+)", found[1])
    ]


def _outside_code(lines: Sequence[str]) -> list[str]:
    inside, outside = False, []
    for line in lines:
        if _FENCE.match(line):
            inside = not inside
        elif not inside:
            outside.append(re.sub(r"`[^`]*`", "", line))
    return outside


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
