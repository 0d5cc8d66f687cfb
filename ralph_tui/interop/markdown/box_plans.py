"""Shared by the formats made of check boxes: turns boxes into entries, and updates boxes from tasks."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from functools import lru_cache

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import (
    Listing,
    PlanEntry,
    import_listing,
    represents_group,
    slug,
    tasks_by_foreign_id,
)
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, LeftOut, Source
from ralph_tui.interop.markdown.boxes import (
    OPEN,
    Box,
    BoxDocument,
    Edit,
    Heading,
    MalformedBox,
    edited,
    read_boxes,
)

MAX_LINES = 400_000
MAX_BOXES = 50_000
"""Far more than 5,000 tasks with criteria need."""


@dataclass(frozen=True)
class Outline:
    """The entries of a file and their boxes.

    Attributes:
        entries: The entries in the order of the file.
        boxes: The box of each entry, by the entry's id.
        left_out: The boxes that are not entries, with reasons.
        malformed: Malformed boxes in the sections that are read. The first one is reported as an error.
    """

    entries: Sequence[PlanEntry]
    boxes: Mapping[str, Box]
    title: str = ""
    left_out: Sequence[LeftOut] = ()
    remarks: Sequence[str] = ()
    malformed: Sequence[MalformedBox] = ()


class BoxFormat(ABC):
    """A format in which each task has one check box."""

    name: str

    @abstractmethod
    def sniff(self, source: Source) -> int:
        """Score from 0 to 100 whether a file is in this format."""

    def outline(self, document: BoxDocument, source: Source) -> Outline:  # noqa: ARG002 - other formats read it
        """Find the entries of a file: unless a format overrides this, the boxes at the top level."""
        tree, ids = Tree(document), IdGenerator()
        entries: list[PlanEntry] = []
        boxes: dict[str, Box] = {}
        dropped: list[LeftOut] = []
        for index, box in tree.top:
            title, text = title_and_text(box)
            found = self.entry(
                PlanEntry(
                    id="",
                    title=title,
                    line=box.line,
                    text=text,
                    criteria=tree.criteria(index),
                    done=box.is_done,
                    group=heading_path(box, document),
                ),
                box,
            )
            if isinstance(found, LeftOut) or not title:
                dropped.append(found if isinstance(found, LeftOut) else left_out(box, ""))
                continue
            id_ = found.id or ids.for_title(found.title)
            boxes.setdefault(id_, box)
            entries.append(replace(found, id=id_))
        return Outline(entries, boxes, document.title, dropped, malformed=document.malformed)

    def entry(self, entry: PlanEntry, box: Box) -> PlanEntry | LeftOut:  # noqa: ARG002 - for a format to read
        """Return the entry of a box at the top level as the format reads it; without an id, its title gives one."""
        return entry

    @abstractmethod
    def new(self, plan: ImplementationPlan) -> str:
        """Return a plan as a new file."""

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        outline = self._checked_outline(source)
        listing = Listing(
            format=self.name,
            entries=outline.entries,
            title=outline.title,
            left_out=outline.left_out,
            remarks=outline.remarks,
        )
        return import_listing(listing, source, wanted)

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Check the boxes of complete tasks, and clear those of other tasks."""
        if not before.text.strip():
            return self.new(plan)
        outline = self._checked_outline(before)
        tasks = tasks_by_foreign_id(plan, self.name, before.name)
        edits: list[Edit] = []
        for entry in outline.entries:
            box = outline.boxes[entry.id]
            task = tasks.get(entry.id)
            if task is not None and must_change(task, is_done=entry.done):
                edits.append(Edit(box.start, box.end, OPEN if entry.done else "x"))
        return edited(before.text, edits)

    def _checked_outline(self, source: Source) -> Outline:
        document = open_document(source)
        outline = _with_own_ids(self.outline(document, source), source.text)
        if outline.malformed:
            raise malformed_box_error(outline.malformed[0], source)
        odd = [box.line for box in outline.boxes.values() if box.has_unknown_mark]
        remarks = [*outline.remarks, *_box_remarks(document, odd, self.name)]
        return replace(outline, remarks=remarks)


def open_document(source: Source) -> BoxDocument:
    """Read the boxes of a file."""
    for kind, found, most in (
        ("lines", source.text.count("\n") + source.text.count("\r"), MAX_LINES),
        ("check boxes", sum(source.text.count(f"[{mark}]") for mark in " xX"), MAX_BOXES),
    ):
        if found > most:
            what = f"about {found:,} {kind}, the maximum is {most:,}"
            raise InteropError(source.name, 0, what, "Split the file.")
    document = read_boxes(source.text)
    if opened := document.unclosed:
        raise InteropError(
            source.name,
            opened.line,
            f"the {opened.kind} that begins here is never closed, and it contains check boxes",
            f"Close the {opened.kind}.",
        )
    return document


def malformed_box_error(half: MalformedBox, source: Source) -> InteropError:
    what = f"{one_line(half.shown, 30)!r} is not a complete check box"
    return InteropError(source.name, half.line, what, "Write `[ ]` for open or `[x]` for done.")


@lru_cache(maxsize=1)
def head_document(head: str) -> BoxDocument:
    return read_boxes(head)


def file_name(source: Source) -> str:
    return "/" + source.name.replace("\\", "/").casefold().lstrip("/")


def share(boxes: Sequence[Box], pattern: re.Pattern[str]) -> float:
    return sum(bool(pattern.match(box.text)) for box in boxes) / len(boxes) if boxes else 0.0


def must_change(task: Task, *, is_done: bool) -> bool:
    """Return whether a file that marks a task as done or not must be changed."""
    is_complete = task.status is TaskStatus.COMPLETE
    if represents_group(task) and not is_complete:
        return False  # some of its members may be done, but the task does not know which
    return is_complete != is_done


def title_and_text(box: Box) -> tuple[str, str]:
    """Return the title and the text of a box. If its own line is empty, the next line is the title."""
    if box.text:
        return box.text, box.body
    first, _, rest = box.body.partition("\n")
    return first.strip(), rest


@dataclass
class Tree:
    """The boxes of a document as a tree."""

    document: BoxDocument
    children: Mapping[int | None, Sequence[int]] = field(init=False)

    def __post_init__(self) -> None:
        self.children = self.document.children()

    @property
    def top(self) -> Iterator[tuple[int, Box]]:
        for index in self.children.get(None, ()):
            yield index, self.document.boxes[index]

    def criteria(self, index: int, tasks: AbstractSet[int] = frozenset()) -> tuple[str, ...]:
        """Return the texts of the boxes below a box, except for those that are tasks themselves."""
        found: list[str] = []
        waiting = [*reversed(self.children.get(index, ()))]
        while waiting:
            below = waiting.pop()
            if below in tasks:
                continue
            title, text = title_and_text(self.document.boxes[below])
            found.append(" ".join(f"{title}\n{text}".split()))
            waiting.extend(reversed(self.children.get(below, ())))
        return tuple(criterion for criterion in found if criterion)

    def unassigned(
        self, tasks: AbstractSet[int], parents: AbstractSet[int] = frozenset()
    ) -> Iterator[Box]:
        """Yield the boxes that are neither tasks nor parents, nor inside a task."""
        owned: set[int] = set()
        for index, box in enumerate(self.document.boxes):
            if index in tasks or (index not in parents and box.parent in owned):
                owned.add(index)
            elif index not in parents:
                yield box


def heading_path(box: Box, document: BoxDocument) -> str:
    least = 1 if document.titles > 1 else 2
    return " / ".join(h.text for h in box.headings if h.text and h.level >= least)


def innermost_heading(headings: Iterable[Heading], pattern: re.Pattern[str]) -> Heading | None:
    """Return the innermost heading that matches a pattern, but never the title of the file."""
    below_title = [heading for heading in headings if heading.level > 1]
    return next((h for h in reversed(below_title) if pattern.search(h.text)), None)


class IdGenerator:
    """Makes ids for entries without one from the words of their titles, so that they are stable."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def for_title(self, title: str) -> str:
        name = stem = slug(title) or "task"
        number = self._next.get(stem, 1)
        while name in self._taken:
            number += 1
            name = f"{stem}-{number}"
        self._next[stem] = number
        self._taken.add(name)
        return name


def left_out(box: Box, reason: str) -> LeftOut:
    title, _ = title_and_text(box)
    return LeftOut(id=f"line {box.line}", title=title, reason=reason if title else "an empty box")


def chained(entries: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Make each entry wait for the one before it, skipping entries on hold."""
    chained: list[PlanEntry] = []
    before: PlanEntry | None = None
    for entry in entries:
        chained.append(
            replace(entry, waits_for={before.id: entry.line}) if before is not None else entry
        )
        before = entry if not entry.held else before
    return chained


def _box_remarks(document: BoxDocument, odd: Sequence[int], format_: str) -> Iterator[str]:
    if odd and format_ != "kiro":  # where it is a normal state
        lines = shortlist([str(line) for line in odd], 5)
        yield f"Boxes that are neither open nor done count as open (line {lines})."
    if document.boxes_outside_lists:
        lines = shortlist([str(line) for line in document.boxes_outside_lists], 5)
        yield f"Boxes in tables, quotations and paragraphs were ignored (line {lines})."


_EXPORTED = re.compile(r"<!-- ralph: ([^\r\n<>]+) -->[ \t]*(?=[\r\n]|\Z)")


def _with_own_ids(outline: Outline, text: str) -> Outline:
    if "<!-- ralph: " not in text:
        return outline
    ids = {name: _exported_id(text, box) or name for name, box in outline.boxes.items()}
    entries = [
        replace(
            entry,
            id=ids[entry.id],
            waits_for={ids.get(dep, dep): line for dep, line in entry.waits_for.items()},
        )
        for entry in outline.entries
    ]
    return replace(outline, entries=entries, boxes={ids[n]: b for n, b in outline.boxes.items()})


def _exported_id(text: str, box: Box) -> str:
    end = re.compile(r"[\r\n]|\Z").search(text, box.end)
    found = _EXPORTED.search(text, box.end, end.start() if end else len(text))
    return found[1] if found else ""
