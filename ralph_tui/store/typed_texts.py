"""Keep the texts that people typed, so that text boxes can recall them: `.ralph/typed.jsonl`.

The file has one JSON object per line, oldest first. Nothing depends on it: an unreadable line is skipped, and
the next write drops it.
"""

from collections.abc import Sequence

from pydantic import ValidationError

from ralph_tui.domain.base import Record
from ralph_tui.domain.errors import StoreError
from ralph_tui.domain.redaction import redact
from ralph_tui.store.io.files import DamagedError, read_regular, write_atomic
from ralph_tui.store.io.strict_json import json_text, parse_object, scrub
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import write_lock

GUIDANCE, REQUEST, ANSWER, CHANGES, REASON = "guidance", "request", "answer", "changes", "reason"
"""The kinds of text boxes. Each box recalls only texts of its kind."""

MAX_TEXTS = 100

MAX_CHARS = 20_000


class TypedText(Record):
    """One text, and the kind of box it was typed in."""

    kind: str
    text: str


def with_text(texts: Sequence[TypedText], kind: str, text: str) -> tuple[TypedText, ...]:
    """Return the texts with a new one at the end, and at most `MAX_TEXTS` of its kind.

    A text that repeats the previous one, is too long or contains a secret is not added.
    """
    text = str(scrub(text)).strip()
    same = [one for one in texts if one.kind == kind]
    repeats = bool(same) and same[-1].text == text
    if not text or repeats or len(text) > MAX_CHARS or redact(text) != text:
        return tuple(texts)
    dropped = len(same) + 1 - MAX_TEXTS
    kept = []
    for one in texts:
        if one.kind == kind and dropped > 0:
            dropped -= 1
        else:
            kept.append(one)
    return (*kept, TypedText(kind=kind, text=text))


def read_typed(layout: Layout) -> tuple[TypedText, ...]:
    try:
        data = read_regular(layout.typed) or b""
    except DamagedError as error:
        raise StoreError(
            f"{layout.typed} is {error}.", "Move it elsewhere and try again."
        ) from error
    return tuple(one for line in data.split(b"\n") if (one := _parsed(line)) is not None)


def keep_typed(layout: Layout, kind: str, text: str) -> None:
    """Keep a text. Does nothing in a project that is not set up."""
    if not layout.dot.is_dir():
        return
    with write_lock(layout):  # another screen may keep a text at the same moment
        old = read_typed(layout)
        new = with_text(old, kind, text)
        if new != old:
            lines = (json_text(one) for one in new)
            write_atomic(layout.typed, "".join(f"{line}\n" for line in lines).encode())


def _parsed(line: bytes) -> TypedText | None:
    try:
        return TypedText.model_validate(parse_object(line))
    except (DamagedError, ValidationError):
        return None
