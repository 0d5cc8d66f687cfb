"""What an importer and an exporter are, and what passes between them and the plan."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.plan.plan import ImplementationPlan, Task

MAX_BYTES = 16 * 1024 * 1024
MAX_TASKS = 5_000
SNIFFED = 64 * 1024
"""Characters at the start of a file that decide about its format."""


class InteropError(RalphError):
    """A file that cannot be read as a plan.

    Args:
        file: The file as the person named it.
        line: Counted from 1; 0 when the fault has no line.
        what: What is wrong, as a clause without a period.
        hint: What to do about it.
    """

    def __init__(self, file: str, line: int, what: str, hint: str = "") -> None:
        """Put the place in front of the sentence."""
        self.file, self.line, self.what = file, line, what
        place = f"{file}:{line}" if line else file
        super().__init__(f"{place}: {what}.", hint)


@dataclass(frozen=True)
class Source:
    """A file to import.

    Attributes:
        name: Its path as the person named it, for messages and for `Origin.path`.
        text: Its contents, decoded, without a byte order mark, line ends as they are.
    """

    name: str
    text: str

    @property
    def head(self) -> str:
        """Return the part that decides about the format."""
        return self.text[:SNIFFED]


@dataclass(frozen=True)
class ImportOptions:
    """What the person asked an importer for.

    Attributes:
        by: One task of ours for each task of theirs, or for each group.
        tag: The tag of a Taskmaster file; empty for its current one.
    """

    by: Literal["task", "group"] = "task"
    tag: str = ""


@dataclass(frozen=True)
class LeftOut:
    """An entry that does not become a task, such as one that was cancelled."""

    id: str
    title: str
    reason: str


@dataclass(frozen=True)
class Imported:
    """A file read as tasks.

    Attributes:
        format: The name of the importer.
        tasks: Each with its `origin`; ids unique, in the order of the file.
        title: Of the plan; empty when the file names none.
        description: Of the plan.
        branch: That the file wants the work to be done on; empty for none.
        left_out: What did not become a task, each with the reason.
        remarks: Sentences for the preview: what was decided, what has no counterpart.
        lines: Task id to the line where it starts, from 1.
        unread: What the file calls entries that nobody asked for, such as those under another tag: they are not gone.
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
    """Reads one format. Installed ones register by the entry point `ralph_tui.importers`."""

    @property
    def name(self) -> str:
        """For `--as` and messages, such as `spec-kit`."""
        ...

    def sniff(self, source: Source) -> int:
        """Say from 0 (no) to 100 (certainly) whether this is its format, from the name and `source.head`."""
        ...

    def read(self, source: Source, wanted: ImportOptions) -> Imported:
        """Read the tasks.

        Raises:
            InteropError: It cannot be read; says the line and what is wrong.
        """
        ...


class Exporter(Protocol):
    """Writes one format; an importer that also has `write` is one."""

    @property
    def name(self) -> str:
        """For `--as` and messages."""
        ...

    def write(self, plan: ImplementationPlan, before: Source) -> str:
        """Return `before` with the state of the plan's tasks; every other byte stays.

        Tasks are matched by `origin.format`, `origin.path` and `origin.id`. An empty `before` makes a new file.
        """
        ...


class Writable(Importer, Exporter, Protocol):
    """An importer that can also write its format."""
