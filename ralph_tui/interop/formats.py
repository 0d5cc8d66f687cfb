"""Defines importers and exporters, and the values that they exchange with the plan."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task

MAX_BYTES = 16 * 1024 * 1024
MAX_TASKS = 5_000
SNIFFED = 64 * 1024


class InteropError(RalphError):
    """A file cannot be read as a plan.

    Args:
        file: The file as the person named it.
        line: The line of the problem, from 1; 0 if it has none.
        what: What is wrong, as a clause without a period.
    """

    def __init__(self, file: str, line: int, what: str, hint: str = "") -> None:
        self.file, self.line, self.what = file, line, what
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {what}.", hint)


@dataclass(frozen=True)
class Source:
    """A file to import: its path as the person named it, and its text with line ends unchanged."""

    name: str
    text: str

    @property
    def head(self) -> str:
        return self.text[:SNIFFED]


@dataclass(frozen=True)
class ImportOptions:
    """The person's options for an import: one task for each task or group, and the tag of a Taskmaster file."""

    by: Literal["task", "group"] = "task"
    tag: str = ""


@dataclass(frozen=True)
class LeftOut:
    """An entry that does not become a task, such as a cancelled one."""

    id: str
    title: str
    reason: str


@dataclass(frozen=True)
class Imported:
    """A file read as tasks.

    Attributes:
        format: The name of the importer.
        tasks: The tasks in the order of the file, each with its `origin` and a unique id.
        branch: The branch that the file wants the work on; empty for none.
        left_out: The entries that did not become tasks, with reasons.
        remarks: Sentences for the preview: what was decided, what has no counterpart.
        lines: The line where each task starts, from 1, by task id.
        unread: Ids of entries in the file that were not asked for, such as those under another tag.
    """

    format: str
    tasks: tuple[Task, ...]
    title: str = ""
    description: str = ""
    branch: str = ""
    left_out: tuple[LeftOut, ...] = ()
    remarks: tuple[str, ...] = ()
    lines: Mapping[str, int] = field(default_factory=dict)
    unread: frozenset[str] = frozenset()


class Importer(Protocol):
    """Reads one format. Other packages register theirs with the entry point `ralph_tui.importers`."""

    @property
    def name(self) -> str: ...

    def sniff(self, source: Source) -> int: ...

    def read(self, source: Source, wanted: ImportOptions) -> Imported: ...


class Writable(Importer, Protocol):
    """An importer that can also write its format."""

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Return `before` with the state of the plan's tasks; every other byte stays.

        Tasks are matched by `origin.format`, `origin.path` and `origin.id`. If `before` is empty, return a new file.
        """
        ...


Edit = tuple[int, int, str]
"""The start and end of a part of a text, and what replaces it."""


def edited(text: str, edits: Iterable[Edit]) -> str:
    parts: list[str] = []
    at = 0
    for start, end, new in sorted(edits):
        parts += (text[at:start], new)
        at = end
    return "".join((*parts, text[at:]))
