"""The formats made of check boxes: fix_plan.md, spec-kit, Kiro, OpenSpec, and any other list under headings."""

import re
from collections.abc import Iterator
from dataclasses import replace

from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.foreign_tasks import Listing, PlanEntry, priority_of
from ralph_tui.interop.formats import LeftOut
from ralph_tui.interop.json_plans import body, criterion_text
from ralph_tui.interop.markdown.box_plans import (
    Tree,
    box_format,
    chained,
    left_out,
    share,
    top_boxes,
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


def _is_fix_plan(document: BoxDocument, name: str) -> int:
    if name.endswith(("/fix_plan.md", "/@fix_plan.md")):
        return 90
    if not document.boxes:
        return 0
    if _PLAN.search(document.title):
        return 85
    headings = {_innermost(box, _PRIORITY) for box in document.boxes} - {None}
    return 65 if len(headings) > 1 else 0


def _fix_plan(document: BoxDocument) -> Listing:
    """List the boxes of frankbria/ralph-claude-code, which are under priority headings."""
    notes = [h for h in document.headings if h.level > 1 and _NOTES.search(h.text)]
    remarks = [f"The section {h.text!r} in line {h.line} was ignored." for h in notes]

    def read(entry: PlanEntry, box: Box) -> PlanEntry | LeftOut:
        if ignored := _innermost(box, _NOTES):
            return left_out(box, f"it is under {ignored.text!r}")
        prefix = _PREFIX.match(entry.title)
        title = entry.title[prefix.end() :] if prefix else entry.title
        word = next(filter(None, prefix.groups()), "") if prefix else ""
        if not word and (heading := _innermost(box, _PRIORITY)):
            found = _PRIORITY.search(heading.text)
            word = next(filter(None, found.groups()), "") if found else ""
        number = int(word) if word.isdecimal() else priority_of(word)
        is_completed = _innermost(box, _COMPLETED) is not None
        if is_completed and not box.is_done:
            remarks.append(
                f"Line {box.line} is open under a heading for completed tasks, so it counts as done."
            )
        return replace(
            entry,
            title=title,
            done=box.is_done or is_completed,
            held=bool(_innermost(box, _OPTIONAL) or _OPTIONAL_TASK.match(title)),
            priority=DEFAULT_PRIORITY if number is None else number,
        )

    listing = top_boxes(document, read)
    document.malformed = [half for half in document.malformed if not _innermost(half, _NOTES)]
    return replace(listing, remarks=remarks)


def _innermost(box: Box | MalformedBox, pattern: re.Pattern[str]) -> Heading | None:
    """Return the innermost matching heading, but never the title of the file."""
    found = (h for h in reversed(box.headings) if h.level > 1 and pattern.search(h.text))
    return next(found, None)


FIX_PLAN = box_format(
    "frankbria", _is_fix_plan, _fix_plan, also=("fix_plan", "fix-plan", "fix_plan.md")
)


_TASK = re.compile(r"(?:\*\*|`)?(T[0-9]{1,5}[a-z]?)(?:\*\*|`)?:?(?=\s|$|\[)")
_TAG = re.compile(r"[ \t]*\[(P|US[0-9]+(?:[ ,/&+-]+US[0-9]+)*|[A-Z][A-Za-z0-9-]{0,15})\](?!\()")
_PHASE = re.compile(r"^\W*phase\b", re.IGNORECASE)
_WIDEST = 50
"""Most parallel tasks of one phase; further ones wait for the one before, or the lists of dependencies would explode."""


def _is_spec_kit(document: BoxDocument, name: str) -> int:
    part = share(document.boxes, _TASK)
    return 0 if part < 0.3 else (90 if part > 0.5 else 70) + 5 * name.endswith("/tasks.md")


def _spec_kit(document: BoxDocument) -> Listing:
    """List tasks such as `T001 [P] [US1]` in phases.

    A parallel task waits for the previous phase, any other task for all tasks before it. Only tasks that no other
    task of their phase waits for are named.
    """
    tree = Tree(document)
    found = {i: m for i, box in enumerate(document.boxes) if (m := _TASK.match(box.text))}
    entries: list[PlanEntry] = []
    wide: dict[str, None] = {}
    phase, before, ends = "", list[str](), list[str]()
    for index, number in found.items():
        box, at = document.boxes[index], number.end()
        labels: list[str] = []
        while tag := _TAG.match(box.text, at):
            labels.append(tag[1])
            at = tag.end()
        if (group := _phase(box)) != phase:
            phase, before, ends = group, ends or before, []
        is_parallel = "P" in labels
        if is_parallel and len(ends) >= _WIDEST:
            wide[phase], is_parallel = None, False
        waits = before if is_parallel else ends or before
        ends = [*ends, number[1]] if is_parallel else [number[1]]
        title = box.text[at:].strip(" \t:-\u2013\u2014")
        entry = replace(
            tree.entry(index, title, found.keys(), number[1]),
            group=group,
            labels=tuple(label for label in labels if label != "P"),
            waits_for=dict.fromkeys(waits, box.line),
        )
        entries.append(entry)
    return Listing(
        entries,
        re.sub(r"^tasks:\s*", "", document.title, flags=re.IGNORECASE),
        left_out=[
            left_out(box, "it has no number such as T001") for box in tree.unassigned(found.keys())
        ],
        remarks=[
            f"{each or 'The file'} has more than {_WIDEST} parallel tasks. Each of the others waits for the one before."
            for each in wide
        ],
    )


def _phase(box: Box) -> str:
    phases = [heading.text for heading in box.headings if _PHASE.match(heading.text)]
    seconds = [heading.text for heading in box.headings if heading.level > 1]
    return next(iter((*phases, *seconds)), "")


SPEC_KIT = box_format("spec-kit", _is_spec_kit, _spec_kit, also=("speckit",))


_KIRO = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4}){0,5})\.?[):]?[ \t]+(?=\S)")
_WHOLE = re.compile(r"[0-9]{1,4}\.?[ \t]+\S")
_REQUIREMENTS = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?_[^_\n:]{1,30}[:：]", re.MULTILINE)  # noqa: RUF001 - as written in Chinese


def _is_kiro(document: BoxDocument, name: str) -> int:
    if share(document.boxes, _KIRO) < 0.3:
        return 0
    if "/.kiro/" in name:
        return 97
    whole = share(document.boxes, _WHOLE) > 0
    titled = "implementation plan" in document.title.casefold()
    telling = any(box.starred or _REQUIREMENTS.search(box.body) for box in document.boxes)
    return 55 * whole + 20 * titled + 15 * telling if whole or titled else 0


def _kiro(document: BoxDocument) -> Listing:
    """List each number without numbers below it, wherever its box is."""
    tree, boxes = Tree(document), document.boxes
    found = {i: match for i, box in enumerate(boxes) if (match := _KIRO.match(box.text))}
    titles = {i: boxes[i].text[match.end() :] for i, match in found.items()}
    first = {match[1]: i for i, match in reversed(found.items())}
    parents = {parent for match in found.values() for parent in _above(match[1])}
    leaves = {i: match[1] for i, match in found.items() if match[1] not in parents}
    entries = []
    for index, number in leaves.items():
        above = [first[up] for up in _above(number) if up in first]
        up = next(iter(_above(number)), "")
        parent = first.get(up)
        entry = replace(
            tree.entry(index, titles[index], found.keys(), number),
            held=boxes[index].starred or any(boxes[each].starred for each in above),
            group=up if parent is None else f"{up}. {titles[parent]}",
            notes="" if parent is None else boxes[parent].body.strip(),
        )
        entries.append(entry)
    others = tree.unassigned(leaves.keys(), found.keys() - leaves.keys())
    return Listing(
        chained(entries),
        document.title,
        left_out=[left_out(box, "it has no number") for box in others],
    )


def _above(number: str) -> list[str]:
    parts = number.split(".")
    return [".".join(parts[:length]) for length in range(len(parts) - 1, 0, -1)]


KIRO = box_format("kiro", _is_kiro, _kiro, usual="-")


_SECTION = re.compile(r"([0-9]{1,4})\.?[ \t]+\S")
_NUMBER = re.compile(r"(?:\*\*)?([0-9]{1,4}(?:\.[0-9]{1,4}){1,5}[a-z]?)\.?(?:\*\*)?:?[ \t]+(?=\S)")


def _is_openspec(document: BoxDocument, name: str) -> int:
    boxes = document.boxes
    if not boxes:
        return 0
    part = sum(map(_is_numbered_by_section, boxes)) / len(boxes)
    if "/openspec/" in name:
        return 96 if part > 0.3 else 80
    return 85 if part > 0.5 else 60 if part > 0.2 else 0


def _is_numbered_by_section(box: Box) -> bool:
    section = _SECTION.match(box.headings[-1].text) if box.headings else None
    number = _NUMBER.match(box.text)
    return bool(section and number and number[1].partition(".")[0] == section[1])


def _openspec(document: BoxDocument) -> Listing:

    def read(entry: PlanEntry, _: Box) -> PlanEntry:
        number = _NUMBER.match(entry.title)
        return replace(entry, id=number[1], title=entry.title[number.end() :]) if number else entry

    listing = top_boxes(document, read)
    return replace(listing, entries=chained(listing.entries))


OPENSPEC = box_format("openspec", _is_openspec, _openspec)


_NAMES = ("/todo.md", "/todos.md", "/to-do.md", "/tasks.md", "/plan.md", "/roadmap.md")


def _is_todo(document: BoxDocument, name: str) -> int:
    """Score any file with boxes, but lower than the other formats."""
    if name.endswith((".json", ".jsonl")) or not document.boxes:
        return 0
    return 45 if name.endswith(_NAMES) else 35


def _todo(document: BoxDocument) -> Listing:
    return top_boxes(document, lambda entry, _: entry)


def _new_todo(plan: ImplementationPlan) -> str:
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


TODO = box_format("todo", _is_todo, _todo, also=("todo.md", "markdown"), new=_new_todo)
