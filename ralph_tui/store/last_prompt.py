"""Keep the first prompt of the last session, with secrets redacted."""

from typing import NamedTuple

from ralph_tui.domain.redaction import redact
from ralph_tui.store.layout import Layout
from ralph_tui.store.text_files import TAIL_BYTES, read_text, write_text

_MARK = "\n\n<!-- ralph: above, what is appended to the system prompt; below, the message -->\n\n"


class LastPrompt(NamedTuple):
    """The two parts of a session's first prompt."""

    system: str
    """The text appended to Claude Code's own system prompt."""
    message: str


def write_last_prompt(layout: Layout, system: str, message: str) -> None:
    write_text(layout.last_prompt, redact(f"{system}{_MARK}{message}"))


def read_last_prompt(layout: Layout) -> LastPrompt | None:
    system, mark, message = read_text(layout, layout.last_prompt, TAIL_BYTES).partition(_MARK)
    return LastPrompt(system, message) if mark else None
