"""Reads JSON with the place of every value, so that an error names its line and one value can be replaced in the text."""

import json
import re
from bisect import bisect_left
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, NoReturn

from pydantic import JsonValue

from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.formats import Edit, InteropError, Source

MAX_VALUES = 1_000_000
"""More than a file of 5,000 tasks has. Each value costs memory."""

_REPAIR = "Restore the file or correct this place. To check it, run `python -m json.tool FILE`."
_CONFLICT = re.compile(r"^(?:<{7}|>{7}) ", re.MULTILINE)
_BETWEEN = re.compile(r"[\s:,]*")


class JsonText:
    """A JSON text, or a text with one JSON object on each line.

    The standard library judges the text; a second pass finds the places. Numbers with a point stay as they are
    written, because 1.10 and 1.1 are different ids.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.used: set[str] = set()
        """The keys that a getter was asked for."""
        self._count = 0
        self._breaks = [found.start() for found in re.finditer("\n", source.text)]
        self.values = [self._value(start, end) for start, end in _parts(source.text)]

    @property
    def root(self) -> "JsonObject":
        root = self.values[0]
        if not isinstance(root, JsonObject):
            raise self.error(0, "there are no tasks", "Choose another format with `--as`.")
        return root

    def line(self, at: int) -> int:
        return bisect_left(self._breaks, at) + 1

    def error(self, at: int, what: str, hint: str = "") -> InteropError:
        return InteropError(self.source.name, self.line(at), what, hint)

    def _value(self, start: int, end: int) -> Any:
        text = self.source.text[start:end]
        try:
            _DECODER.decode(text)
            return self._located(start + len(text) - len(text.lstrip()))[0]
        except json.JSONDecodeError as error:
            if conflict := _CONFLICT.search(self.source.text):
                what, hint = "a merge conflict", "Resolve it, then import again."
                raise self.error(conflict.start(), what, hint) from error
            if not text[error.pos :].strip() or error.msg.startswith("Unterminated"):
                raise self.error(
                    start + len(text.rstrip()), "the file ends early", _REPAIR
                ) from error
            what = f"it is not valid JSON: {error.msg[:1].lower()}{error.msg[1:]}"
            raise self.error(start + error.pos, what.removesuffix(" at"), _REPAIR) from error
        except RecursionError as error:
            raise self.error(start, "it is nested too deeply", _REPAIR) from error
        except ValueError as error:  # a constant such as NaN, or a number of thousands of digits
            at = start + max(text.find(str(error).split()[0]), 0)
            raise self.error(at, f"it is not valid JSON: {error}", _REPAIR) from error

    def _located(self, at: int) -> tuple[Any, int]:
        """Read the value at a place of a valid text; return it with its end."""
        text = self.source.text
        self._count += 1
        if self._count > MAX_VALUES:
            what = f"more than {MAX_VALUES:,} values"
            raise self.error(at, what, "Give the path of a plan file.")
        if text[at] not in "{[":
            value, end = _DECODER.raw_decode(text, at)
            return (_without_surrogates(value) if isinstance(value, str) else value), end
        found = JsonObject(self, at) if text[at] == "{" else JsonList(at)
        at = _next(text, at + 1)
        while text[at] not in "}]":
            if isinstance(found, JsonObject):
                raw, end = _DECODER.raw_decode(text, at)
                if (key := _without_surrogates(raw)) in found:
                    what = f"the key {one_line(key, 60)!r} occurs twice"
                    raise self.error(at, what, "Remove one of the two.")
                at = _next(text, end)
                found[key], end = self._located(at)
                found.places[key] = (at, end)
            else:
                value, end = self._located(at)
                found.append(value)
                found.places.append((at, end))
            at = _next(text, end)
        return found, at + 1


class JsonList(list[Any]):
    """A JSON list, with the start of each item."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self.start = start
        self.places: list[tuple[int, int]] = []


class JsonObject(dict[str, Any]):
    """A JSON object. The getters raise an `InteropError` with the line if a value is not of the expected kind."""

    def __init__(self, document: JsonText, start: int) -> None:
        super().__init__()
        self.document, self.start = document, start
        self.places: dict[str, tuple[int, int]] = {}

    @property
    def line(self) -> int:
        return self.document.line(self.start)

    def error(self, what: str, hint: str = "", key: str = "") -> InteropError:
        """Return an error at this object, or at the value of a key."""
        return self.document.error(self.places.get(key, (self.start, 0))[0], what, hint)

    def text(self, *keys: str) -> str:
        """Return the first of these members that is not blank; a number as it is written."""
        self.document.used.update(keys)
        found = (self.scalar(key, self.get(key)) for key in keys)
        return next((text for text in found if text.strip()), "")

    def required(self, key: str, what: str) -> str:
        if not (found := self.text(key)).strip():
            raise self.error(f"{what} has no {key!r}", "Give it a unique ID.")
        return found

    def flag(self, key: str) -> bool:
        """Return a member that is true or false; false if it is absent or null."""
        self.document.used.add(key)
        found = self.get(key)
        if not isinstance(found, bool | None):
            raise self.error(f"{quoted(key)} is {_kind(found)}, not true or false", key=key)
        return bool(found)

    def objects(self, key: str, *, required: bool = False) -> Sequence["JsonObject"]:
        """Return a member that is a list of objects; empty if it is absent or null."""
        self.document.used.add(key)
        if (found := self.get(key)) is None:
            if required:
                raise self.error(f"there is no list {key!r}", "Choose another format with `--as`.")
            return ()
        if not isinstance(found, JsonList):
            raise self.error(f"{quoted(key)} is {_kind(found)}, not a list", key=key)
        for item, (start, _) in zip(found, found.places, strict=True):
            if not isinstance(item, JsonObject):
                what = f"an entry of {quoted(key)} is {_kind(item)}, not an object"
                raise self.document.error(start, what)
        return found

    def items_of(self, *keys: str) -> list[tuple[Any, int]]:
        """Return the items of these members with their lines; a single value counts as a list."""
        self.document.used.update(keys)
        found: list[tuple[Any, int]] = []
        for key in keys:
            value = self.get(key)
            if isinstance(value, JsonList):
                starts = [start for start, _ in value.places]
                found += zip(value, map(self.document.line, starts), strict=True)
            elif value is not None:
                found.append((value, self.document.line(self.places[key][0])))
        return found

    def texts(self, *keys: str) -> dict[str, int]:
        """Return the distinct texts of the first of these members that is there, each with its line."""
        self.document.used.update(keys)
        key = next((key for key in keys if self.get(key) is not None), "")
        texts: dict[str, int] = {}
        for item, line in self.items_of(key) if key else ():
            if (text := self.scalar(key, item)).strip():
                texts.setdefault(text, line)
        return texts

    def with_value(self, key: str, value: JsonValue) -> Edit:
        """Return the edit of the text that sets a member."""
        if key in self.places:
            return (*self.places[key], literal(value))
        text = self.document.source.text
        if not self.places:
            return self.start + 1, self.start + 1, f"{literal(key)}: {literal(value)}"
        first, end = min(self.places.values())[0], max(end for _, end in self.places.values())
        lead = re.match(r"\s*", text[self.start + 1 : first])
        gap = " " if text[first - 1].isspace() else ""
        return end, end, f",{(lead and lead[0]) or gap}{literal(key)}:{gap}{literal(value)}"

    def scalar(self, key: str, value: Any) -> str:
        if value is None:
            return ""
        if isinstance(value, str):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        raise self.error(f"{quoted(key)} is {_kind(value)}, not text", key=key)


def pretty(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def literal(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


def quoted(key: str) -> str:
    return repr(one_line(key, 60))


def _parts(text: str) -> list[tuple[int, int]]:
    """Return the start and end of each JSON value: the whole text, or every line if the first one is a value."""
    with suppress(RecursionError, ValueError):
        try:
            json.loads(text)
        except json.JSONDecodeError as error:
            if error.msg == "Extra data" and "\n" not in text[: error.pos].strip():
                return [(m.start(), m.end()) for m in re.finditer(r"[^\n]*\S[^\n]*", text)]
    return [(0, len(text))]


def _next(text: str, at: int) -> int:
    between = _BETWEEN.match(text, at)
    return between.end() if between else at


def _without_surrogates(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


def _not_json(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(parse_constant=_not_json, parse_float=str)


def _kind(value: Any) -> str:
    kinds = ((dict, "an object"), (list, "a list"), (bool, "true or false"), (str, "text"))
    found = next((name for kind, name in kinds if isinstance(value, kind)), "a number")
    return "null" if value is None else found
