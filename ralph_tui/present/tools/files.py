"""Reading, writing and editing files."""

import difflib
from functools import lru_cache

from pydantic import JsonValue

from ralph_tui.domain.sanitize import head
from ralph_tui.present.text.figures import plural
from ralph_tui.present.tools.calls import (
    Call,
    CallState,
    Section,
    SectionKind,
    count_lines,
    text_of,
)

_DIFF_INPUT = 20_000
"""Characters of each side that are compared; comparing more would hold up the screen."""

KEPT_DIFFS = 16
"""The row under the cursor is drawn anew at every key, and a long diff takes a tenth of a second."""


def _path(call: Call) -> str:
    return text_of(call.input, "file_path", "notebook_path", "path", "argument")


class ReadRenderer:
    """`Read`."""

    verb = "read"

    def argument(self, call: Call) -> str:
        """The path, and from which line on."""
        offset = text_of(call.input, "offset")
        return f"{_path(call)}:{offset}" if offset else _path(call)

    def note(self, call: Call) -> str:
        """How much was read."""
        done = call.state is CallState.OK and call.output
        return plural(count_lines(call.output), "line") if done else ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """The path."""
        return (Section("File", self.argument(call)),)


class WriteRenderer:
    """`Write`: a whole new file."""

    verb = "write"

    def argument(self, call: Call) -> str:
        """The path."""
        return _path(call)

    def note(self, call: Call) -> str:
        """How much was written."""
        content = text_of(call.input, "content")
        return f"+{count_lines(content)}" if content else ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """The path and every line as an addition."""
        body = "\n".join(f"+{line}" for line in text_of(call.input, "content").splitlines())
        return (Section("File", _path(call)), Section("Content", body, SectionKind.DIFF))


class EditRenderer:
    """`Edit`, `MultiEdit` and `NotebookEdit`: replacements within a file."""

    verb = "edit"

    def argument(self, call: Call) -> str:
        """The path."""
        return _path(call)

    def note(self, call: Call) -> str:
        """Lines added and removed."""
        added, removed = lines_changed(call)
        return f"+{added} -{removed}" if added or removed else ""

    def sections(self, call: Call) -> tuple[Section, ...]:
        """The path and one diff per replacement."""
        diffs = (
            Section("Change", "\n".join(_diff(old, new)), SectionKind.DIFF)
            for old, new in _replacements(call)
        )
        return (Section("File", _path(call)), *diffs)


def lines_changed(call: Call) -> tuple[int, int]:
    """How many lines a call that changes a file added and removed."""
    if call.name == "Write":
        return count_lines(text_of(call.input, "content")), 0
    lines = [line for old, new in _replacements(call) for line in _diff(old, new)]
    added = sum(1 for line in lines if line.startswith("+"))
    return added, sum(1 for line in lines if line.startswith("-"))


def _replacements(call: Call) -> list[tuple[str, str]]:
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
