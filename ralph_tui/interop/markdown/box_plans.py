"""Shared by the formats made of check boxes: turns boxes into entries, and updates boxes from tasks."""

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from functools import lru_cache

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import (
    Listing,
    PlanEntry,
    free_id,
    import_listing,
    represents_group,
    slug,
    tasks_by_foreign_id,
)
from ralph_tui.interop.formats import (
    Edit,
    Imported,
    ImportOptions,
    InteropError,
    LeftOut,
    Source,
    edited,
)
from ralph_tui.interop.markdown.boxes import Box, BoxDocument, MalformedBox, read_boxes

MAX_LINES = 400_000
MAX_BOXES = 50_000
"""Far more than 5,000 tasks with criteria need."""


@dataclass(frozen=True)
class Outline:
    """The entries of a file, each with its box.

    Attributes:
        left_out: The boxes that are not entries, with reasons.
        malformed: Malformed boxes in the sections that are read. The first one is reported as an error.
    """

    entries: Sequence[tuple[PlanEntry, Box]]
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

    def outline(self, document: BoxDocument) -> Outline:
        """Find the entries of a file: unless a format overrides this, the boxes at the top level."""
        tree, taken = Tree(document), dict[str, int]()
        entries: list[tuple[PlanEntry, Box]] = []
        dropped: list[LeftOut] = []
        for index, box in tree.top:
            plain = tree.entry(index, box.title_and_text[0])
            found = self.entry(replace(plain, group=heading_path(box, document)), box)
            if isinstance(found, LeftOut) or not plain.title:
                dropped.append(found if isinstance(found, LeftOut) else left_out(box, ""))
                continue
            # An id of its own, or one of the words of the title, which stays the same when the file is edited.
            id_ = box.own_id or found.id or free_id(slug(found.title) or "task", taken)
            taken.setdefault(id_, 1)
            entries.append((replace(found, id=id_), box))
        return Outline(entries, document.title, dropped, malformed=document.malformed)

    def entry(self, entry: PlanEntry, box: Box) -> PlanEntry | LeftOut:  # noqa: ARG002 - for a format to read
        """Return the entry of a box at the top level as the format reads it; without an id, its title gives one."""
        return entry

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        outline, document = self._checked(source)
        odd = [box.line for _, box in outline.entries if not box.is_done and not box.mark.isspace()]
        listing = Listing(
            format=self.name,
            entries=[entry for entry, _ in outline.entries],
            title=outline.title,
            left_out=outline.left_out,
            remarks=[*outline.remarks, *self._doubts(odd, document.boxes_outside_lists)],
        )
        return import_listing(listing, source, wanted)

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Check the boxes of complete tasks, and clear those of other tasks."""
        if not before.text.strip():
            return self.new(plan)
        tasks = tasks_by_foreign_id(plan, self.name, before.name)
        edits: list[Edit] = []
        for entry, box in self._checked(before)[0].entries:
            if (task := tasks.get(entry.id)) is not None:
                is_complete = task.status is TaskStatus.COMPLETE
                # A task for a group does not know which of its members are done.
                if is_complete != entry.done and (is_complete or not represents_group(task)):
                    edits.append((box.start, box.end, "x" if is_complete else " "))
        return edited(before.text, edits)

    def new(self, plan: ImplementationPlan) -> str:  # noqa: ARG002 - for a format that can
        what = f"ralph can update {self.name} files but cannot create them"
        raise InteropError("--as", 0, what, "Choose prd, wiggum or todo.")

    def _checked(self, source: Source) -> tuple[Outline, BoxDocument]:
        document = open_document(source)
        outline = self.outline(document)
        if outline.malformed:
            raise malformed_box_error(outline.malformed[0], source)
        return outline, document

    def _doubts(self, odd: Sequence[int], outside: Sequence[int]) -> Iterator[str]:
        if odd and self.name != "kiro":  # where it is a normal state
            lines = shortlist([str(line) for line in odd], 5)
            yield f"Boxes that are neither open nor done count as open (line {lines})."
        if outside:
            lines = shortlist([str(line) for line in outside], 5)
            yield f"Boxes in tables, quotations and paragraphs were ignored (line {lines})."


def open_document(source: Source) -> BoxDocument:
    for kind, found, most in (
        ("lines", source.text.count("\n") + source.text.count("\r"), MAX_LINES),
        ("check boxes", sum(source.text.count(f"[{mark}]") for mark in " xX"), MAX_BOXES),
    ):
        if found > most:
            what = f"about {found:,} {kind}, the maximum is {most:,}"
            raise InteropError(source.name, 0, what, "Split the file.")
    document = read_boxes(source.text)
    if document.unclosed:
        line, kind = document.unclosed
        what = f"the {kind} that begins here is never closed, and it contains check boxes"
        raise InteropError(source.name, line, what, f"Close the {kind}.")
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


class Tree:
    """The boxes of a document as a tree."""

    def __init__(self, document: BoxDocument) -> None:
        self._boxes = document.boxes
        self._children: dict[int | None, list[int]] = {}
        for index, box in enumerate(document.boxes):
            self._children.setdefault(box.parent, []).append(index)

    @property
    def top(self) -> Iterator[tuple[int, Box]]:
        return ((index, self._boxes[index]) for index in self._children.get(None, ()))

    def entry(
        self, index: int, title: str, tasks: AbstractSet[int] = frozenset(), id_: str = ""
    ) -> PlanEntry:
        """Return a box as an entry. The boxes in it are its criteria, except for those that are tasks themselves."""
        box = self._boxes[index]
        return PlanEntry(
            id=id_,
            title=title,
            line=box.line,
            text=box.title_and_text[1],
            criteria=tuple(filter(None, self._criteria(index, tasks))),
            done=box.is_done,
        )

    def _criteria(self, index: int, tasks: AbstractSet[int]) -> Iterator[str]:
        waiting = [*reversed(self._children.get(index, ()))]
        while waiting:
            below = waiting.pop()
            if below not in tasks:
                yield " ".join(" ".join(self._boxes[below].title_and_text).split())
                waiting.extend(reversed(self._children.get(below, ())))

    def unassigned(
        self, tasks: AbstractSet[int], parents: AbstractSet[int] = frozenset()
    ) -> Iterator[Box]:
        """Yield the boxes that are neither tasks nor parents, nor inside a task."""
        owned: set[int] = set()
        for index, box in enumerate(self._boxes):
            if index in tasks or (index not in parents and box.parent in owned):
                owned.add(index)
            elif index not in parents:
                yield box


def heading_path(box: Box, document: BoxDocument) -> str:
    titles = sum(heading.level == 1 for heading in document.headings)
    return " / ".join(h.text for h in box.headings if h.text and (h.level > 1 or titles > 1))


def left_out(box: Box, reason: str) -> LeftOut:
    title = box.title_and_text[0]
    return LeftOut(id=f"line {box.line}", title=title, reason=reason if title else "an empty box")


def chained(entries: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Make each entry wait for the one before it, skipping entries on hold."""
    found: list[PlanEntry] = []
    before: Mapping[str, int] = {}
    for entry in entries:
        found.append(replace(entry, waits_for=dict.fromkeys(before, entry.line)))
        before = before if entry.held else {entry.id: entry.line}
    return found
