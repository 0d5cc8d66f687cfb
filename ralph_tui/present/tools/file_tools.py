"""Show calls that read, write and edit files, and count the lines that they changed."""

import difflib
import re
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
"""Maximum characters of each side to compare; more would block the screen."""

_MAX_COMPARED = 400
"""Maximum lines of each side to compare; in longer texts, all lines count as changed."""

KEPT_DIFFS = 64
"""How many diffs are cached, because each key press redraws the row under the cursor."""

_REST = re.compile(r"^@@ \+(\d+) -(\d+) more @@$", re.MULTILINE)
"""The end of a patch that was cut; see `ralph_tui.agent.translate.patch_text`."""


def _path(call: Call) -> str:
    return text_of(call.input, "file_path", "notebook_path", "path")


def _read_argument(call: Call) -> str:
    offset = text_of(call.input, "offset")
    return f"{_path(call)}:{offset}" if offset else _path(call)


def _read_note(call: Call) -> str:
    is_done = call.state is CallState.OK and call.output
    return plural(count_lines(call.output), "line") if is_done else ""


def _write_note(call: Call) -> str:
    added, removed = lines_changed(call)
    return f"+{added} -{removed}" if removed else f"+{added}" if added else ""


def _edit_note(call: Call) -> str:
    added, removed = lines_changed(call)
    return f"+{added} -{removed}" if added or removed else ""


def _change_sections(call: Call) -> tuple[Section, ...]:
    title = "Content" if call.name == "Write" and not call.patch else "Change"
    return (Section("File", _path(call)), Section(title, change_of(call), SectionKind.DIFF))


READ = Renderer(
    "read", _read_argument, lambda call: (Section("File", _read_argument(call)),), _read_note
)
WRITE = Renderer("write", _path, _change_sections, _write_note)
EDIT = Renderer("edit", _path, _change_sections, _edit_note)
CHANGING = frozenset({"Write", "Edit", "MultiEdit", "NotebookEdit"})
"""Tools that change a file."""


def lines_changed(call: Call) -> tuple[int, int]:
    change = change_of(call)
    signs = [line[:1] for line in change.splitlines()]
    rest = _REST.search(change)
    more = (int(rest[1]), int(rest[2])) if rest else (0, 0)
    return signs.count("+") + more[0], signs.count("-") + more[1]


def change_of(call: Call) -> str:
    """Return the change that a call makes, as a unified diff.

    The diff has line numbers if the tool reported them, or if the file is new.
    """
    if call.patch:
        return call.patch
    if call.name == "Write":
        return _new_file_diff(text_of(call.input, "content"))
    return "\n".join(_diff(old, new) for old, new in replacements(call))


@lru_cache(maxsize=KEPT_DIFFS)
def _new_file_diff(content: str) -> str:
    lines = content.splitlines()
    header = f"@@ -0,0 +1,{len(lines)} @@"
    return "\n".join([header, *(f"+{line}" for line in lines)]) if lines else ""


def replacements(call: Call) -> list[tuple[str, str]]:
    edits = call.input.get("edits")
    items: list[JsonValue] = edits if isinstance(edits, list) else [call.input]
    return [
        (text_of(item, "old_string"), text_of(item, "new_string", "new_source"))
        for item in items
        if isinstance(item, dict) and ("old_string" in item or "new_source" in item)
    ]


@lru_cache(maxsize=KEPT_DIFFS)
def _diff(old: str, new: str) -> str:
    before, after = head(old, _DIFF_INPUT).splitlines(), head(new, _DIFF_INPUT).splitlines()
    if max(len(before), len(after)) > _MAX_COMPARED:
        return "\n".join(["@@", *(f"-{line}" for line in before), *(f"+{line}" for line in after)])
    compared = list(difflib.unified_diff(before, after, lineterm="", n=3))[2:]
    return "\n".join("@@" if line.startswith("@@") else line for line in compared)
