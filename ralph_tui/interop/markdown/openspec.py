"""Reads and writes the tasks.md of an OpenSpec change: numbered sections with numbered boxes."""

import re

from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.interop.foreign_tasks import PlanEntry
from ralph_tui.interop.formats import LeftOut, Source
from ralph_tui.interop.markdown.box_plans import (
    BoxFormat,
    IdGenerator,
    Outline,
    Tree,
    chained,
    file_name,
    head_document,
    heading_path,
    left_out,
    title_and_text,
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

    def outline(self, document: BoxDocument, source: Source) -> Outline:  # noqa: ARG002 - part of the interface
        tree, ids = Tree(document), IdGenerator()
        entries: list[PlanEntry] = []
        boxes: dict[str, Box] = {}
        dropped: list[LeftOut] = []
        for index, box in tree.top:
            title, text = title_and_text(box)
            if not title:
                dropped.append(left_out(box, ""))
                continue
            number = _NUMBER.match(title)
            id_ = number[1] if number else ids.for_title(title)
            boxes.setdefault(id_, box)
            entries.append(
                PlanEntry(
                    id=id_,
                    title=title[number.end() :] if number else title,
                    line=box.line,
                    text=text,
                    criteria=tree.criteria(index),
                    done=box.is_done,
                    group=heading_path(box, document),
                )
            )
        return Outline(
            entries=chained(entries),
            boxes=boxes,
            title=document.title,
            left_out=dropped,
            malformed=document.malformed,
        )

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
