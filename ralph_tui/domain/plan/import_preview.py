"""The preview of an import, which a person sees before anything is written. Plain data."""

from collections import Counter
from enum import StrEnum
from typing import Literal

from ralph_tui.domain.base import Model


class ImportChange(StrEnum):
    """What an import does with one entry of the file, or with a task from an earlier import of the file."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    GONE = "gone"
    """The task was imported earlier and is no longer in the file. It stays in the plan."""
    LEFT_OUT = "left out"
    """The entry of the file does not become a task."""


class ImportRow(Model):
    """One line of the preview."""

    change: ImportChange
    id: str
    title: str
    detail: str = ""
    """A remark about the entry, as a phrase."""


class ImportedCommand(Model):
    """A criterion of the file that is a command."""

    task_id: str
    command: str
    verdict: Literal["allow", "rewrite", "ask", "deny"] = "allow"
    reason: str = ""
    """Why the guard refuses the command or asks first; empty if it may run."""

    @property
    def is_refused(self) -> bool:
        """Whether the criterion is kept as text and never run."""
        return self.verdict == "deny"


class ImportPreview(Model):
    """Everything an import is going to do."""

    source: str
    format: str
    rows: tuple[ImportRow, ...] = ()
    commands: tuple[ImportedCommand, ...] = ()
    remarks: tuple[str, ...] = ()
    branch: str = ""
    """The branch that the feature takes from the file; empty if it keeps its own."""

    @property
    def counts(self) -> Counter[ImportChange]:
        return Counter(row.change for row in self.rows)

    @property
    def effect(self) -> tuple[object, ...]:
        written = (ImportChange.NEW, ImportChange.CHANGED)
        return *(row for row in self.rows if row.change in written), *self.commands, self.branch

    @property
    def changes_plan(self) -> bool:
        counts = self.counts
        return bool(counts[ImportChange.NEW] or counts[ImportChange.CHANGED])
