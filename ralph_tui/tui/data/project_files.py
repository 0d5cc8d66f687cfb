"""Reads the project's texts for the screens: specs, report, request, memory. Blocks, so call it in a thread."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from ralph_tui.domain.documents.archive import ArchiveSummary
from ralph_tui.domain.documents.specs import Spec
from ralph_tui.domain.documents.validation_report import ValidationReport
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import Phase
from ralph_tui.present.text.figures import when
from ralph_tui.store.archive import read_archived_text, read_archives
from ralph_tui.store.last_prompt import read_last_prompt
from ralph_tui.store.layout import Layout
from ralph_tui.store.project import Project
from ralph_tui.store.text_files import TAIL_BYTES


def read_specs(root: Path) -> tuple[Spec, ...]:
    return Project(root).request_specs()


def read_report(root: Path) -> ValidationReport | None:
    return Project(root).read_report()


def open_request(root: Path) -> str:
    """Return the request that is not done yet, or an empty string if there is none or it cannot be read."""
    project = Project(root)
    try:
        docs = project.look()
        waits = docs.state.awaits_decision
        report = None if waits else project.read_report()
    except RalphError:
        return ""  # the watcher reports what is wrong with the files
    return "" if report is not None and report.confirms(docs.plan) else docs.state.request


LEARNINGS = 100_000

ARCHIVE = "Archive"

ARCHIVES = 50


@dataclass(frozen=True, slots=True)
class MemoryDocument:
    """A text that the model is given.

    Attributes:
        text: The text, as Markdown.
        note: How the model gets it, or why there is none.
        path: The file to edit; None if the text is assembled from other files.
        report: A validation report, shown instead of a text.
        missing: Required parts that a spec lacks.
    """

    name: str
    group: str
    text: str
    note: str
    path: Path | None = None
    report: ValidationReport | None = None
    missing: tuple[str, ...] = ()


def read_documents(root: Path) -> list[MemoryDocument]:
    """Return all texts in the order of the list; the note of a missing one explains why."""
    project = Project(root)
    return [
        *_given(project),
        *_memory(project),
        *_instructions(project),
        *_specs(project),
        *_report(project),
        *_archives(project),
    ]


def _given(project: Project) -> list[MemoryDocument]:
    given = read_last_prompt(project.layout)
    group = "What the model received"
    nothing = "No session has started yet. The prompt of the next one is saved here."
    return [
        MemoryDocument("message", group, given.message if given else "", "the first message of the last session, exactly as sent" if given else nothing),
        MemoryDocument("system prompt", group, given.system if given else "", "appended to Claude Code's own" if given else nothing),
    ]  # fmt: skip


def _memory(project: Project) -> list[MemoryDocument]:
    layout, group = project.layout, "Memory"
    learnings = "\n".join(f"- {line}" for line in reversed(project.read_learnings(LEARNINGS)))
    return [
        _file(project, layout.memory, group, "the hand-off to the next session"),
        _file(project, layout.active_memory, group, "the memory that goes into the next prompt", _inside(layout, layout.active_memory)),
        MemoryDocument("learnings", group, learnings, "progress.txt, newest first" if learnings else "No learnings yet.", layout.progress),
    ]  # fmt: skip


def _instructions(project: Project) -> list[MemoryDocument]:
    layout, group = project.layout, "Instructions"
    own = [layout.prompt(phase) for phase in Phase]
    return [
        _file(project, layout.agents_md, group, "goes into every prompt"),
        _file(project, project.root / "CLAUDE.md", group, "goes into the system prompt"),
        *(
            _file(project, path, group, "used instead of the built-in prompt")
            for path in own
            if path.exists()
        ),
    ]


def _file(project: Project, path: Path, group: str, note: str, name: str = "") -> MemoryDocument:
    text = project.read_text(path, TAIL_BYTES)
    return MemoryDocument(
        name or path.name, group, text, note if text else "The file is missing or empty.", path
    )


def _specs(project: Project) -> list[MemoryDocument]:
    specs = project.read_specs()
    folder = project.layout.specs.relative_to(project.root)
    if not specs:
        return [
            MemoryDocument(
                "specs", "Specs", "", f"No specs yet. Discovery writes them to {folder}/."
            )
        ]
    return [
        MemoryDocument(
            spec.name,
            "Specs",
            spec.text,
            "incomplete" if spec.problems() else "complete",
            project.layout.specs / spec.name,
            missing=tuple(spec.problems()),
        )
        for spec in specs
    ]


def _archives(project: Project) -> list[MemoryDocument]:
    """Return the newest archives; an archive never changes, so each is read once."""
    found = read_archives(project.layout)[0][:ARCHIVES]
    return [
        MemoryDocument(
            one.name, ARCHIVE, _archived(project.layout, one), f"archived {when(one.archived_at)}, read-only"
        )
        for one in found
    ]  # fmt: skip


def _inside(layout: Layout, path: Path) -> str:
    return path.relative_to(layout.root).as_posix()


@lru_cache(maxsize=ARCHIVES)
def _archived(layout: Layout, summary: ArchiveSummary) -> str:
    return read_archived_text(layout, summary)


def _report(project: Project) -> list[MemoryDocument]:
    try:
        report = read_report(project.root)
    except RalphError:
        report = None  # one unreadable text must not fail the page
    path = project.layout.validation_report
    if report is None:
        return [MemoryDocument("report", "Validation", "", "No validation report yet.")]
    note = f"round {report.round}, {'passed' if report.passed else 'failed'}"
    return [MemoryDocument("report", "Validation", "", note, path, report)]
