"""The files that an iteration changed, with line counts and diffs."""

from collections.abc import Iterable
from typing import NamedTuple

from ralph_tui.domain.sanitize import inert
from ralph_tui.present.text.diffs import Diff, read_diff
from ralph_tui.present.text.glyphs import Glyphs
from ralph_tui.present.text.parts import Part
from ralph_tui.present.text.spans import Line, Span, Tone
from ralph_tui.present.tools.calls import Call, CallState
from ralph_tui.present.tools.file_tools import CHANGING, change_of, lines_changed
from ralph_tui.present.tools.renderers import renderer_for

MAX_LINES = 2_000
"""Maximum lines of one file's diff."""


def change_parts(calls: Iterable[Call], changed: Iterable[str], glyphs: Glyphs) -> list[Part]:
    """Return a part for each file with a diff, in the order of the first changes, then one for the other changed files."""
    diffs: dict[str, list[Call]] = {}
    for call in calls:
        if call.name in CHANGING and call.state is CallState.OK:
            diffs.setdefault(renderer_for(call).argument(call), []).append(call)
    parts = [_file_part(path, changes, glyphs) for path, changes in diffs.items()]
    rest = [path for path in changed if path not in diffs]
    if rest:
        why = (
            "Changed by a command, so there is no diff; `git diff` shows the files as they are now."
        )
        lines: list[Line] = [[Span(why, Tone.MUTED)], *([Span(path)] for path in rest)]
        parts.append(Part("Other files", lines))
    return parts


def _file_part(path: str, calls: list[Call], glyphs: Glyphs) -> Part:
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


class FileChange(NamedTuple):
    """A changed file; without line counts if a command changed it."""

    path: str
    added: int = 0
    removed: int = 0

    @property
    def counted(self) -> bool:
        return bool(self.added or self.removed)
