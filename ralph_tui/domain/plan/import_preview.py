"""What an import is going to change: the table a person sees before anything is written. Plain data."""

from collections import Counter
from enum import StrEnum
from typing import Literal

from ralph_tui.domain.base import Model


class ImportChange(StrEnum):
    """What happens to one entry of the file, or to one task that came from it earlier."""

    NEW = "new"
    CHANGED = "changed"
    SAME = "same"
    GONE = "gone"
    """The plan has it from an earlier import and the file does not name it any more; it stays."""
    LEFT_OUT = "left out"
    """The file has it and it does not become a task."""


class ImportRow(Model):
    """One line of the preview."""

    change: ImportChange
    id: str
    title: str
    detail: str = ""
    """What is special about it, as a phrase."""


class ImportedCommand(Model):
    """A criterion of the file that ralph will run."""

    task_id: str
    command: str
    verdict: Literal["allow", "rewrite", "ask", "deny"] = "allow"
    reason: str = ""
    """Why the guard refuses it or asks first; empty when it may run."""

    @property
    def is_refused(self) -> bool:
        """Whether the criterion is kept as words and never run."""
        return self.verdict == "deny"


class ImportPreview(Model):
    """Everything an import is going to do."""

    source: str
    format: str
    rows: tuple[ImportRow, ...] = ()
    commands: tuple[ImportedCommand, ...] = ()
    remarks: tuple[str, ...] = ()
    branch: str = ""
    """The branch that the feature gets from the file; empty when it keeps its own."""

    @property
    def counts(self) -> Counter[ImportChange]:
        """How many entries there are of each kind."""
        return Counter(row.change for row in self.rows)

    @property
    def effect(self) -> tuple[object, ...]:
        """What the import writes: what a person agrees to, whatever else happens to the plan meanwhile."""
        written = (ImportChange.NEW, ImportChange.CHANGED)
        return *(row for row in self.rows if row.change in written), *self.commands, self.branch

    @property
    def changes_plan(self) -> bool:
        """Whether the plan would be another one."""
        counts = self.counts
        return bool(counts[ImportChange.NEW] or counts[ImportChange.CHANGED])
