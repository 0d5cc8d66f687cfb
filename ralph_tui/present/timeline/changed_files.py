"""Collects which files an iteration changed, by how many lines, and how."""

from collections.abc import Iterable
from typing import NamedTuple

from ralph_tui.domain import events as ev
from ralph_tui.domain.sanitize import inert
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.tools.calls import (
    STATE_OF,
    Call,
    CallState,
    SectionKind,
    bounded,
    with_relative_paths,
)
from ralph_tui.present.tools.file_tools import CHANGING, lines_changed
from ralph_tui.present.tools.renderers import renderer_for

MAX_LINES = 2_000
"""Lines of one file's changes that are shown."""

_TONES = {"+": Tone.OK, "-": Tone.BAD, "@": Tone.ACCENT}


def change_parts(calls: Iterable[Call], changed: Iterable[str]) -> list[Part]:
    """Show one part per file in the order they were first changed; then files without a diff."""
    diffs: dict[str, list[str]] = {}
    for call in calls:
        if call.name in CHANGING and call.state is CallState.OK:
            renderer = renderer_for(call)
            body = diffs.setdefault(renderer.argument(call), [])
            for section in renderer.sections(call):
                if section.kind is SectionKind.DIFF and section.body:
                    body.extend(
                        ["", *section.body.splitlines()] if body else section.body.splitlines()
                    )
    parts = [_file(path, lines) for path, lines in diffs.items()]
    rest = [path for path in changed if path not in diffs]
    if rest:
        why = (
            "Changed by a command, so there is no diff; `git diff` shows the files as they are now."
        )
        lines: list[Line] = [[Span(why, Tone.MUTED)], *([Span(path)] for path in rest)]
        parts.append(Part("Other files", lines))
    return parts


def _file(path: str, lines: list[str]) -> Part:
    added = sum(1 for line in lines if line.startswith("+"))
    removed = sum(1 for line in lines if line.startswith("-"))
    shown: list[Line] = [_line(line) for line in lines[:MAX_LINES]]
    if len(lines) > MAX_LINES:
        shown.append([Span(f"{len(lines) - MAX_LINES:,} more lines", Tone.MUTED)])
    return Part(f"{path}  +{added} -{removed}", shown)


def _line(text: str) -> Line:
    return [Span(inert(text).expandtabs(4), _TONES.get(text[:1], Tone.TEXT))]


MAX_FILES = 200
"""Files that are kept; nobody reads more in a panel."""


class FileChange(NamedTuple):
    """A changed file; without numbers when a command changed it."""

    path: str
    added: int = 0
    removed: int = 0

    @property
    def counted(self) -> bool:
        """Whether its lines are known."""
        return bool(self.added or self.removed)


class ChangedFiles:
    """Collects the files of an iteration from its events; each iteration begins anew."""

    def __init__(self, roots: tuple[str, ...] = ()) -> None:
        """Show paths below one of `roots` relative to it."""
        self._roots = roots
        self._open: dict[str, Call] = {}
        self._files: dict[str, FileChange] = {}

    @property
    def files(self) -> tuple[FileChange, ...]:
        """The changed files, in the order they were first changed."""
        return tuple(self._files.values())

    def feed(self, event: ev.Event) -> None:
        """Take one more event."""
        match event:
            case ev.ToolStarted() if event.name in CHANGING:
                data = with_relative_paths(bounded(dict(event.input)), self._roots)
                self._open[event.tool_id] = Call(event.tool_id, event.name, data)
            case ev.ToolFinished() if call := self._open.pop(event.tool_id, None):
                if STATE_OF[event.outcome] is CallState.OK:
                    self._add(FileChange(renderer_for(call).argument(call), *lines_changed(call)))
            case ev.IterationStarted():
                self._open.clear()
                self._files.clear()
            case ev.IterationFinished():
                for path in event.files_changed:
                    self._add(FileChange(path))
            case _:
                pass

    def _add(self, change: FileChange) -> None:
        known = self._files.get(change.path, FileChange(change.path))
        if change.path in self._files or len(self._files) < MAX_FILES:
            self._files[change.path] = FileChange(
                change.path, known.added + change.added, known.removed + change.removed
            )
