"""Writes a plan as a new Markdown file."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence

from ralph_tui.domain.plan.plan import ImplementationPlan, Task, TaskStatus
from ralph_tui.domain.sanitize import one_line
from ralph_tui.domain.verification.verification import CommandCriterion

Numbered = Callable[[int, int], str]
"""Makes the prefix of a title from the number of the group and of the task, both from 1."""


def new_file(title: str, groups: Sequence[tuple[str, Sequence[Task]]], number: Numbered) -> str:
    """Return a file with a heading for each group and a box for each task.

    Each box ends in a comment with the id of its task, by which an import finds it again.
    """
    lines = [f"# {inline_text(title)}", ""]
    for place, (heading, tasks) in enumerate(groups, 1):
        lines += [f"## {inline_text(heading)}", ""] if heading else []
        for index, task in enumerate(tasks, 1):
            lines += task_lines(task, number(place, index))
        lines.append("")
    return "\n".join(lines).rstrip("\n") + "\n"


def grouped(plan: ImplementationPlan, rest: str) -> list[tuple[str, list[Task]]]:
    """Return the tasks by group, in the order of the plan; those without a group are under `rest`."""
    groups: dict[str, list[Task]] = {}
    for task in plan.tasks:
        groups.setdefault(task.group or rest, []).append(task)
    return list(groups.items())


def task_lines(task: Task, number: str, star: str = "") -> Iterator[str]:
    """Yield the lines of a task: its box, followed by `star`, then its text and criteria."""
    box = "[x]" if is_complete(task) else "[ ]"
    before = f"{number} " if number else ""
    mark = "" if set(task.id) & set("<>`\r\n") or "--" in task.id else f" <!-- ralph: {task.id} -->"
    yield f"- {box}{star} {before}{inline_text(task.title)}{mark}"
    yield from (f"  {line}".rstrip() for line in _text(task))
    for criterion in task.verification_criteria:
        text = (
            f"`{criterion.command}` passes"
            if isinstance(criterion, CommandCriterion)
            else criterion
        )
        # With a number at its start, an import would read it as a task.
        lead = "Check: " if re.match(r"\W*T?[0-9]", text) else ""
        yield f"  - [ ] {lead}{inline_text(text)}"


def _text(task: Task) -> Iterable[str]:
    text = task.description.strip()[len(task.title) :].strip("\n")
    harmful = ("```", "~~~", "<!--", "[ ]", "[x]", "[X]")
    lines = text.splitlines()
    harms = any(mark in text for mark in harmful) or any(_is_rule(line) for line in lines)
    return () if harms else lines


def _is_rule(line: str) -> bool:
    return line.lstrip().startswith("#") or (bool(line.strip()) and not line.strip(" \t-="))


def is_complete(task: Task) -> bool:
    """Return whether a task is complete, so that its box is checked."""
    return task.status is TaskStatus.COMPLETE


def inline_text(text: str) -> str:
    return one_line(text, 2_000).replace("<!--", "&lt;!--") or "Untitled"
