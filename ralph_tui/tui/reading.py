"""Reads for the screen what is no event: specs, the report, the request. Blocks; call it in a thread."""

from pathlib import Path

from ralph_tui.domain.documents.specs import Spec
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.verification.validation_report import ValidationReport
from ralph_tui.store.project import Project


def read_specs(root: Path) -> tuple[Spec, ...]:
    """The specs as they are on disk now.

    Raises:
        RalphError: They cannot be read.
    """
    return Project(root).read_specs()


def read_report(root: Path) -> ValidationReport | None:
    """The validation report, or None when there is none that can be read.

    Raises:
        RalphError: The project cannot be read.
    """
    return Project(root).read_report()


def open_request(root: Path) -> str:
    """What the person asked for and is not done yet; empty where nothing is, or nothing can be read."""
    project = Project(root)
    try:
        docs = project.look()
        waits = docs.state.awaits_decision
        report = None if waits else project.read_report()
    except RalphError:
        return ""  # the watcher says what is wrong with the files
    return "" if report is not None and report.settles(docs.plan) else docs.state.request
