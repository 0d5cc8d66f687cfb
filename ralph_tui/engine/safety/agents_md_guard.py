"""Keep AGENTS.md short: deny edits that make it too long, and warn the agent when a command did."""

from pathlib import Path

from ralph_tui.domain.documents.agents_md import MAX_LINES, complaint, lines_of
from ralph_tui.domain.tool_calls import ToolCall, Verdict

INSTEAD = (
    "Replace or shorten what is there; what only later sessions of this work need goes to "
    "ralph_append_learning."
)
READ_BYTES = 1_000_000


class AgentsMdGuard:
    """Watches AGENTS.md during one session."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lines = lines_of(self._text())

    def review(self, call: ToolCall) -> Verdict | None:
        """Return a denial of an edit that makes the file too long, or None for any other call."""
        named = str(call.input.get("file_path", ""))
        if call.name not in ("Write", "Edit") or not named:
            return None
        try:
            if Path(self._path.parent, named).resolve() != self._path.resolve():
                return None
        except (OSError, ValueError, RuntimeError):
            return None
        before = self._text()
        why = complaint(before, _text_after(call, before))
        if not why:
            return None
        return Verdict(
            decision="deny", rule="agents-md-lines", part=named[:200], reason=why, instead=INSTEAD
        )

    def note(self, call: ToolCall) -> str:
        """Return the warning after a command made the file too long; repeated only when it grows again."""
        if call.name != "Bash":
            return ""
        lines, before = lines_of(self._text()), self._lines
        self._lines = max(lines, MAX_LINES)
        if lines <= MAX_LINES or lines <= before:
            return ""
        return f"AGENTS.md has {lines} lines now; it has at most {MAX_LINES}. {INSTEAD}"

    def _text(self) -> str:
        try:
            with self._path.open("rb") as file:
                return file.read(READ_BYTES).decode("utf-8", "replace")
        except OSError:  # missing or unreadable, which the agent's tool reports itself
            return ""


def _text_after(call: ToolCall, before: str) -> str:
    if call.name == "Write":
        return str(call.input.get("content", ""))
    old, new = str(call.input.get("old_string", "")), str(call.input.get("new_string", ""))
    if not old:
        return before or new
    return before.replace(old, new, -1 if call.input.get("replace_all") else 1)
