"""Reads and writes the fix_plan.md of frankbria/ralph-claude-code: boxes under priority headings."""

import re
from dataclasses import replace

from ralph_tui.domain.plan.plan import DEFAULT_PRIORITY, ImplementationPlan, Task, TaskStatus
from ralph_tui.interop.foreign_tasks import PlanEntry, priority_of
from ralph_tui.interop.formats import LeftOut, Source
from ralph_tui.interop.markdown.box_plans import (
    BoxFormat,
    Outline,
    file_name,
    head_document,
    innermost_heading,
    left_out,
)
from ralph_tui.interop.markdown.boxes import Box, BoxDocument, Heading
from ralph_tui.interop.markdown.new_plans import new_file

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
    """Each top-level box is a task, and the boxes in it are its criteria."""

    name = "frankbria"

    def sniff(self, source: Source) -> int:
        """Score a file by its name, its title and its priority headings."""
        document = head_document(source.head)
        if file_name(source).endswith(("/fix_plan.md", "/@fix_plan.md")):
            return 90
        if not document.boxes:
            return 0
        if _PLAN.search(document.title):
            return 85
        found = {
            heading.text
            for box in document.boxes
            if (heading := _priority_heading(box)) is not None
        }
        return 65 if len(found) > 1 else 0

    def entry(self, entry: PlanEntry, box: Box) -> PlanEntry | LeftOut:
        if ignored := innermost_heading(box.headings, _NOTES):
            return left_out(box, f"it is under {ignored.text!r}")
        prefix = _PREFIX.match(entry.title)
        title = entry.title[prefix.end() :] if prefix else entry.title
        return replace(
            entry,
            title=title,
            done=box.is_done or innermost_heading(box.headings, _COMPLETED) is not None,
            held=_is_optional(box, title),
            priority=_priority(box, prefix),
        )

    def outline(self, document: BoxDocument, source: Source) -> Outline:
        found = super().outline(document, source)
        return replace(
            found,
            remarks=[
                *_ignored(document),
                *(
                    f"Line {box.line} is open under a heading for completed tasks, so it counts as done."
                    for box in found.boxes.values()
                    if not box.is_done and innermost_heading(box.headings, _COMPLETED)
                ),
            ],
            malformed=[
                half for half in document.malformed if not innermost_heading(half.headings, _NOTES)
            ],
        )

    def new(self, plan: ImplementationPlan) -> str:
        groups: dict[str, list[Task]] = {
            "High Priority": [],
            "Medium Priority": [],
            "Low Priority": [],
            "Completed": [],
        }
        for task in plan.tasks:
            groups[_heading_of(task)].append(task)
        title = plan.title or "Fix Plan"
        return new_file(title, list(groups.items()), lambda _group, _task: "")


def _heading_of(task: Task) -> str:
    if task.status is TaskStatus.COMPLETE:
        return "Completed"
    if task.priority in {2, DEFAULT_PRIORITY}:
        return "Medium Priority"
    return "High Priority" if task.priority < 2 else "Low Priority"


def _priority_heading(box: Box) -> Heading | None:
    return innermost_heading(box.headings, _PRIORITY)


def _priority(box: Box, prefix: re.Match[str] | None) -> int:
    word = next(filter(None, prefix.groups()), "") if prefix else ""
    if not word and (heading := _priority_heading(box)) is not None:
        found = _PRIORITY.search(heading.text)
        word = next(filter(None, found.groups()), "") if found else ""
    number = int(word) if word.isdecimal() else priority_of(word)
    return DEFAULT_PRIORITY if number is None else number


def _is_optional(box: Box, title: str) -> bool:
    under = innermost_heading(box.headings, _OPTIONAL) is not None
    return under or _OPTIONAL_TASK.match(title) is not None


def _ignored(document: BoxDocument) -> list[str]:
    below_title = [heading for heading in document.headings if heading.level > 1]
    notes = [heading for heading in below_title if _NOTES.search(heading.text)]
    return [
        f"The section {heading.text!r} in line {heading.line} was ignored." for heading in notes
    ]
