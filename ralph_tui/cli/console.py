"""Prints for commands: data to standard output, remarks to standard error, always without control characters."""

import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, TextIO

from ralph_tui.domain.errors import ExitCode, RalphError
from ralph_tui.domain.sanitize import inert, one_line

if TYPE_CHECKING:
    from ralph_tui.domain.events import Event


def out(text: str = "") -> None:
    """Print one line of data; keep its spaces, drop control characters and line breaks."""
    _to_stdout(" ".join(inert(text).splitlines()) + "\n")


_captured: ContextVar[list[str] | None] = ContextVar("captured", default=None)


@contextmanager
def captured() -> Iterator[list[str]]:
    """Collect the data that commands print, instead of printing it."""
    texts: list[str] = []
    token = _captured.set(texts)
    try:
        yield texts
    finally:
        _captured.reset(token)


def _to_stdout(text: str) -> None:
    if (texts := _captured.get()) is not None:
        texts.append(text)
        return
    try:
        sys.stdout.write(text)
    except BrokenPipeError:  # as with `ralph init | head -1`, which must not stop in the middle
        discard_stdout()


def out_json(value: object) -> None:
    """Print a JSON document, in ASCII so that hostile text in it is inert."""
    _to_stdout(json.dumps(value, indent=2, ensure_ascii=True) + "\n")


def note(text: str) -> None:
    """Print a remark on standard error, beside the data."""
    _to_stderr(f"ralph: {one_line(text, 1000)}\n")


def note_check(event: "Event") -> None:
    """Print a remark when the gate begins with the checks of a task."""
    from ralph_tui.domain.events import GateStarted
    from ralph_tui.domain.formatting import plural

    if isinstance(event, GateStarted) and event.commands:
        note(f"Verifying {event.task_id} ({plural(len(event.commands), 'check')})")


def _to_stderr(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:  # its reader is gone, which must not decide what ralph does
        _discard(sys.stderr)


def fail(error: RalphError) -> None:
    message, hint = inert(error.message), inert(error.hint)
    if " UTC" in message + hint:
        from ralph_tui.present.text.figures import zoned  # most errors have no time in them

        message, hint = zoned(message), zoned(hint)
    _to_stderr(f"ralph: {message}\n" + (f"  {hint}\n" if hint else ""))


def out_facts(facts: Mapping[str, str]) -> None:
    width = max(map(len, facts), default=0)
    for name, value in facts.items():
        _to_stdout(f"{name.ljust(width)}  {one_line(value, 500)}\n")


def out_table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> None:
    """Print columns under their headings; the last column has no maximum width."""
    lines = [head, *(tuple(one_line(cell, 300) for cell in row) for row in rows)]
    widths = [max(len(row[i]) for row in lines) for i in range(len(head) - 1)]
    for row in lines:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        _to_stdout("  ".join([*cells, row[-1]]).rstrip() + "\n")


def discard_stdout() -> None:
    """Redirect standard output to the null device, so that the interpreter's last flush cannot fail."""
    _discard(sys.stdout)


def _discard(stream: TextIO) -> None:
    try:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)
    except (OSError, ValueError):  # a stream without a descriptor has nothing to flush
        return


def is_at_terminal() -> bool:
    return sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()


def agreed(
    question: str, *, nothing: str, kept: str, default: bool = True, can_ask: bool = True
) -> None:
    """Ask the person for a yes.

    Args:
        nothing: What a no means, such as `Nothing was written`.
        kept: What stays as it was.

    Raises:
        Exit: Nobody can answer.
        RalphError: The person does not agree.
    """
    import typer

    if not (can_ask and is_at_terminal()):
        note(f"{nothing}: there is nobody to ask. Give --yes to agree.")
        raise typer.Exit(int(ExitCode.WAITING_FOR_APPROVAL))
    if not typer.confirm(f"\n{question}", default=default):
        raise RalphError(f"{nothing}.", kept)


def no_screen() -> str | None:
    """Return why the screen cannot open here; None when it can."""
    if "web_driver" in os.environ.get("TEXTUAL_DRIVER", ""):
        return None  # a page of `ralph serve`
    for stream, name in ((sys.stdout, "standard output"), (sys.stdin, "standard input")):
        if stream is None or not stream.isatty():
            return f"{name} is not a terminal"
    term = os.environ.get("TERM", "")
    if term in ("", "dumb", "unknown"):
        return f"the terminal cannot show a screen (TERM={term or 'not set'})"
    return None
