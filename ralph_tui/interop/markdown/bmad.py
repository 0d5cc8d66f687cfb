"""Reads and updates stories of the BMAD method: one story with a Status in each file, or all stories of an epic."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry, import_listing, tasks_by_foreign_id
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source
from ralph_tui.interop.markdown.box_plans import (
    chained,
    file_name,
    head_document,
    malformed_box_error,
    must_change,
    open_document,
)
from ralph_tui.interop.markdown.boxes import (
    OPEN,
    Box,
    BoxDocument,
    Edit,
    Heading,
    MalformedBox,
    TextLine,
    edited,
)

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
_CONTINUES = re.compile(r"\W*(?:when|then|and|but)\b", re.IGNORECASE)
_DONE = frozenset({"done", "complete", "completed", "closed"})

_CRITERIA = "acceptance criteria"
_TASKS = ("tasks", "task list", "subtasks")
_STORY_TEXT = ("story", "user story", "story statement", "description")
_IGNORED = (
    *("dev agent record", "change log", "changelog", "qa results", "file list", "debug log"),
    *(
        "completion notes",
        "agent model",
        "senior developer review",
        "story completion",
        "references",
    ),
)
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
    def key(self) -> str:
        return self.name.strip(" \t*_:").casefold()

    @property
    def text(self) -> str:
        return "\n".join(line.raw if line.is_code else line.shown for line in self.lines).strip()


@dataclass(frozen=True)
class _Status:
    """The words of a status, with their offsets in the text."""

    start: int
    end: int
    words: str

    @property
    def first(self) -> str:
        return re.split(r"[ _-]", self.words.casefold())[0]

    def changed(self, *, is_done: bool) -> Edit:
        lower = self.words.islower()
        word = "done" if is_done else "in-progress" if lower else "InProgress"
        return Edit(self.start, self.end, word if lower else word[0].upper() + word[1:])


@dataclass(frozen=True)
class _Story:
    entry: PlanEntry
    status: _Status | None
    boxes: Sequence[Box]
    ignored: Sequence[str]
    remark: str


class Bmad:
    """A story is a task with its acceptance criteria. The Status decides whether it is done."""

    name = "bmad"

    def sniff(self, source: Source) -> int:
        """Score a file by headings of stories with a status or criteria."""
        document = head_document(source.head)
        has_criteria = any(_is_criteria(heading.text) for heading in document.headings) or any(
            (bold := _BOLD.match(line.shown)) and _is_criteria(bold[1]) for line in document.lines
        )
        has_status = any(_status_in(line.shown) for line in document.lines)
        if any(_STORY.match(heading.text) for heading in document.headings):
            return 92 if has_criteria else 75 if has_status else 0
        return 80 if has_criteria and has_status and _FILE.search(file_name(source)) else 0

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        document = open_document(source)
        stories = _stories(document, source)
        ignored = dict.fromkeys(name for story in stories for name in story.ignored)
        remark = (
            f"Sections that ralph does not use stay in the file: {shortlist(list(ignored), 6)}."
        )
        listing = Listing(
            format=self.name,
            entries=chained(story.entry for story in stories),
            title="" if len(stories) == 1 else document.title,
            remarks=[
                *(story.remark for story in stories if story.remark),
                *([remark] if ignored else []),
            ],
        )
        return import_listing(listing, source, wanted)

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Change the Status of each story, or its boxes if it has no Status.

        Raises:
            InteropError: There is no file to change, or it can no longer be read.
        """
        if not before.text.strip():
            what = "ralph can update BMAD stories but cannot create them"
            raise InteropError(before.name, 0, what, "Choose another format with `--as`.")
        tasks = tasks_by_foreign_id(plan, self.name, before.name)
        edits: list[Edit] = []
        for story in _stories(open_document(before), before):
            is_done = story.entry.done
            task = tasks.get(story.entry.id)
            if task is None or not must_change(task, is_done=is_done):
                continue
            if story.status is not None:
                edits.append(story.status.changed(is_done=not is_done))
            else:
                mark = OPEN if is_done else "x"
                changed = (box for box in story.boxes if box.is_done == is_done)
                edits += (Edit(box.start, box.end, mark) for box in changed)
        return edited(before.text, edits)


def _is_criteria(text: str) -> bool:
    return text.strip(" \t*_:").casefold().startswith(_CRITERIA)


@dataclass(frozen=True)
class _File:
    """A file of stories, with its headings and boxes by line."""

    document: BoxDocument
    source: Source

    @cached_property
    def headings(self) -> Mapping[int, Heading]:
        return {heading.line: heading for heading in self.document.headings}

    @cached_property
    def boxes(self) -> Mapping[int, Box]:
        return {box.line: box for box in self.document.boxes}

    @cached_property
    def malformed(self) -> Mapping[int, MalformedBox]:
        return {half.line: half for half in self.document.malformed}


@dataclass(frozen=True)
class _Region:
    """The lines of one story, without its heading."""

    file: _File
    begin: int
    end: int
    epic: str = ""

    @property
    def lines(self) -> Sequence[TextLine]:
        return self.file.document.lines[self.begin : self.end]

    def sections(self) -> list[_Section]:
        """Split the lines at headings. A heading below the level of its section belongs to that section."""
        found = [_Section("", 0, self.begin)]
        for line in self.lines:
            level = found[-1].level
            heading = self.file.headings.get(line.number)
            bold = _BOLD.match(line.shown)
            if heading is not None and (heading.level <= level or level in {0, _BOLD_LEVEL}):
                found.append(_Section(heading.text, heading.level, line.number))
            elif bold and _kind(bold[1].casefold()) and level in {0, _BOLD_LEVEL}:
                found.append(_Section(bold[1], _BOLD_LEVEL, line.number))
            else:
                found[-1].lines.append(line)
        return found


def _stories(document: BoxDocument, source: Source) -> list[_Story]:
    file, last = _File(document, source), len(document.lines)
    marks = [(h, story) for h in document.headings if (story := _STORY.match(h.text))]
    if not marks:
        return [_story_named_by_file(file)]
    if len(marks) == 1:
        top, only = marks[0]
        return [_story(only, only[3], _Region(file, top.line, last, _epic(file, top)))]
    stories: list[_Story] = []
    match: re.Match[str] | None = None
    epic, begin, level = "", 0, 0
    for heading in (*document.headings, Heading(0, "", last + 1)):
        found = _STORY.match(heading.text)
        if match is not None and (found or heading.level <= level):
            stories.append(_story(match, match[3], _Region(file, begin, heading.line - 1, epic)))
            match = None
        if found:
            match, begin, level = found, heading.line, heading.level
        elif _EPIC.match(heading.text):
            epic = heading.text
    return stories


def _epic(file: _File, story: Heading) -> str:
    above = [h for h in file.document.headings if h.line < story.line and _EPIC.match(h.text)]
    return above[-1].text if above else ""


def _story_named_by_file(file: _File) -> _Story:
    named = _FILE.search(file_name(file.source))
    if named is None or not file.document.headings:
        hint = "A story begins with a heading such as `# Story 1.2: Log in`."
        raise InteropError(file.source.name, 0, "there is no story in the file", hint)
    top = file.document.headings[0]
    return _story(named, top.text, _Region(file, top.line, len(file.document.lines)))


def _kind(key: str) -> str:
    if key.startswith(_CRITERIA):
        return "criteria"
    if key.startswith(_TASKS):
        return "tasks"
    if key == "status" or key.startswith("status:"):
        return "status"
    if key in _STORY_TEXT:
        return "text"
    return "ignored" if key.startswith(_IGNORED) else ""


def _story(number: re.Match[str], title: str, region: _Region) -> _Story:
    epic, place = int(number[1]), int(number[2])
    id_ = f"{epic}.{place}"
    sections = region.sections()
    kinds: dict[str, list[_Section]] = {}
    for section in sections:
        kinds.setdefault(_kind(section.key) if section.name else "text", []).append(section)
    status = _status(_status_lines(region, kinds))
    boxes = _task_boxes(kinds.get("tasks", ()), region)
    is_done, remark = _is_done(id_, status, boxes)
    entry = PlanEntry(
        id=id_,
        title=title.strip() or f"Story {id_}",
        line=max(1, region.begin),
        text=_text(kinds, status),
        criteria=tuple(c for section in kinds.get("criteria", ()) for c in _criteria(section)),
        done=is_done,
        blocked=_blocked(status, region.file.source),
        priority=epic * 100 + min(place, 99),
        group=region.epic or f"Epic {epic}",
        notes="\n\n".join(f"{s.name}\n{s.text}" for s in kinds.get("", ()) if s.text),
    )
    ignored = [section.name for section in kinds.get("ignored", ())]
    return _Story(entry, status, boxes, ignored, remark)


def _blocked(status: _Status | None, source: Source) -> str:
    is_blocked = status is not None and status.first == "blocked"
    return f"blocked in {one_line(source.name, 100)}" if is_blocked else ""


def _text(kinds: Mapping[str, Sequence[_Section]], status: _Status | None) -> str:
    at = status.start if status else -1
    lines = [
        line.raw if line.is_code else line.shown
        for section in kinds.get("text", ())
        for line in section.lines
        if not line.start <= at <= line.start + len(line.raw) and not _STATUS_HEAD.match(line.shown)
    ]
    kept = [index for index, line in enumerate(lines) if line.strip(" \t-")]
    lines = lines[kept[0] : kept[-1] + 1] if kept else []
    text = re.sub(r"\n{3,}", "\n\n", "\n".join(lines))
    tasks = "\n\n".join(f"{s.name}:\n{s.text}" for s in kinds.get("tasks", ()) if s.text)
    return "\n\n".join(part for part in (text, tasks) if part)


def _task_boxes(sections: Sequence[_Section], region: _Region) -> list[Box]:
    file = region.file
    numbers = [line.number for section in sections for line in section.lines]
    for half in (file.malformed[number] for number in numbers if number in file.malformed):
        raise malformed_box_error(half, file.source)
    return [file.boxes[number] for number in numbers if number in file.boxes]


def _is_done(id_: str, status: _Status | None, boxes: Sequence[Box]) -> tuple[bool, str]:
    open_ = [box for box in boxes if not box.is_done]
    if status is None:
        return bool(boxes) and not open_, ""
    is_done = status.first in _DONE
    status_text = f"Story {id_} is {one_line(status.words, 40)!r} in the file"
    if is_done and open_:
        return (
            True,
            f"{status_text}, so it counts as done, although {len(open_)} of {len(boxes)} boxes are open.",
        )
    if not is_done and boxes and not open_:
        return False, f"{status_text}, so it counts as open, although all of its boxes are done."
    return is_done, ""


def _status_lines(region: _Region, kinds: Mapping[str, Sequence[_Section]]) -> Iterator[TextLine]:
    others = [s for kind in ("criteria", "tasks", "ignored") for s in kinds.get(kind, ())]
    first = min((section.line for section in others), default=region.end + 1)
    yield from (line for line in region.lines if line.number < first)
    for section in kinds.get("status", ()):
        if section.line > first:
            # The heading itself may contain the status, as in `## Status: Done`.
            yield from (region.file.document.lines[section.line - 1], *section.lines)


def _status(lines: Iterable[TextLine]) -> _Status | None:
    expected = False
    for line in lines:
        shown = line.shown
        if not shown.strip():
            continue
        if expected and not shown.lstrip().startswith("#"):
            return _value(line, 0)
        if found := _STATUS.match(shown):
            return _value(line, found.end())
        expected = _STATUS_HEAD.match(shown) is not None
    return None


def _value(line: TextLine, at: int) -> _Status | None:
    if words := _VALUE.search(line.shown, at):
        return _Status(line.start + words.start(), line.start + words.end(), words[0])
    return None


def _status_in(shown: str) -> bool:
    return _STATUS.match(shown) is not None or _STATUS_HEAD.match(shown) is not None


def _criteria(section: _Section) -> Iterator[str]:
    shown = [line.shown for line in section.lines]
    if any(re.match(r" {0,3}#{1,6}[ \t]", line) for line in shown):
        pieces = _pieces(shown, lambda line: re.match(r" {0,3}#{1,6}[ \t]", line) is not None)
    elif any(_BULLET.match(line) for line in shown):
        least = min(_depth(line) for line in shown if _BULLET.match(line))
        pieces = _pieces(
            shown, lambda line: _BULLET.match(line) is not None and _depth(line) <= least
        )
    else:
        starts = {index for index, line in enumerate(shown) if line.strip()} - {
            index for index in range(1, len(shown)) if shown[index - 1].strip()
        }
        keep = {index for index in starts if not _CONTINUES.match(shown[index])}
        pieces = _pieces_at(shown, keep)
    for piece in pieces:
        bullet = _BULLET.match(piece[0])
        first = piece[0][bullet.end() :] if bullet else piece[0]
        text = " ".join(" ".join((first.lstrip("# \t"), *piece[1:])).split()).strip(" -")
        if text:
            yield text


def _depth(line: str) -> int:
    return len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())


def _pieces(lines: Sequence[str], begins: Callable[[str], bool]) -> Iterator[list[str]]:
    return _pieces_at(lines, {index for index, line in enumerate(lines) if begins(line)})


def _pieces_at(lines: Sequence[str], starts: set[int]) -> Iterator[list[str]]:
    piece: list[str] = []
    for index, line in enumerate(lines):
        if index in starts and piece:
            yield piece
            piece = []
        piece.append(line)
    if piece:
        yield piece
