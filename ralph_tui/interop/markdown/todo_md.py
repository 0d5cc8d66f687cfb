"""Reads and writes a TODO.md, or any other file with check boxes under headings."""

from ralph_tui.domain.plan.plan import ImplementationPlan
from ralph_tui.interop.formats import Source
from ralph_tui.interop.markdown.box_plans import (
    BoxFormat,
    file_name,
    head_document,
)
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

    def new(self, plan: ImplementationPlan) -> str:
        return new_file(plan.title or "TODO", grouped(plan, ""), lambda _group, _task: "")
