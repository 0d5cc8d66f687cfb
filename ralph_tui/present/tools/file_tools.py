"""Shows calls that read, write and edit files, and counts the lines they changed."""

import difflib
from functools import lru_cache

from pydantic import JsonValue

from ralph_tui.domain.formatting import plural
from ralph_tui.domain.sanitize import head
from ralph_tui.present.tools.calls import (
    Call,
    CallState,
    Renderer,
    Section,
    SectionKind,
    count_lines,
    text_of,
)

_DIFF_INPUT = 20_000
"""Characters of each side that are compared; more would block the screen."""

KEPT_DIFFS = 16
"""Diffs that are cached: the row under the cursor is redrawn at every key, and a long diff takes a tenth of a second."""


def _path(call: Call) -> str:
    return text_of(call.input, "file_path", "notebook_path", "path", "argument")


def _read_argument(call: Call) -> str:
    offset = text_of(call.input, "offset")
    return f"{_path(call)}:{offset}" if offset else _path(call)


def _read_note(call: Call) -> str:
    is_done = call.state is CallState.OK and call.output
    return plural(count_lines(call.output), "line") if is_done else ""


def _read_sections(call: Call) -> tuple[Section, ...]:
    return (Section("File", _read_argument(call)),)


def _write_note(call: Call) -> str:
    content = text_of(call.input, "content")
    return f"+{count_lines(content)}" if content else ""


def _write_sections(call: Call) -> tuple[Section, ...]:
    body = "\n".join(f"+{line}" for line in text_of(call.input, "content").splitlines())
    return (Section("File", _path(call)), Section("Content", body, SectionKind.DIFF))


def _edit_note(call: Call) -> str:
    added, removed = lines_changed(call)
    return f"+{added} -{removed}" if added or removed else ""


def _edit_sections(call: Call) -> tuple[Section, ...]:
    """Show the path and one diff for each replacement."""
    diffs = (
        Section("Change", "\n".join(_diff(old, new)), SectionKind.DIFF)
        for old, new in replacements(call)
    )
    return (Section("File", _path(call)), *diffs)


READ = Renderer("read", _read_argument, _read_sections, _read_note)
WRITE = Renderer("write", _path, _write_sections, _write_note)
EDIT = Renderer("edit", _path, _edit_sections, _edit_note)
CHANGING = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
"""Tools that change a file."""


def lines_changed(call: Call) -> tuple[int, int]:
    """Count the lines that a call added to a file and removed from it."""
    if call.name == "Write":
        return count_lines(text_of(call.input, "content")), 0
    lines = [line for old, new in replacements(call) for line in _diff(old, new)]
    added = sum(1 for line in lines if line.startswith("+"))
    return added, sum(1 for line in lines if line.startswith("-"))


def replacements(call: Call) -> list[tuple[str, str]]:
    """List the text before and after of each replacement that a call makes."""
    edits = call.input.get("edits")
    items: list[JsonValue] = edits if isinstance(edits, list) else [call.input]
    return [
        (text_of(item, "old_string"), text_of(item, "new_string", "new_source"))
        for item in items
        if isinstance(item, dict) and ("old_string" in item or "new_source" in item)
    ]


@lru_cache(maxsize=KEPT_DIFFS)
def _diff(old: str, new: str) -> tuple[str, ...]:
    before, after = head(old, _DIFF_INPUT).splitlines(), head(new, _DIFF_INPUT).splitlines()
    return tuple(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
