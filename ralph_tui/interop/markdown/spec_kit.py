"""Reads and writes the tasks.md of GitHub's spec-kit: tasks such as `T001 [P] [US1]` in phases."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.interop.foreign_tasks import PlanEntry
from ralph_tui.interop.formats import Source
from ralph_tui.interop.markdown.box_plans import (
    BoxFormat,
    Outline,
    Tree,
    file_name,
    head_document,
    left_out,
    share,
    title_and_text,
)
from ralph_tui.interop.markdown.boxes import Box, BoxDocument
from ralph_tui.interop.markdown.new_plans import grouped, new_file

_TASK = re.compile(r"(?:\*\*|`)?(T[0-9]{1,5}[a-z]?)(?:\*\*|`)?:?(?=\s|$|\[)")
_TAG = re.compile(r"[ \t]*\[(P|US[0-9]+(?:[ ,/&+-]+US[0-9]+)*|[A-Z][A-Za-z0-9-]{0,15})\](?!\()")
_PHASE = re.compile(r"^\W*phase\b", re.IGNORECASE)
_DEPENDS = re.compile(r"\bdepends? on\b([^().;]{0,200})", re.IGNORECASE)
_NAMED = re.compile(r"T([0-9]{1,5})([a-z]?)(?:[ ]?[-\u2013\u2014][ ]?T([0-9]{1,5})\b)?")

_WIDEST = 50
"""Most parallel tasks of one phase; further ones wait for the one before, or the lists of dependencies would explode."""


class SpecKit(BoxFormat):
    """Each box with a number such as T001 is a task."""

    name = "spec-kit"

    def sniff(self, source: Source) -> int:
        """Score a file by boxes with numbers such as T001."""
        boxes = head_document(source.head).boxes
        part = share(boxes, _TASK)
        if part < 0.3:
            return 0
        named = file_name(source).endswith("/tasks.md")
        return (95 if named else 90) if part > 0.5 else (75 if named else 70)

    def outline(self, document: BoxDocument, source: Source) -> Outline:
        tree = Tree(document)
        entries: list[PlanEntry] = []
        boxes: dict[str, Box] = {}
        parallel: list[bool] = []
        tasks = {index for index, box in enumerate(document.boxes) if _TASK.match(box.text)}
        for index in sorted(tasks):
            box = document.boxes[index]
            number = _TASK.match(box.text)
            assert number is not None
            title, labels, is_parallel = _split_tags(box.text[number.end() :])
            _, text = title_and_text(box)
            boxes.setdefault(number[1], box)
            parallel.append(is_parallel)
            entries.append(
                PlanEntry(
                    id=number[1],
                    title=title,
                    line=box.line,
                    text=text,
                    criteria=tree.criteria(index, tasks),
                    done=box.is_done,
                    group=_phase(box),
                    labels=labels,
                )
            )
        order = _Order()
        waiting = [order.add(*pair) for pair in zip(entries, parallel, strict=True)]
        return Outline(
            entries=waiting,
            boxes=boxes,
            title=re.sub(r"^tasks:\s*", "", document.title, flags=re.IGNORECASE),
            left_out=[
                left_out(box, "it has no number such as T001") for box in tree.unassigned(tasks)
            ],
            remarks=list(order.remarks(source)),
            malformed=document.malformed,
        )

    def new(self, plan: ImplementationPlan) -> str:
        groups = [
            (heading if _PHASE.match(heading) else f"Phase {place}: {heading}", tasks)
            for place, (heading, tasks) in enumerate(grouped(plan, "Tasks"), 1)
        ]
        starts = [0]
        for _, tasks in groups:
            starts.append(starts[-1] + len(tasks))
        title = f"Tasks: {plan.title or 'Plan'}"
        return new_file(title, groups, lambda group, task: f"T{starts[group - 1] + task:03}")


def _split_tags(rest: str) -> tuple[str, tuple[str, ...], bool]:
    labels: list[str] = []
    at = 0
    while tag := _TAG.match(rest, at):
        labels.append(tag[1])
        at = tag.end()
    return (
        rest[at:].strip(" \t:-\u2013\u2014"),
        tuple(label for label in labels if label != "P"),
        "P" in labels,
    )


def _phase(box: Box) -> str:
    phases = [heading.text for heading in box.headings if _PHASE.match(heading.text)]
    seconds = [heading.text for heading in box.headings if heading.level > 1]
    return next(iter((*phases, *seconds)), "")


@dataclass
class _Order:
    """Derives the dependencies of each task from its order.

    A parallel task waits for the previous phase, any other task for all tasks before it. Only tasks that no other
    task of their phase waits for are named.
    """

    phase: str = ""
    before: Sequence[str] = ()
    ends: list[str] = field(default_factory=list)
    known: set[str] = field(default_factory=set)
    wide: dict[str, None] = field(default_factory=dict)
    unclear: list[str] = field(default_factory=list)

    def add(self, entry: PlanEntry, is_parallel: bool) -> PlanEntry:  # noqa: FBT001 - one of a pair
        if entry.group != self.phase:
            self.before, self.ends, self.phase = self.ends or self.before, [], entry.group
        if is_parallel and len(self.ends) >= _WIDEST:
            self.wide[entry.group] = None
            is_parallel = False
        waits = self.before if is_parallel else self.ends or self.before
        self.ends = [*self.ends, entry.id] if is_parallel else [entry.id]
        named = [*waits, *self._named(entry)]
        self.known.add(entry.id)
        return replace(entry, waits_for=dict.fromkeys(named, entry.line))

    def remarks(self, source: Source) -> Iterator[str]:
        for phase in self.wide:
            yield f"{phase or source.name} has more than {_WIDEST} parallel tasks. Each of the others waits for the one before."
        if self.unclear:
            yield f"Dependencies on tasks that are not listed earlier were ignored: {shortlist(self.unclear, 5)}."

    def _named(self, entry: PlanEntry) -> list[str]:
        found: list[str] = []
        for clause in _DEPENDS.finditer(entry.title):
            for one in _NAMED.finditer(clause[1]):
                for id_ in _each(one):
                    if id_ in self.known:
                        found.append(id_)
                    elif id_ != entry.id:
                        self.unclear.append(f"{entry.id} on {id_}")
        return found


def _each(named: re.Match[str]) -> list[str]:
    first, last = int(named[1]), int(named[3] or named[1])
    if not first < last < first + _WIDEST:
        return [f"T{named[1]}{named[2]}", *([f"T{named[3]}"] if named[3] else [])]
    return [f"T{number:0{len(named[1])}}" for number in range(first, last + 1)]
