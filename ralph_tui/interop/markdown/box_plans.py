"""Shared by the formats made of check boxes: turns boxes into entries that know how their box is checked."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry, WritableFormat, free_id, slug
from ralph_tui.interop.formats import ImportOptions, InteropError, LeftOut, Source
from ralph_tui.interop.markdown.boxes import Box, BoxDocument, MalformedBox, read_boxes

MAX_LINES = 400_000
MAX_BOXES = 50_000
"""Far more than 5,000 tasks with criteria need."""


def box_format(
    name: str,
    sniff: Callable[[BoxDocument, str], int],
    listing: Callable[[BoxDocument], Listing],
    *,
    also: Sequence[str] = (),
    new: Callable[[ImplementationPlan], str] | None = None,
    usual: str = "",
) -> WritableFormat:
    """Return a format in which each task has one check box.

    Args:
        sniff: Scores the head of a file and its name, in lower case after a slash.
        listing: Finds the entries. It removes malformed boxes from sections that it does not read.
        usual: A mark besides a blank that means open.
    """

    def read(source: Source, _: ImportOptions) -> Listing:
        document = open_document(source)
        found = listing(document)
        if document.malformed:
            raise malformed_box_error(document.malformed[0], source)
        lines = {entry.line for entry in found.entries}
        odd = [b.line for b in document.boxes if b.line in lines and b.is_odd and b.mark != usual]
        doubts = _doubts(odd, document.boxes_outside_lists)
        return replace(found, remarks=[*found.remarks, *doubts])

    def score(source: Source) -> int:
        return sniff(head_document(source.head), file_name(source))

    return WritableFormat(name, score, read, also, new)


def _doubts(odd: Sequence[int], outside: Sequence[int]) -> Iterator[str]:
    if odd:
        lines = shortlist([str(line) for line in odd], 5)
        yield f"Boxes that are neither open nor done count as open (line {lines})."
    if outside:
        lines = shortlist([str(line) for line in outside], 5)
        yield f"Boxes in tables, quotations and paragraphs were ignored (line {lines})."


def top_boxes(
    document: BoxDocument, read: Callable[[PlanEntry, Box], PlanEntry | LeftOut]
) -> Listing:
    """List the boxes at the top level, as a format reads them; without an id, the title gives one."""
    tree, taken = Tree(document), dict[str, int]()
    entries: list[PlanEntry] = []
    dropped: list[LeftOut] = []
    for index, box in tree.top:
        plain = tree.entry(index, box.title_and_text[0])
        plain = replace(plain, group=heading_path(box, document))
        found = read(plain, box) if plain.title else left_out(box, "")
        if isinstance(found, LeftOut):
            dropped.append(found)
            continue
        # An id of its own, or one of the words of the title, which stays the same when the file is edited.
        id_ = box.own_id or found.id or free_id(slug(found.title) or "task", taken)
        taken.setdefault(id_, 1)
        entries.append(replace(found, id=id_))
    return Listing(entries, document.title, left_out=dropped)


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
    """The boxes of a document."""

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
            marks={
                TaskStatus.COMPLETE: (box.start, box.end, "x"),
                TaskStatus.PENDING: (box.start, box.end, " "),
            },
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
