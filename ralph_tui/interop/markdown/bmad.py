"""Reads stories of the BMAD method: one story with a Status in each file, or all stories of an epic."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Format, Listing, PlanEntry
from ralph_tui.interop.formats import ImportOptions, InteropError, Source
from ralph_tui.interop.markdown.box_plans import (
    chained,
    file_name,
    head_document,
    malformed_box_error,
    open_document,
)
from ralph_tui.interop.markdown.boxes import Box, BoxDocument, Heading, TextLine, columns

_STORY = re.compile(
    r"^\W*(?:user[ \t]+)?story[ \t]+([0-9]{1,4})[.-]([0-9]{1,4})[ \t]*(?:[:.\u2013\u2014-][ \t]*)*(.*)$",
    re.IGNORECASE,
)
_FILE = re.compile(r"/(?:story[._-]?)?([0-9]{1,4})[.-]([0-9]{1,4})[.-][^/]*md$")
_EPIC = re.compile(r"^\W*epic[ \t]+([0-9]{1,4})\b", re.IGNORECASE)
_STATUS = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+)?(?:[-*+][ \t]+)?[*_]{0,3}status[*_]{0,3}[ \t]*:[*_]{0,3}[ \t]*(?=\S)",
    re.IGNORECASE,
)
_STATUS_HEAD = re.compile(
    r"[ \t]*(?:#{1,6}[ \t]+|\*\*)status[ \t:]*(?:\*\*)?[ \t:]*$", re.IGNORECASE
)
_VALUE = re.compile(r"[^\W\d_]+(?:[ _-][^\W\d_]+)*")
_BOLD = re.compile(r"[ \t]*(?:[-*+][ \t]+)?\*\*([A-Za-z][A-Za-z /()-]{2,40}?):?\*\*:?[ \t]*$")
_BULLET = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,4}[.)])[ \t]+(?:\[[ xX]\][ \t]+)?")
_HEAD = re.compile(r" {0,3}#{1,6}[ \t]")
_CONTINUES = re.compile(r"\W*(?:when|then|and|but)\b", re.IGNORECASE)

_KINDS = (
    ("criteria", re.compile(r"acceptance criteria")),
    ("tasks", re.compile(r"tasks|task list|subtasks")),
    ("status", re.compile(r"status(?:$|:)")),
    ("text", re.compile(r"(?:story|user story|story statement|description|)$")),
    (
        "ignored",
        re.compile(
            r"dev agent record|change ?log|qa results|file list|debug log|completion notes|agent model"
            r"|senior developer review|story completion|references"
        ),
    ),
)
"""What the sections of a story are, by the start of their names. All others become notes."""
_BOLD_LEVEL = 7
"""The level of a bold line that serves as a heading."""


@dataclass(frozen=True)
class _Section:
    """A part of a story. The part before the first heading has no name."""

    name: str
    level: int
    lines: list[TextLine] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return _kind(self.name)

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines).strip()


def _sniff(source: Source) -> int:
    document = head_document(source.head)
    names = [heading.text for heading in document.headings]
    bold = (_BOLD.match(line.shown) for line in document.lines)
    names += [found[1] for found in bold if found]
    has_criteria = any(_kind(name) == "criteria" for name in names)
    has_status = any(
        _STATUS.match(line.shown) or _STATUS_HEAD.match(line.shown) for line in document.lines
    )
    if any(_STORY.match(heading.text) for heading in document.headings):
        return 92 if has_criteria else 75 if has_status else 0
    return 80 if has_criteria and has_status and _FILE.search(file_name(source)) else 0


def _listing(source: Source, _: ImportOptions) -> Listing:
    """List the stories. The Status decides whether one is done."""
    document, remarks, ignored = open_document(source), list[str](), dict[str, None]()
    entries = chained(_stories(document, source, remarks, ignored))
    if ignored:
        shown = shortlist(list(ignored), 6)
        remarks.append(f"Sections that ralph does not use stay in the file: {shown}.")
    return Listing(entries, "" if len(entries) == 1 else document.title, remarks=remarks)


def _stories(
    document: BoxDocument, source: Source, remarks: list[str], ignored: dict[str, None]
) -> Iterator[PlanEntry]:
    headings, last, epic = document.headings, len(document.lines), ""
    boxes = {box.line: box for box in document.boxes}
    malformed = {half.line: half for half in document.malformed}
    by_line = {heading.line: heading for heading in headings}
    named = _FILE.search(file_name(source))
    found = [(heading, _STORY.match(heading.text)) for heading in headings]
    is_one = sum(bool(mark) for _, mark in found) == 1
    if not any(mark for _, mark in found):
        if not headings or not named:
            hint = "A story begins with a heading such as `# Story 1.2: Log in`."
            raise InteropError(source.name, 0, "there is no story in the file", hint)
        found, is_one = [(headings[0], named)], True
    for index, (heading, mark) in enumerate(found):
        if mark is not None:
            ends = (
                later.line - 1
                for later, other in found[index + 1 :]
                if other or later.level <= heading.level
            )
            end = last if is_one else next(ends, last)
            sections, status = _sections(document.lines[heading.line : end], by_line)
            title = heading.text if mark is named else mark[3].strip()
            story = _Story(f"{int(mark[1])}.{int(mark[2])}", sections, status)
            numbers = [line.number for each in story.of("tasks") for line in each.lines]
            if half := next((malformed[n] for n in numbers if n in malformed), None):
                raise malformed_box_error(half, source)
            own = [boxes[number] for number in numbers if number in boxes]
            ignored |= dict.fromkeys(section.name for section in story.of("ignored"))
            yield PlanEntry(
                id=story.id,
                title=title or f"Story {story.id}",
                line=heading.line,
                text=story.text,
                criteria=tuple(c for each in story.of("criteria") for c in _criteria(each)),
                done=story.is_done(own, remarks),
                blocked=f"blocked in {one_line(source.name, 100)}" * (story.word == "blocked"),
                priority=int(mark[1]) * 100 + min(int(mark[2]), 99),
                group=epic or f"Epic {int(mark[1])}",
                notes="\n\n".join(
                    f"{each.name}\n{each.text}" for each in story.of("") if each.text
                ),
            )
        elif _EPIC.match(heading.text):
            epic = heading.text


def _sections(
    lines: Sequence[TextLine], headings: Mapping[int, Heading]
) -> tuple[list[_Section], str]:
    """Return the sections of a story, and the words of its Status. The headings are by line.

    A heading below the level of its section belongs to that section. The status is in a line of its own before
    the other sections, or in a section of that name or its heading, as in `## Status: Done`.
    """
    found, status = [_Section("", 0)], ""
    for line in lines:
        now, heading, bold = found[-1], headings.get(line.number), _BOLD.match(line.shown)
        may_begin = now.level in {0, _BOLD_LEVEL}
        if heading is not None and (heading.level <= now.level or may_begin):
            found.append(now := _Section(heading.text, heading.level))
            words = heading.text.partition(":")[2] if now.kind == "status" else ""
        elif bold and _kind(bold[1]) and may_begin:
            found.append(_Section(bold[1], _BOLD_LEVEL))
            words = ""
        else:
            mark = _STATUS.match(line.shown) if now.kind in {"text", "status"} else None
            words = line.shown[mark.end() :] if mark else line.shown * (now.kind == "status")
            if mark is None:
                now.lines.append(line)
        if words.strip() and not status:
            value = _VALUE.search(words)
            status = value[0] if value else ""
    return found, status


@dataclass(frozen=True)
class _Story:
    """A story of an epic, with the words of its Status."""

    id: str
    sections: Sequence[_Section]
    status: str

    def of(self, kind: str) -> Iterator[_Section]:
        return (section for section in self.sections if section.kind == kind)

    @property
    def word(self) -> str:
        return re.split(r"[ _-]", self.status.casefold())[0]

    @property
    def text(self) -> str:
        lines = "\n".join(line.text for section in self.of("text") for line in section.lines)
        text = re.sub(r"\A(?:[ \t-]*\n)+|(?:\n[ \t-]*)+\Z", "", lines)
        tasks = (f"{each.name}:\n{each.text}" for each in self.of("tasks") if each.text)
        return "\n\n".join(filter(None, (re.sub(r"\n{3,}", "\n\n", text), *tasks)))

    def is_done(self, boxes: Sequence[Box], remarks: list[str]) -> bool:
        open_ = [box for box in boxes if not box.is_done]
        if not self.status:
            return bool(boxes) and not open_
        is_done = self.word in {"done", "complete", "completed", "closed"}
        told = f"Story {self.id} is {one_line(self.status, 40)!r} in the file, so it counts as"
        if is_done and open_:
            remarks.append(f"{told} done, although {len(open_)} of {len(boxes)} boxes are open.")
        elif not is_done and boxes and not open_:
            remarks.append(f"{told} open, although all of its boxes are done.")
        return is_done


def _kind(name: str) -> str:
    key = name.strip(" \t*_:").casefold()
    return next((kind for kind, pattern in _KINDS if pattern.match(key)), "")


def _criteria(section: _Section) -> Iterator[str]:
    """Yield the criteria: one for each heading, or for each bullet of the first level, or for each paragraph."""
    shown = [line.shown for line in section.lines]
    heads = {index for index, line in enumerate(shown) if _HEAD.match(line)}
    bullets = {index: columns(line) for index, line in enumerate(shown) if _BULLET.match(line)}
    paragraphs = {
        index
        for index, line in enumerate(shown)
        if line.strip() and not (index and shown[index - 1].strip()) and not _CONTINUES.match(line)
    }
    least = min(bullets.values(), default=0)
    first = {index for index, depth in bullets.items() if depth <= least}
    starts = sorted({0, *(heads or first or paragraphs), len(shown)})
    for begin, end in pairwise(starts):
        bullet = _BULLET.match(shown[begin])
        head = shown[begin][bullet.end() :] if bullet else shown[begin]
        text = " ".join(" ".join((head.lstrip("# \t"), *shown[begin + 1 : end])).split()).strip(
            " -"
        )
        if text:
            yield text


BMAD_FORMAT = Format("bmad", _sniff, _listing)
