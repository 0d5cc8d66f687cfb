"""What people typed in the text boxes, so that a box can recall it: `.ralph/typed.jsonl`, the oldest first.

One JSON object per line. Nothing depends on the file: a line that cannot be read is left out, and the next
write drops it.
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
"""What boxes are for; each recalls only its own kind."""

MOST = 100
"""Texts of each kind that are kept."""

LONGEST = 20_000
"""Characters of a text that is kept; a longer one is a pasted file."""


class TypedText(Record):
    """One text, and the kind of box it was typed in."""

    kind: str
    text: str


def with_text(texts: Sequence[TypedText], kind: str, text: str) -> tuple[TypedText, ...]:
    """Return the texts with a new one at the end, and at most `MOST` of its kind.

    A text that repeats the one before, is too long or holds a secret changes nothing.

    Args:
        texts: What is kept, the oldest first.
        kind: What the box is for.
        text: What was typed.
    """
    text = str(scrub(text)).strip()
    same = [one for one in texts if one.kind == kind]
    repeats = bool(same) and same[-1].text == text
    if not text or repeats or len(text) > LONGEST or redact(text) != text:
        return tuple(texts)
    dropped = len(same) + 1 - MOST
    kept = []
    for one in texts:
        if one.kind == kind and dropped > 0:
            dropped -= 1
        else:
            kept.append(one)
    return (*kept, TypedText(kind=kind, text=text))


def read_typed(layout: Layout) -> tuple[TypedText, ...]:
    """Return everything that is kept, the oldest first.

    Raises:
        StoreError: The file is there and cannot be read.
    """
    try:
        data = read_regular(layout.typed) or b""
    except DamagedError as error:
        raise StoreError(f"{layout.typed} is {error}.", "Move it away and try again.") from error
    return tuple(one for line in data.split(b"\n") if (one := _parsed(line)) is not None)


def keep_typed(layout: Layout, kind: str, text: str) -> None:
    """Keep a text; a project that is not set up keeps none.

    Args:
        layout: The project.
        kind: What the box is for.
        text: What was typed.

    Raises:
        StoreError: The file cannot be read or written.
    """
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
