"""Reads and writes plain lists for ralph: `- [ ] id: what to do`, one task per line."""

import hashlib
import re

from ralph_tui.domain.plan.plan import ImplementationPlan, Origin, Task, TaskStatus
from ralph_tui.interop.formats import Imported, ImportOptions, InteropError, Source

_LINE = re.compile(
    r"- \[(?P<box>[ x])\] (?P<id>[\w.-]+): (?P<title>[^`]+?)(?: `(?P<check>[^`]+)`)?\s*"
)


class PlainList:
    """The format of files that end in .plain."""

    name = "plain-list"

    def sniff(self, source: Source) -> int:
        """Return how likely the file is a plain list, judged by its name and first line."""
        if not source.name.endswith(".plain"):
            return 0
        return 90 if _LINE.match(source.head) else 50

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        """Read one task from each line that is not empty."""
        del wanted  # the format has neither groups nor tags
        tasks: list[Task] = []
        lines: dict[str, int] = {}
        for number, line in enumerate(source.text.splitlines(), 1):
            if not line.strip():
                continue
            found = _LINE.fullmatch(line)
            if found is None:
                raise InteropError(source.name, number, "the line is not `- [ ] id: what to do`")
            if found["id"] in lines:
                raise InteropError(source.name, number, f"the id {found['id']} is used twice")
            lines[found["id"]] = number
            imported_text = found["title"] + (found["check"] or "")
            tasks.append(
                Task(
                    id=found["id"],
                    description=found["title"],
                    status=TaskStatus.COMPLETE if found["box"] == "x" else TaskStatus.PENDING,
                    verification_criteria=(f"$ {found['check']}",) if found["check"] else (),
                    origin=Origin(
                        format=self.name,
                        path=source.name,
                        id=found["id"],
                        hash=hashlib.sha256(imported_text.encode()).hexdigest(),
                    ),
                )
            )
        if not tasks:
            raise InteropError(source.name, 0, "there is no task in it")
        return Imported(format=self.name, tasks=tuple(tasks), lines=lines)

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Tick the boxes of complete tasks, and change nothing else."""
        mine = {
            task.origin.id: task.status is TaskStatus.COMPLETE
            for task in plan.tasks
            if task.origin is not None
            and (task.origin.format, task.origin.path) == (self.name, before.name)
        }
        if not before.text:
            return "".join(
                f"- [{'x' if task.status is TaskStatus.COMPLETE else ' '}] {task.id}: {task.title}\n"
                for task in plan.tasks
            )
        return "".join(_ticked(line, mine) for line in before.text.splitlines(keepends=True))


def _ticked(line: str, done: dict[str, bool]) -> str:
    found = _LINE.match(line)
    if found is None or found["id"] not in done:
        return line
    start, end = found.span("box")
    return f"{line[:start]}{'x' if done[found['id']] else ' '}{line[end:]}"
