"""Collects which files an iteration changed, by how many lines, and how."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from ralph_tui.domain import events as ev
from ralph_tui.domain.sanitize import inert
from ralph_tui.present.text.diffs import Diff, read_diff
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.tools.calls import (
    STATE_OF,
    Call,
    CallState,
    bounded,
    with_relative_paths,
)
from ralph_tui.present.tools.file_tools import CHANGING, change_of, lines_changed
from ralph_tui.present.tools.renderers import renderer_for

MAX_LINES = 2_000
"""Lines of one file's changes that are shown."""


def change_parts(calls: Iterable[Call], changed: Iterable[str], glyphs: Glyphs) -> list[Part]:
    """Show one part per file in the order they were first changed; then files without a diff.

    Args:
        calls: The calls of an iteration.
        changed: All files that it changed, however it did.
        glyphs: The signs to draw with.
    """
    diffs: dict[str, list[Call]] = {}
    for call in calls:
        if call.name in CHANGING and call.state is CallState.OK:
            diffs.setdefault(renderer_for(call).argument(call), []).append(call)
    parts = [_file(path, changes, glyphs) for path, changes in diffs.items()]
    rest = [path for path in changed if path not in diffs]
    if rest:
        why = (
            "Changed by a command, so there is no diff; `git diff` shows the files as they are now."
        )
        lines: list[Line] = [[Span(why, Tone.MUTED)], *([Span(path)] for path in rest)]
        parts.append(Part("Other files", lines))
    return parts


def _file(path: str, calls: list[Call], glyphs: Glyphs) -> Part:
    added, removed = (sum(counts) for counts in zip(*map(lines_changed, calls), strict=True))
    texts = [
        inert(line).expandtabs(4)
        for call in calls
        for line in ["@@", *change_of(call).splitlines()]
    ]
    shown = Diff(read_diff(texts[:MAX_LINES]), path).lines(glyphs)
    if len(texts) > MAX_LINES:
        shown.append([Span(f"{len(texts) - MAX_LINES:,} more lines", Tone.MUTED)])
    return Part(f"{path}  +{added} -{removed}", shown)


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
    """Collects the files of an iteration from its events; each iteration begins again."""

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
                    call = replace(call, patch=event.patch)
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
