"""Reads and writes a TODO.md, or any other file with check boxes under headings."""

from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.interop.foreign_tasks import PlanEntry
from ralph_tui.interop.formats import LeftOut, Source
from ralph_tui.interop.markdown.box_plans import (
    BoxFormat,
    IdGenerator,
    Outline,
    Tree,
    file_name,
    head_document,
    heading_path,
    left_out,
    title_and_text,
)
from ralph_tui.interop.markdown.boxes import Box, BoxDocument
from ralph_tui.interop.markdown.new_plans import grouped, new_file

_NAMES = ("/todo.md", "/todos.md", "/to-do.md", "/tasks.md", "/plan.md", "/roadmap.md")


class TodoMd(BoxFormat):
    """Each top-level box is a task, and the boxes in it are its criteria."""

    name = "todo"

    def sniff(self, source: Source) -> int:
        """Score any file with boxes, but lower than the other formats."""
        has_boxes = bool(head_document(source.head).boxes)
        named = file_name(source).endswith(_NAMES)
        if file_name(source).endswith((".json", ".jsonl")):
            return 0
        return (45 if named else 35) if has_boxes else 0

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
            id_ = ids.for_title(title)
            boxes[id_] = box
            entries.append(
                PlanEntry(
                    id=id_,
                    title=title,
                    line=box.line,
                    text=text,
                    criteria=tree.criteria(index),
                    done=box.is_done,
                    group=heading_path(box, document),
                )
            )
        return Outline(
            entries=entries,
            boxes=boxes,
            title=document.title,
            left_out=dropped,
            malformed=document.malformed,
        )

    def new(self, plan: ImplementationPlan) -> str:
        return new_file(plan.title or "TODO", grouped(plan, ""), lambda _group, _task: "")
