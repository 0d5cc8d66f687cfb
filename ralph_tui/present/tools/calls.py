"""A tool call as the screen keeps it, and the renderer that shows it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from ralph_tui.domain.events import ToolAllowed, ToolDenied, ToolRewritten
from ralph_tui.domain.outcomes import ToolOutcome
from ralph_tui.domain.run.breaker import telling_line
from ralph_tui.domain.sanitize import head, inert
from ralph_tui.present.text.spans import Tone
from ralph_tui.present.text.status_labels import Look

MAX_FIELD = 100_000

Input = dict[str, JsonValue]


class CallState(StrEnum):
    """The state of a call. The values are the words on the screen."""

    RUNNING = "running"
    WAITING = "waits for you"
    OK = "ok"
    FAILED = "failed"
    DENIED = "denied"
    INTERRUPTED = "interrupted"


STATE_OF = {
    ToolOutcome.OK: CallState.OK,
    ToolOutcome.ERROR: CallState.FAILED,
    ToolOutcome.DENIED: CallState.DENIED,
    ToolOutcome.INTERRUPTED: CallState.INTERRUPTED,
}


LOOK_OF_CALL = {
    CallState.RUNNING: Look("running", "running", Tone.INFO),
    CallState.WAITING: Look("asking", "waits for you", Tone.WARN),
    CallState.OK: Look("ok", "ok", Tone.OK),
    CallState.FAILED: Look("failed", "failed", Tone.BAD),
    CallState.DENIED: Look("denied", "denied", Tone.WARN),
    CallState.INTERRUPTED: Look("interrupted", "interrupted", Tone.WARN),
}


@dataclass(frozen=True, slots=True)
class Call:
    """One tool call from start to end."""

    tool_id: str
    name: str
    input: Input
    state: CallState = CallState.RUNNING
    seconds: float = 0.0
    output: str = ""
    patch: str = ""
    """The change of the file, as a unified diff; empty if the tool did not report it."""
    denial: ToolDenied | None = None
    allowance: ToolAllowed | None = None
    rewrite: ToolRewritten | None = None
    since: datetime | None = None
    """When the call began; None if unknown."""
    waits_since: datetime | None = None
    waited: float = 0.0
    """Seconds that the call waited for the person, which do not count as its duration."""


class SectionKind(StrEnum):
    """How a section of a detail is colored."""

    TEXT = "text"
    COMMAND = "command"
    DIFF = "diff"
    ERROR = "error"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Section:
    """A titled block of a detail screen."""

    title: str
    body: str
    kind: SectionKind = SectionKind.TEXT


def failure_note(call: Call) -> str:
    line = inert(telling_line(call.output)) if call.state is CallState.FAILED else ""
    return line.removeprefix("- ").removeprefix("failed: ")[:60]


@dataclass(frozen=True, slots=True)
class Renderer:
    """Shows the calls of one tool. Its functions are pure and accept any input.

    Attributes:
        verb: The word in the first column, such as `bash`.
        argument: Returns the subject of a call, on one line.
        sections: Returns the input of a call in readable form.
        note: Returns the result of a call in a few words, or an empty string.
    """

    verb: str
    argument: Callable[[Call], str]
    sections: Callable[[Call], tuple[Section, ...]]
    note: Callable[[Call], str] = failure_note


def text_of(data: Input, *names: str) -> str:
    """Return the first of the named inputs that is a number or a text that is not blank, as text."""
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value.strip():
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            return str(value)
    return ""


def bounded(data: Input) -> Input:
    """Return the input with very long texts cut, so that a single call cannot fill the memory."""
    return {
        name: head(value, MAX_FIELD) if isinstance(value, str) and len(value) > MAX_FIELD else value
        for name, value in data.items()
    }


_PATHS = ("file_path", "notebook_path", "path")


def with_relative_paths(data: Input, roots: tuple[str, ...]) -> Input:
    return {
        name: _relative(value, roots) if name in _PATHS and isinstance(value, str) else value
        for name, value in data.items()
    }


def _relative(path: str, roots: tuple[str, ...]) -> str:
    for root in roots:
        if path == root:
            return "."
        if path.startswith(f"{root}/"):
            return path[len(root) + 1 :]
    return path


def count_lines(text: str) -> int:
    return len(text.splitlines())
