"""Which files the iteration has changed so far, and by how many lines."""

from typing import NamedTuple

from ralph_tui.domain import events as ev
from ralph_tui.tui.render.calls import STATE_OF, Call, CallState, bounded, with_relative_paths
from ralph_tui.tui.render.changes import CHANGING
from ralph_tui.tui.render.files import lines_changed
from ralph_tui.tui.render.tools import renderer_for

MAX_FILES = 200
"""One call may touch many; more than this nobody reads in a panel."""


class FileChange(NamedTuple):
    """One file; without numbers when a command changed it."""

    path: str
    added: int = 0
    removed: int = 0

    @property
    def counted(self) -> bool:
        """Whether its lines are known."""
        return bool(self.added or self.removed)


class Touched:
    """A fold of the stream that begins anew with each iteration."""

    def __init__(self, roots: tuple[str, ...] = ()) -> None:
        """Paths below one of `roots` are shown relative to it."""
        self._roots = roots
        self._open: dict[str, Call] = {}
        self._files: dict[str, FileChange] = {}

    @property
    def files(self) -> tuple[FileChange, ...]:
        """In the order they were first changed."""
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
