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
from ralph_tui.interop.markdown.boxes import Box, BoxDocument, TextLine, columns

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
_DONE = frozenset({"done", "complete", "completed", "closed"})

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
    line: int
    lines: list[TextLine] = field(default_factory=list)

    @property
    def kind(self) -> str:
        return _kind(self.name)

    @property
    def text(self) -> str:
        return "\n".join(line.text for line in self.lines).strip()


@dataclass(frozen=True)
class _Status:
    """The words of a status, with their offset in the text."""

    start: int
    words: str

    @property
    def first(self) -> str:
        return re.split(r"[ _-]", self.words.casefold())[0]


@dataclass(frozen=True)
class _Story:
    entry: PlanEntry
    ignored: Sequence[str]
    remark: str


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
    document = open_document(source)
    stories = _stories(document, source)
    remarks = [story.remark for story in stories if story.remark]
    if ignored := list(dict.fromkeys(name for story in stories for name in story.ignored)):
        remarks.append(
            f"Sections that ralph does not use stay in the file: {shortlist(ignored, 6)}."
        )
    title = "" if len(stories) == 1 else document.title
    return Listing(chained(story.entry for story in stories), title, remarks=remarks)


def _kind(name: str) -> str:
    key = name.strip(" \t*_:").casefold()
    return next((kind for kind, pattern in _KINDS if pattern.match(key)), "")


class _Reader:
    """Reads the stories of a file, whose headings and boxes it knows by line."""

    def __init__(self, document: BoxDocument, source: Source) -> None:
        self.lines, self.source = document.lines, source
        self.headings = {heading.line: heading for heading in document.headings}
        self.boxes = {box.line: box for box in document.boxes}
        self.malformed = {half.line: half for half in document.malformed}

    def story(self, number: re.Match[str], title: str, begin: int, end: int, epic: str) -> _Story:
        """Return the story in the lines after `begin`, up to `end`."""
        id_ = f"{int(number[1])}.{int(number[2])}"
        kinds: dict[str, list[_Section]] = {}
        for section in self._sections(begin, end):
            kinds.setdefault(section.kind, []).append(section)
        status = _status(self._status_lines(begin, end, kinds))
        numbers = [line.number for section in kinds.get("tasks", ()) for line in section.lines]
        if half := next((self.malformed[n] for n in numbers if n in self.malformed), None):
            raise malformed_box_error(half, self.source)
        boxes = [self.boxes[number] for number in numbers if number in self.boxes]
        done, remark = _is_done(id_, status, boxes)
        is_blocked = status is not None and status.first == "blocked"
        entry = PlanEntry(
            id=id_,
            title=title.strip() or f"Story {id_}",
            line=max(1, begin),
            text=_text(kinds, status),
            criteria=tuple(c for section in kinds.get("criteria", ()) for c in _criteria(section)),
            done=done,
            blocked=f"blocked in {one_line(self.source.name, 100)}" if is_blocked else "",
            priority=int(number[1]) * 100 + min(int(number[2]), 99),
            group=epic or f"Epic {int(number[1])}",
            notes="\n\n".join(f"{s.name}\n{s.text}" for s in kinds.get("", ()) if s.text),
        )
        return _Story(entry, [s.name for s in kinds.get("ignored", ())], remark)

    def _sections(self, begin: int, end: int) -> list[_Section]:
        """Split the lines at headings. A heading below the level of its section belongs to that section."""
        found = [_Section("", 0, begin)]
        for line in self.lines[begin:end]:
            level = found[-1].level
            heading = self.headings.get(line.number)
            bold = _BOLD.match(line.shown)
            if heading is not None and (heading.level <= level or level in {0, _BOLD_LEVEL}):
                found.append(_Section(heading.text, heading.level, line.number))
            elif bold and _kind(bold[1]) and level in {0, _BOLD_LEVEL}:
                found.append(_Section(bold[1], _BOLD_LEVEL, line.number))
            else:
                found[-1].lines.append(line)
        return found

    def _status_lines(
        self, begin: int, end: int, kinds: Mapping[str, Sequence[_Section]]
    ) -> Iterator[TextLine]:
        """Yield the lines before the first long section, and those of later sections about the status."""
        others = [s for kind in ("criteria", "tasks", "ignored") for s in kinds.get(kind, ())]
        first = min((section.line for section in others), default=end + 1)
        yield from self.lines[begin : min(first - 1, end)]
        for section in kinds.get("status", ()):
            if section.line > first:
                # The heading itself may contain the status, as in `## Status: Done`.
                yield from (self.lines[section.line - 1], *section.lines)


def _stories(document: BoxDocument, source: Source) -> list[_Story]:
    reader, headings, last = _Reader(document, source), document.headings, len(document.lines)
    marks = [_STORY.match(heading.text) for heading in headings]
    is_one = sum(map(bool, marks)) == 1
    stories: list[_Story] = []
    epic = ""
    for index, (heading, mark) in enumerate(zip(headings, marks, strict=True)):
        if mark is not None:
            later = (
                headings[after].line - 1
                for after in range(index + 1, len(headings))
                if marks[after] or headings[after].level <= heading.level
            )
            end = last if is_one else next(later, last)
            stories.append(reader.story(mark, mark[3], heading.line, end, epic))
        elif _EPIC.match(heading.text):
            epic = heading.text
    named = _FILE.search(file_name(source))
    if not stories and headings and named:
        return [reader.story(named, headings[0].text, headings[0].line, last, "")]
    if not stories:
        hint = "A story begins with a heading such as `# Story 1.2: Log in`."
        raise InteropError(source.name, 0, "there is no story in the file", hint)
    return stories


def _text(kinds: Mapping[str, Sequence[_Section]], status: _Status | None) -> str:
    at = status.start if status else -1
    lines = [
        line.text
        for section in kinds.get("text", ())
        for line in section.lines
        if not line.start <= at <= line.start + len(line.raw) and not _STATUS_HEAD.match(line.shown)
    ]
    text = re.sub(
        r"\n{3,}", "\n\n", re.sub(r"\A(?:[ \t-]*\n)+|(?:\n[ \t-]*)+\Z", "", "\n".join(lines))
    )
    tasks = "\n\n".join(f"{s.name}:\n{s.text}" for s in kinds.get("tasks", ()) if s.text)
    return "\n\n".join(part for part in (text, tasks) if part)


def _is_done(id_: str, status: _Status | None, boxes: Sequence[Box]) -> tuple[bool, str]:
    open_ = [box for box in boxes if not box.is_done]
    if status is None:
        return bool(boxes) and not open_, ""
    is_done = status.first in _DONE
    told = f"Story {id_} is {one_line(status.words, 40)!r} in the file, so it counts as"
    if is_done and open_:
        return True, f"{told} done, although {len(open_)} of {len(boxes)} boxes are open."
    if not is_done and boxes and not open_:
        return False, f"{told} open, although all of its boxes are done."
    return is_done, ""


def _status(lines: Iterator[TextLine]) -> _Status | None:
    expected = False
    for line in lines:
        shown = line.shown
        if not shown.strip():
            continue
        found = _STATUS.match(shown)
        if found or (expected and not shown.lstrip().startswith("#")):
            words = _VALUE.search(shown, found.end() if found and not expected else 0)
            return words and _Status(line.start + words.start(), words[0])
        expected = _STATUS_HEAD.match(shown) is not None
    return None


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
