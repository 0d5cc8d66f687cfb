"""What an iteration changed in files, from its own edits and writes. Pure functions."""

from collections.abc import Iterable

from ralph_tui.domain.sanitize import inert
from ralph_tui.tui.render.calls import Call, CallState, SectionKind
from ralph_tui.tui.render.parts import Part
from ralph_tui.tui.render.spans import Line, Span, Tone
from ralph_tui.tui.render.tools import renderer_for

CHANGING = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
MAX_LINES = 2_000
"""Lines of one file's changes that are shown."""

_TONES = {"+": Tone.OK, "-": Tone.BAD, "@": Tone.ACCENT}


def change_parts(calls: Iterable[Call], changed: Iterable[str]) -> list[Part]:
    """One part per file in the order they were first touched; then what changed without a diff."""
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
