"""Read and write strict JSON: reading refuses anything ambiguous, and writing never fails on invalid text."""

import json
import math
import re
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, NoReturn

from pydantic import JsonValue

from ralph_tui.domain.base import Record
from ralph_tui.store.io.files import DamagedError

MAX_DEPTH = 100
"""The maximum nesting, far deeper than any valid document, because parsers and printers recurse."""

_SURROGATES = "[\ud800-\udfff]"
_SURROGATE_ESCAPE = re.compile(r"\\u[dD][89a-fA-F]")
_CONFLICT = r"^(?:<{7}|={7}|>{7})(?: |$)"


def parse(data: bytes) -> JsonValue:
    """Return the value in a JSON file. A byte-order mark and any line endings are accepted."""
    text = decode(data)
    try:
        value: JsonValue = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise DamagedError(_syntax_reason(text, error)) from error
    except RecursionError as error:
        raise DamagedError("nested too deeply") from error
    except ValueError as error:
        raise DamagedError(str(error)) from error
    pending = [(value, 1)]
    while pending:
        item, depth = pending.pop()
        if depth > MAX_DEPTH:
            raise DamagedError(f"nested more than {MAX_DEPTH} levels deep")
        members: Iterable[JsonValue] = ()
        if isinstance(item, dict):
            members = item.values()
        elif isinstance(item, list):
            members = item
        pending.extend((m, depth + 1) for m in members if isinstance(m, dict | list))
    return scrub(value) if _SURROGATE_ESCAPE.search(text) else value


def parse_object(data: bytes) -> dict[str, JsonValue]:
    value = parse(data)
    if not isinstance(value, dict):
        raise DamagedError("not a JSON object")
    return value


def is_object_lines(data: bytes) -> bool:
    """Return whether the first two lines of a text are JSON objects."""
    lines = [line for line in data.splitlines() if line.strip()][:2]
    try:
        return len([parse_object(line) for line in lines]) > 1
    except DamagedError:
        return False


def decode(data: bytes) -> str:
    encoding = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise DamagedError(f"not valid {error.encoding} at byte {error.start}") from error


def scrub(value: JsonValue) -> JsonValue:
    """Return the value with lone surrogates replaced, because UTF-8 cannot encode them."""
    if isinstance(value, str):
        return re.sub(_SURROGATES, "\N{REPLACEMENT CHARACTER}", value)
    if isinstance(value, dict):
        return {str(scrub(key)): scrub(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [scrub(item) for item in value]
    return value


def line_of(text: str, path: Sequence[str | int]) -> int:
    """Return the line of the value at `path`, or of its deepest existing ancestor."""
    position = 0
    for part in path:
        found = _child(text, position, part)
        if found is None:
            break
        position = found
    return text.count("\n", 0, _skip_space(text, position)) + 1


def _child(text: str, position: int, part: str | int) -> int | None:
    position = _skip_space(text, position)
    if text[position : position + 1] not in ("{", "["):
        return None
    is_object = text[position] == "{"
    position, index = position + 1, 0
    while (position := _skip_space(text, position)) < len(text) and text[position] not in "]}":
        key: str | int = index
        if is_object:
            key, position = _DECODER.raw_decode(text, position)
            position = _skip_space(text, _skip_space(text, position) + 1)
        if key == part:
            return position
        _, position = _DECODER.raw_decode(text, position)
        position = _skip_space(text, position)
        position += text[position : position + 1] == ","
        index += 1
    return None


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _unique_keys(pairs: list[tuple[str, JsonValue]]) -> dict[str, JsonValue]:
    made = dict(pairs)
    if len(made) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in made if keys.count(key) > 1)
        raise ValueError(f"the key {twice[:80]!r} occurs twice")
    return made


def _finite_number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a finite number")
    return number


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number")


_DECODER = json.JSONDecoder(
    object_pairs_hook=_unique_keys, parse_float=_finite_number, parse_constant=_refuse_constant
)


def _syntax_reason(text: str, error: json.JSONDecodeError) -> str:
    if not text.strip("\0 \t\r\n"):
        return "empty"
    if conflict := re.search(_CONFLICT, text, re.MULTILINE):
        return f"a merge conflict at line {text.count(chr(10), 0, conflict.start()) + 1}"
    if (comma := _trailing_comma(text, error.pos)) is not None:
        line = text.count("\n", 0, comma) + 1
        return f"an extra comma at line {line} column {comma - text.rfind(chr(10), 0, comma)}"
    return f"{error.msg} at line {error.lineno} column {error.colno}"


def _trailing_comma(text: str, position: int) -> int | None:
    before = text[: position + 1].rstrip(" \t\r\n]}")
    comma = len(before) - 1
    closes = text[_skip_space(text, comma + 1) :][:1] in ("]", "}")
    return comma if before.endswith(",") and closes else None


def json_text(value: Record, *, indent: int | None = None) -> str:
    """Return a model as JSON, with fields in the model's order and unknown fields last."""
    try:
        # No warnings: the caller finds a value of the wrong type by reading the text back.
        return value.model_dump_json(indent=indent, warnings="none")
    except ValueError:  # a lone surrogate, which UTF-8 cannot encode
        plain: Any = value.model_dump(mode="python", warnings="none")
        return json.dumps(scrub(plain), ensure_ascii=False, indent=indent, default=_as_text)


def _as_text(value: object) -> str:
    return value.isoformat() if isinstance(value, datetime) else str(value)
