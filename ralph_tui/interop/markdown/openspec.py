"""Reads and writes the tasks.md of an OpenSpec change: numbered sections with numbered boxes."""

import re
from dataclasses import replace

from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.interop.foreign_tasks import PlanEntry
from ralph_tui.interop.formats import Source
from ralph_tui.interop.markdown.box_plans import (
    BoxFormat,
    Outline,
    chained,
    file_name,
    head_document,
)
from ralph_tui.interop.markdown.boxes import Box, BoxDocument
from ralph_tui.interop.markdown.new_plans import grouped, new_file

_SECTION = re.compile(r"([0-9]{1,4})\.?[ \t]+\S")
_NUMBER = re.compile(r"(?:\*\*)?([0-9]{1,4}(?:\.[0-9]{1,4}){1,5}[a-z]?)\.?(?:\*\*)?:?[ \t]+(?=\S)")


class OpenSpec(BoxFormat):
    """Each top-level box is a task, and the boxes in it are its criteria."""

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

    def outline(self, document: BoxDocument, source: Source) -> Outline:
        found = super().outline(document, source)
        return replace(found, entries=chained(found.entries))

    def new(self, plan: ImplementationPlan) -> str:
        groups = [
            (heading if _SECTION.match(heading) else f"{place}. {heading}", tasks)
            for place, (heading, tasks) in enumerate(grouped(plan, "Implementation"), 1)
        ]
        return new_file(plan.title or "Tasks", groups, lambda group, task: f"{group}.{task}")


def _is_numbered_by_section(box: Box) -> bool:
    section = _SECTION.match(box.headings[-1].text) if box.headings else None
    number = _NUMBER.match(box.text)
    return bool(section and number and number[1].partition(".")[0] == section[1])
