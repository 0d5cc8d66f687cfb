"""Reads and writes Kiro's `.kiro/specs/*/tasks.md`: a tree of numbered boxes, whose leaves are the tasks."""

import re
from collections.abc import Iterator, Mapping

from ralph_tui.domain.formatting import shortlist
from ralph_tui.domain.plan.plan import ImplementationPlan, Task
from ralph_tui.interop.foreign_tasks import PlanEntry
from ralph_tui.interop.formats import Source
from ralph_tui.interop.markdown.box_plans import (
    BoxFormat,
    Outline,
    Tree,
    chained,
    file_name,
    head_document,
    left_out,
    share,
    title_and_text,
)
from ralph_tui.interop.markdown.boxes import Box, BoxDocument
from ralph_tui.interop.markdown.new_plans import grouped, inline_text, is_complete, task_lines

NUMBER = re.compile(r"([0-9]{1,4}(?:\.[0-9]{1,4}){0,5})\.?[):]?[ \t]+(?=\S)")
_WHOLE = re.compile(r"[0-9]{1,4}\.?[ \t]+\S")
_REQUIREMENTS = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?_[^_\n:]{1,30}[:：]", re.MULTILINE)  # noqa: RUF001 - as written in Chinese


class Kiro(BoxFormat):
    """Each number without numbers below it is a task, wherever its box is."""

    name = "kiro"

    def sniff(self, source: Source) -> int:
        """Score a file by its folder, numbered boxes, and references to requirements."""
        document = head_document(source.head)
        part = share(document.boxes, NUMBER)
        if part < 0.3:
            return 0
        if "/.kiro/" in file_name(source):
            return 97
        whole = share(document.boxes, _WHOLE) > 0
        titled = "implementation plan" in document.title.casefold()
        requirements = any(_REQUIREMENTS.search(box.body) for box in document.boxes)
        starred = any(box.starred for box in document.boxes)
        return 55 * whole + 20 * titled + 15 * (requirements or starred) if whole or titled else 0

    def outline(self, document: BoxDocument, source: Source) -> Outline:  # noqa: ARG002 - part of the interface
        tree = Tree(document)
        numbers = {i: n[1] for i, box in enumerate(document.boxes) if (n := NUMBER.match(box.text))}
        parents = {parent for number in numbers.values() for parent in _above(number)}
        first = {number: document.boxes[i] for i, number in reversed(numbers.items())}
        entries: list[PlanEntry] = []
        boxes: dict[str, Box] = {}
        leaves = {index for index, number in numbers.items() if number not in parents}
        upper = numbers.keys() - leaves
        for index in sorted(leaves):
            box, number = document.boxes[index], numbers[index]
            _, text = title_and_text(box)
            boxes.setdefault(number, box)
            held = box.starred or any(up in first and first[up].starred for up in _above(number))
            entries.append(
                PlanEntry(
                    id=number,
                    title=_title(box),
                    line=box.line,
                    text=text,
                    criteria=tree.criteria(index, numbers.keys()),
                    done=box.is_done,
                    held=held,
                    group=_group(number, first),
                    notes=_notes(number, first),
                )
            )
        return Outline(
            entries=chained(entries),
            boxes=boxes,
            title=document.title,
            left_out=[left_out(box, "it has no number") for box in tree.unassigned(leaves, upper)],
            remarks=list(_contradictions(entries, first)),
            malformed=document.malformed,
        )

    def new(self, plan: ImplementationPlan) -> str:
        lines = [f"# {inline_text(plan.title or 'Implementation Plan')}", ""]
        number = 0
        for group, tasks in grouped(plan, ""):
            for place, task in enumerate(tasks, 1):
                if not group:
                    number += 1
                    lines += [*task_lines(task, f"{number}.", _star(task)), ""]
                    continue
                if place == 1:
                    number += 1
                    box = "[x]" if all(is_complete(each) for each in tasks) else "[ ]"
                    lines.append(f"- {box} {number}. {inline_text(group)}")
                lines += (
                    f"  {line}" for line in task_lines(task, f"{number}.{place}", _star(task))
                )
                lines += [""] if place == len(tasks) else []
        return "\n".join(lines).rstrip("\n") + "\n"


def _star(task: Task) -> str:
    return "*" if task.held else ""


def _above(number: str) -> Iterator[str]:
    while "." in number:
        number = number.rpartition(".")[0]
        yield number


def _title(box: Box) -> str:
    number = NUMBER.match(box.text)
    return box.text[number.end() :] if number else box.text


def _group(number: str, first: Mapping[str, Box]) -> str:
    up = next(_above(number), "")
    if not up:
        return ""
    return f"{up}. {_title(first[up])}" if up in first else up


def _notes(number: str, first: Mapping[str, Box]) -> str:
    up = next(_above(number), "")
    return first[up].body.strip() if up in first else ""


def _contradictions(entries: list[PlanEntry], first: Mapping[str, Box]) -> Iterator[str]:
    open_under: dict[str, list[str]] = {}
    for entry in entries:
        for up in _above(entry.id):
            if not entry.done and not entry.held and up in first and first[up].is_done:
                open_under.setdefault(up, []).append(entry.id)
    for up, leaves in open_under.items():
        yield f"{up} is done in the file, but {shortlist(leaves, 5)} below it is not, so that stays open."
