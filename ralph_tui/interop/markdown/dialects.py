"""The formats made of check boxes: fix_plan.md, spec-kit, Kiro, OpenSpec, and any other list under headings."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import PlanEntry, priority_of
from ralph_tui.interop.formats import LeftOut, Source
from ralph_tui.interop.json_plans import body, criterion_text
from ralph_tui.interop.markdown.box_plans import (
    BoxFormat,
    Outline,
    Tree,
    chained,
    file_name,
    head_document,
    left_out,
    share,
)
from ralph_tui.interop.markdown.boxes import Box, BoxDocument, Heading, MalformedBox

_WORD = r"(critical|urgent|blocker|highest|high|medium|med|normal|moderate|lowest|low|p[0-4])"
_PRIORITY = re.compile(
    rf"\b{_WORD}\s+priority|\bpriority[\s:/_-]*(?:{_WORD}\b|([0-9]{{1,2}})\b)"
    rf"|^\W*{_WORD}\b(?:\s*(?:$|[(:/])|\s+[\u2013\u2014-])|^\W*(critical|urgent)\b|\b(p[0-4])\b",
    re.IGNORECASE,
)
_PREFIX = re.compile(
    rf"(?:\*\*|__)?(?:[\[(]{_WORD}[\])](?:\*\*|__)?[ \t]*[:\u2013\u2014-]?"
    rf"|{_WORD}(?:\*\*|__)?[ \t]*(?::(?:\*\*|__)?|[\u2013\u2014-](?=[ \t])))[ \t]*(?=\S)",
    re.IGNORECASE,
)
_COMPLETED = re.compile(
    r"^\W*(?:completed?|done|finished)\b(?!\s+(?:when|criteria))", re.IGNORECASE
)
_NOTES = re.compile(r"^\W*(?:\w+\s+)?notes?\W*(?:(?:for|on|to|about)\b.*)?$", re.IGNORECASE)
_OPTIONAL = re.compile(r"\boptional\b|\bnice[ -]to[ -]haves?\b", re.IGNORECASE)
_OPTIONAL_TASK = re.compile(r"\W?optional\W|.*\(optional\)\W*$", re.IGNORECASE)
_PLAN = re.compile(r"\bfix[ _-]plan\b", re.IGNORECASE)


class FixPlan(BoxFormat):
    """The fix_plan.md of frankbria/ralph-claude-code: boxes under priority headings."""

    name = "frankbria"

    def sniff(self, source: Source) -> int:
        document = head_document(source.head)
        if file_name(source).endswith(("/fix_plan.md", "/@fix_plan.md")):
            return 90
        if not document.boxes:
            return 0
        if _PLAN.search(document.title):
            return 85
        headings = {_innermost(box, _PRIORITY) for box in document.boxes} - {None}
        return 65 if len(headings) > 1 else 0

    def entry(self, entry: PlanEntry, box: Box) -> PlanEntry | LeftOut:
        if ignored := _innermost(box, _NOTES):
            return left_out(box, f"it is under {ignored.text!r}")
        prefix = _PREFIX.match(entry.title)
        title = entry.title[prefix.end() :] if prefix else entry.title
        word = next(filter(None, prefix.groups()), "") if prefix else ""
        if not word and (heading := _innermost(box, _PRIORITY)):
            found = _PRIORITY.search(heading.text)
            word = next(filter(None, found.groups()), "") if found else ""
        number = int(word) if word.isdecimal() else priority_of(word)
        return replace(
            entry,
            title=title,
            done=box.is_done or _innermost(box, _COMPLETED) is not None,
            held=bool(_innermost(box, _OPTIONAL) or _OPTIONAL_TASK.match(title)),
            priority=DEFAULT_PRIORITY if number is None else number,
        )

    def outline(self, document: BoxDocument) -> Outline:
        found = super().outline(document)
        notes = [h for h in document.headings if h.level > 1 and _NOTES.search(h.text)]
        remarks = [f"The section {h.text!r} in line {h.line} was ignored." for h in notes]
        remarks += [
            f"Line {box.line} is open under a heading for completed tasks, so it counts as done."
            for entry, box in found.entries
            if entry.done and not box.is_done
        ]
        halves = [half for half in document.malformed if not _innermost(half, _NOTES)]
        return replace(found, remarks=remarks, malformed=halves)


def _innermost(box: Box | MalformedBox, pattern: re.Pattern[str]) -> Heading | None:
    """Return the innermost heading that matches a pattern, but never the title of the file."""
    found = (h for h in reversed(box.headings) if h.level > 1 and pattern.search(h.text))
    return next(found, None)


_TASK = re.compile(r"(?:\*\*|`)?(T[0-9]{1,5}[a-z]?)(?:\*\*|`)?:?(?=\s|$|\[)")
_TAG = re.compile(r"[ \t]*\[(P|US[0-9]+(?:[ ,/&+-]+US[0-9]+)*|[A-Z][A-Za-z0-9-]{0,15})\](?!\()")
_PHASE = re.compile(r"^\W*phase\b", re.IGNORECASE)
_DEPENDS = re.compile(r"\bdepends? on\b([^().;]{0,200})", re.IGNORECASE)
_NAMED = re.compile(r"T([0-9]{1,5})([a-z]?)(?:[ ]?[-\u2013\u2014][ ]?T([0-9]{1,5})\b)?")
_WIDEST = 50
"""Most parallel tasks of one phase; further ones wait for the one before, or the lists of dependencies would explode."""


class SpecKit(BoxFormat):
    """The tasks.md of GitHub's spec-kit: tasks such as `T001 [P] [US1]` in phases."""

    name = "spec-kit"

    def sniff(self, source: Source) -> int:
        part = share(head_document(source.head).boxes, _TASK)
        if part < 0.3:
            return 0
        named = 5 * file_name(source).endswith("/tasks.md")
        return (90 if part > 0.5 else 70) + named

    def outline(self, document: BoxDocument) -> Outline:
        tree, order = Tree(document), _Order()
        found = {i: m for i, box in enumerate(document.boxes) if (m := _TASK.match(box.text))}
        entries = []
        for index, number in found.items():
            box, at = document.boxes[index], number.end()
            labels: list[str] = []
            while tag := _TAG.match(box.text, at):
                labels.append(tag[1])
                at = tag.end()
            title = box.text[at:].strip(" \t:-\u2013\u2014")
            entry = replace(
                tree.entry(index, title, found.keys(), number[1]),
                group=_phase(box),
                labels=tuple(label for label in labels if label != "P"),
            )
            entries.append((order.add(entry, is_parallel="P" in labels), box))
        return Outline(
            entries,
            re.sub(r"^tasks:\s*", "", document.title, flags=re.IGNORECASE),
            [left_out(b, "it has no number such as T001") for b in tree.unassigned(found.keys())],
            list(order.remarks()),
            document.malformed,
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

    def add(self, entry: PlanEntry, *, is_parallel: bool) -> PlanEntry:
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

    def remarks(self) -> Iterator[str]:
        for phase in self.wide:
            yield f"{phase or 'The file'} has more than {_WIDEST} parallel tasks. Each of the others waits for the one before."
        if self.unclear:
            yield f"Dependencies on tasks that are not listed earlier were ignored: {shortlist(self.unclear, 5)}."

    def _named(self, entry: PlanEntry) -> list[str]:
        found = [
            id_
            for clause in _DEPENDS.finditer(entry.title)
            for one in _NAMED.finditer(clause[1])
            for id_ in _each(one)
            if id_ != entry.id
        ]
        self.unclear += [f"{entry.id} on {id_}" for id_ in found if id_ not in self.known]
        return [id_ for id_ in found if id_ in self.known]


def _each(named: re.Match[str]) -> list[str]:
    first, last = int(named[1]), int(named[3] or named[1])
    if not first < last < first + _WIDEST:
        return [f"T{named[1]}{named[2]}", *([f"T{named[3]}"] if named[3] else [])]
    return [f"T{number:0{len(named[1])}}" for number in range(first, last + 1)]


_KIRO = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4}){0,5})\.?[):]?[ \t]+(?=\S)")
_WHOLE = re.compile(r"[0-9]{1,4}\.?[ \t]+\S")
_REQUIREMENTS = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?_[^_\n:]{1,30}[:：]", re.MULTILINE)  # noqa: RUF001 - as written in Chinese


class Kiro(BoxFormat):
    """Kiro's `.kiro/specs/*/tasks.md`: each number without numbers below it is a task, wherever its box is."""

    name = "kiro"

    def sniff(self, source: Source) -> int:
        document = head_document(source.head)
        if share(document.boxes, _KIRO) < 0.3:
            return 0
        if "/.kiro/" in file_name(source):
            return 97
        whole = share(document.boxes, _WHOLE) > 0
        titled = "implementation plan" in document.title.casefold()
        telling = any(box.starred or _REQUIREMENTS.search(box.body) for box in document.boxes)
        return 55 * whole + 20 * titled + 15 * telling if whole or titled else 0

    def outline(self, document: BoxDocument) -> Outline:
        tree, boxes = Tree(document), document.boxes
        found = {i: match for i, box in enumerate(boxes) if (match := _KIRO.match(box.text))}
        first = {match[1]: boxes[i] for i, match in reversed(found.items())}
        titles = {number: box.text[_end(box) :] for number, box in first.items()}
        parents = {parent for match in found.values() for parent in _above(match[1])}
        leaves = {i: match[1] for i, match in found.items() if match[1] not in parents}
        entries = []
        for index, number in leaves.items():
            box, up = boxes[index], next(iter(_above(number)), "")
            entry = replace(
                tree.entry(index, box.text[_end(box) :], found.keys(), number),
                held=box.starred or any(u in first and first[u].starred for u in _above(number)),
                group=f"{up}. {titles[up]}" if up in titles else up,
                notes=first[up].body.strip() if up in first else "",
            )
            entries.append(entry)
        return Outline(
            list(zip(chained(entries), (boxes[i] for i in leaves), strict=True)),
            document.title,
            [
                left_out(box, "it has no number")
                for box in tree.unassigned(leaves.keys(), found.keys() - leaves.keys())
            ],
            list(_contradictions(entries, first)),
            document.malformed,
        )


def _end(box: Box) -> int:
    number = _KIRO.match(box.text)
    return number.end() if number else 0


def _above(number: str) -> list[str]:
    parts = number.split(".")
    return [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]


def _contradictions(entries: Iterable[PlanEntry], first: Mapping[str, Box]) -> Iterator[str]:
    open_under: dict[str, list[str]] = {}
    for entry in entries:
        for up in _above(entry.id):
            if not entry.done and not entry.held and up in first and first[up].is_done:
                open_under.setdefault(up, []).append(entry.id)
    for up, leaves in open_under.items():
        yield f"{up} is done in the file, but {shortlist(leaves, 5)} below it is not, so that stays open."


_SECTION = re.compile(r"([0-9]{1,4})\.?[ \t]+\S")
_NUMBER = re.compile(r"(?:\*\*)?([0-9]{1,4}(?:\.[0-9]{1,4}){1,5}[a-z]?)\.?(?:\*\*)?:?[ \t]+(?=\S)")


class OpenSpec(BoxFormat):
    """The tasks.md of an OpenSpec change: numbered sections with numbered boxes."""

    name = "openspec"

    def sniff(self, source: Source) -> int:
        """Score a file by its folder, and by boxes whose numbers start with that of their section."""
        boxes = head_document(source.head).boxes
        if not boxes:
            return 0
        part = sum(_is_numbered_by_section(box) for box in boxes) / len(boxes)
        if "/openspec/" in file_name(source):
            return 96 if part > 0.3 else 80
        return 85 if part > 0.5 else 60 if part > 0.2 else 0

    def entry(self, entry: PlanEntry, box: Box) -> PlanEntry:  # noqa: ARG002 - part of the interface
        number = _NUMBER.match(entry.title)
        return replace(entry, id=number[1], title=entry.title[number.end() :]) if number else entry

    def outline(self, document: BoxDocument) -> Outline:
        found = super().outline(document)
        entries, boxes = zip(*found.entries, strict=True) if found.entries else ((), ())
        return replace(found, entries=list(zip(chained(entries), boxes, strict=True)))


def _is_numbered_by_section(box: Box) -> bool:
    section = _SECTION.match(box.headings[-1].text) if box.headings else None
    number = _NUMBER.match(box.text)
    return bool(section and number and number[1].partition(".")[0] == section[1])


_NAMES = ("/todo.md", "/todos.md", "/to-do.md", "/tasks.md", "/plan.md", "/roadmap.md")


class TodoMd(BoxFormat):
    """A TODO.md, or any other file with check boxes under headings."""

    name = "todo"

    def sniff(self, source: Source) -> int:
        """Score any file with boxes, but lower than the other formats."""
        name = file_name(source)
        if name.endswith((".json", ".jsonl")) or not head_document(source.head).boxes:
            return 0
        return 45 if name.endswith(_NAMES) else 35

    def new(self, plan: ImplementationPlan) -> str:
        """Return a file with a heading for each group and a box for each task.

        Each box ends in a comment with the id of its task, by which an import finds it again.
        """
        groups: dict[str, list[Task]] = {}
        for task in plan.tasks:
            groups.setdefault(task.group, []).append(task)
        lines = [f"# {_inline(plan.title or 'TODO')}", ""]
        for heading, tasks in sorted(groups.items(), key=lambda group: bool(group[0])):
            lines += [f"## {_inline(heading)}", ""] if heading else []
            lines += [line for task in tasks for line in _lines(task)]
            lines.append("")
        return "\n".join(lines).rstrip("\n") + "\n"


def _lines(task: Task) -> Iterator[str]:
    box = "[x]" if task.status is TaskStatus.COMPLETE else "[ ]"
    mark = "" if set(task.id) & set("<>`\r\n") or "--" in task.id else f" <!-- ralph: {task.id} -->"
    yield f"- {box} {_inline(task.title)}{mark}"
    text = body(task)
    harmful = ("```", "~~~", "<!--", "[ ]", "[x]", "[X]")
    rules = any(re.match(r"[ \t]*#|[ \t]*[-=][ \t=-]*$", line) for line in text.splitlines())
    if not rules and not any(mark in text for mark in harmful):
        yield from (f"  {line}".rstrip() for line in text.splitlines())
    yield from (f"  - [ ] {_inline(criterion_text(each))}" for each in task.verification_criteria)


def _inline(text: str) -> str:
    return one_line(text, 2_000).replace("<!--", "&lt;!--") or "Untitled"
