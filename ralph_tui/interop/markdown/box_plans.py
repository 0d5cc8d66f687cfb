"""What the formats made of check boxes share: from boxes to entries, and from tasks back to boxes."""

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
    imported,
    slug,
    stands_for_many,
    tasks_by_foreign_id,
)
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, LeftOut, Source
from ralph_tui.interop.markdown.boxes import (
    OPEN,
    Box,
    BoxDocument,
    Edit,
    Half,
    Heading,
    edited,
    read_boxes,
)

MAX_LINES = 400_000
MAX_BOXES = 50_000
"""Far more than 5,000 tasks with their criteria need."""


@dataclass(frozen=True)
class Outline:
    """A file as entries, and where each has its box.

    Attributes:
        entries: In the order of the file.
        boxes: The box of each entry, by the entry's id.
        title: Of the plan.
        left_out: What is no entry, each with the reason.
        remarks: Sentences for the preview.
        halves: Almost-boxes in sections that count; the first is reported as an error.
    """

    entries: Sequence[PlanEntry]
    boxes: Mapping[str, Box]
    title: str = ""
    left_out: Sequence[LeftOut] = ()
    remarks: Sequence[str] = ()
    halves: Sequence[Half] = ()


class BoxFormat(ABC):
    """A format in which each task has one check box."""

    name: str

    @abstractmethod
    def sniff(self, source: Source) -> int:
        """Say from 0 to 100 whether a file is in this format."""

    @abstractmethod
    def outline(self, document: BoxDocument, source: Source) -> Outline:
        """Find the entries of a file."""

    @abstractmethod
    def new(self, plan: ImplementationPlan) -> str:
        """Return a plan as a new file."""

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        """Read the tasks.

        Raises:
            InteropError: A box is not complete, something hides boxes, or the plan would not work.
        """
        outline = self._outlined(source)
        listing = Listing(
            format=self.name,
            entries=outline.entries,
            title=outline.title,
            left_out=outline.left_out,
            remarks=outline.remarks,
        )
        return imported(listing, source, wanted)

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Check the boxes of tasks that are complete, and clear those of tasks that are not.

        Raises:
            InteropError: The file cannot be read any more.
        """
        if not before.text.strip():
            return self.new(plan)
        outline = self._outlined(before)
        tasks = tasks_by_foreign_id(plan, self.name, before.name)
        edits: list[Edit] = []
        for entry in outline.entries:
            box = outline.boxes[entry.id]
            task = tasks.get(entry.id)
            if task is not None and must_change(task, is_done=entry.done):
                edits.append(Edit(box.start, box.end, OPEN if entry.done else "x"))
        return edited(before.text, edits)

    def _outlined(self, source: Source) -> Outline:
        document = open_document(source)
        outline = _with_own_ids(self.outline(document, source), source.text)
        if outline.halves:
            raise half_box(outline.halves[0], source)
        odd = [box.line for box in outline.boxes.values() if box.is_odd]
        told = [*outline.remarks, *_about_boxes(document, odd, self.name)]
        return replace(outline, remarks=told)


def open_document(source: Source) -> BoxDocument:
    """Read the boxes of a file.

    Raises:
        InteropError: It is far longer than a plan, or a code block or a comment is never closed and hides boxes.
    """
    for kind, found, most in (
        ("lines", source.text.count("\n") + source.text.count("\r"), MAX_LINES),
        ("check boxes", sum(source.text.count(f"[{mark}]") for mark in " xX"), MAX_BOXES),
    ):
        if found > most:
            what = f"about {found:,} {kind}, more than {most:,}"
            raise InteropError(source.name, 0, what, "Split the file.")
    document = read_boxes(source.text)
    if opened := document.unclosed:
        raise InteropError(
            source.name,
            opened.line,
            f"the {opened.kind} that begins here is never closed, and there are boxes in it",
            f"Close the {opened.kind}.",
        )
    return document


def half_box(half: Half, source: Source) -> InteropError:
    """Return the error for a list item that is almost a box."""
    what = f"{one_line(half.shown, 30)!r} is not a complete check box"
    return InteropError(source.name, half.line, what, "Write `[ ]` for open or `[x]` for done.")


@lru_cache(maxsize=1)
def head_document(head: str) -> BoxDocument:
    """Return the boxes at the start of a file, once for all formats that look at it."""
    return read_boxes(head)


def file_name(source: Source) -> str:
    """Return the path of a file in lower case, with slashes."""
    return "/" + source.name.replace("\\", "/").casefold().lstrip("/")


def share(boxes: Sequence[Box], pattern: re.Pattern[str]) -> float:
    """Return which share of the boxes begins with a pattern, from 0 to 1."""
    return sum(bool(pattern.match(box.text)) for box in boxes) / len(boxes) if boxes else 0.0


def must_change(task: Task, *, is_done: bool) -> bool:
    """Return whether a file that says so about a task must be changed."""
    is_complete = task.status is TaskStatus.COMPLETE
    if stands_for_many(task) and not is_complete:
        return False  # its members may be done one by one; the task does not say which
    return is_complete != is_done


def words_of(box: Box) -> tuple[str, str]:
    """Return the title and the text of a box; one without words on its line begins on the next."""
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
        """Sort the boxes by the one they are in."""
        self.children = self.document.children()

    @property
    def top(self) -> Iterator[tuple[int, Box]]:
        """The boxes that are in no other, with their index."""
        for index in self.children.get(None, ()):
            yield index, self.document.boxes[index]

    def criteria(self, index: int, tasks: AbstractSet[int] = frozenset()) -> tuple[str, ...]:
        """Return what is in the boxes below one, each with its own lines; other tasks are no criteria."""
        found: list[str] = []
        waiting = [*reversed(self.children.get(index, ()))]
        while waiting:
            below = waiting.pop()
            if below in tasks:
                continue
            title, text = words_of(self.document.boxes[below])
            found.append(" ".join(f"{title}\n{text}".split()))
            waiting.extend(reversed(self.children.get(below, ())))
        return tuple(criterion for criterion in found if criterion)

    def homeless(
        self, tasks: AbstractSet[int], parents: AbstractSet[int] = frozenset()
    ) -> Iterator[Box]:
        """Yield the boxes that are neither a task nor a parent nor somewhere in a task."""
        owned: set[int] = set()
        for index, box in enumerate(self.document.boxes):
            if index in tasks or (index not in parents and box.parent in owned):
                owned.add(index)
            elif index not in parents:
                yield box


def heading_path(box: Box, document: BoxDocument) -> str:
    """Return the headings that a box is under, without the title of the file."""
    least = 1 if document.titles > 1 else 2
    return " / ".join(h.text for h in box.headings if h.text and h.level >= least)


def any_heading(headings: Iterable[Heading], pattern: re.Pattern[str]) -> Heading | None:
    """Return the innermost heading that a pattern fits, but never the title of the file."""
    below_title = [heading for heading in headings if heading.level > 1]
    return next((h for h in reversed(below_title) if pattern.search(h.text)), None)


class Names:
    """Ids for entries that the file gives none: the words of the title, the same as long as these stay."""

    def __init__(self) -> None:
        self._taken: set[str] = set()
        self._next: dict[str, int] = {}

    def of(self, title: str) -> str:
        """Return the next free id for a title."""
        name = stem = slug(title) or "task"
        number = self._next.get(stem, 1)
        while name in self._taken:
            number += 1
            name = f"{stem}-{number}"
        self._next[stem] = number
        self._taken.add(name)
        return name


def left_out(box: Box, reason: str) -> LeftOut:
    """Return what is said about a box that does not become a task."""
    title, _ = words_of(box)
    return LeftOut(id=f"line {box.line}", title=title, reason=reason if title else "an empty box")


def in_order(entries: Iterable[PlanEntry]) -> list[PlanEntry]:
    """Let each entry wait for the one before it; nothing waits for one that is held."""
    chained: list[PlanEntry] = []
    before: PlanEntry | None = None
    for entry in entries:
        chained.append(
            replace(entry, waits_for={before.id: entry.line}) if before is not None else entry
        )
        before = entry if not entry.held else before
    return chained


def _about_boxes(document: BoxDocument, odd: Sequence[int], format_: str) -> Iterator[str]:
    if odd and format_ != "kiro":  # there it is an ordinary state
        lines = shortlist([str(line) for line in odd], 5)
        yield f"Boxes that are neither open nor done count as open (line {lines})."
    if document.strays:
        lines = shortlist([str(line) for line in document.strays], 5)
        yield f"Boxes in tables, quotations and paragraphs were ignored (line {lines})."


_EXPORTED = re.compile(r"<!-- ralph: ([^\r\n<>]+) -->[ \t]*(?=[\r\n]|\Z)")


def _with_own_ids(outline: Outline, text: str) -> Outline:
    """Give the entries of a file that ralph made the ids that their tasks have in the plan."""
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
