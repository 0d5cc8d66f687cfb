"""Parse and write people's guidance: `.ralph/injections.json`, one JSON object per line.

A person may append a line with `echo`. Such a line needs neither id nor time.
"""

import hashlib
import os
from collections import Counter
from datetime import UTC, datetime
from typing import NamedTuple

from pydantic import ValidationError

from ralph_tui.domain.project_state import Injection
from ralph_tui.store.io.files import DamagedError
from ralph_tui.store.io.strict_json import decode, json_text, parse_object, scrub

EPOCH = datetime.fromtimestamp(0, UTC)
"""The time of a line without one, so that it counts as the oldest."""


class Line(NamedTuple):
    """One line of the file. An invalid line has no injection and is kept unchanged."""

    raw: bytes
    injection: Injection | None
    problem: str = ""


def new_injection(guidance: str, by: str, now: datetime) -> Injection:
    # Command arguments may contain bytes that are not text.
    given = {"guidance": scrub(guidance), "injected_by": scrub(by)}
    return Injection.model_validate({"timestamp": now, "id": os.urandom(6).hex()} | given)


def parse_lines(data: bytes) -> tuple[Line, ...]:
    seen: Counter[str] = Counter()
    return tuple(_parse_line(raw, seen) for raw in data.splitlines() if raw.strip(b"\xef\xbb\xbf "))


def _parse_line(raw: bytes, seen: Counter[str]) -> Line:
    try:
        value = parse_object(raw)
        injection = Injection.model_validate({"timestamp": EPOCH} | value)
    except DamagedError as error:
        return Line(raw, None, str(error))
    except ValidationError as error:
        problem = error.errors(include_url=False)[0]
        return Line(raw, None, f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}")
    if not injection.id:
        injection = injection.model_copy(update={"id": _derived_id(raw, seen)})
    return Line(raw, injection)


def _derived_id(raw: bytes, seen: Counter[str]) -> str:
    digest = hashlib.sha256(raw.strip()).hexdigest()[:12]
    seen[digest] += 1
    return digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"


def render(old: tuple[Line, ...], pending: tuple[Injection, ...]) -> bytes:
    """Return the file's content with exactly `pending` in it. Invalid lines stay in place."""
    wanted = {injection.id: injection for injection in pending}
    lines: list[bytes] = []
    for line in old:
        if line.injection is None:
            lines.append(line.raw)
        elif (kept := wanted.pop(line.injection.id, None)) is not None:
            # Always with its id: a derived id may change when an earlier line is removed.
            lines.append(json_text(kept).encode())
    lines.extend(json_text(injection).encode() for injection in wanted.values())
    return b"".join(line + b"\n" for line in lines)


def readable(text: bytes) -> str:
    try:
        return decode(text)[:60]
    except DamagedError:
        return repr(text[:60])
