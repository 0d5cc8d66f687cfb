"""Reads strict JSON and records the position of each value.

A duplicate key, NaN, text after the value or deep nesting is an error with its line. The reader keeps its own
stack, so that hostile nesting cannot exhaust the recursion limit. Neither the standard library nor any
maintained package gives positions.
"""

import json
import math
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

from pydantic import JsonValue

from ralph_tui.domain.sanitize import one_line
from ralph_tui.interop.formats import InteropError, Source

MAX_DEPTH = 100
"""Deeper than any plan. A file that is nested deeper is broken or hostile."""

MAX_VALUES = 1_000_000
"""More than a file of 5,000 tasks has. Each value costs memory."""

_REPAIR = "Restore the file or correct this place. To check it, run `python -m json.tool FILE`."


@dataclass(frozen=True, slots=True)
class Node:
    """One value of a document with its position.

    Attributes:
        start: The offset of its first character.
        end: The offset after its last character.
        scalar: The value of a string, number or boolean; None for null, an object or a list.
        members: The values of an object by key; None for other kinds.
        items: The values of a list; None for other kinds.
    """

    start: int
    end: int
    scalar: str | int | float | bool | None = None
    members: Mapping[str, "Node"] | None = None
    items: Sequence["Node"] | None = None

    def get(self, key: str) -> "Node | None":
        found = self.members.get(key) if self.members is not None else None
        return None if found is None or found.is_null else found

    @property
    def is_null(self) -> bool:
        return self.scalar is None and self.members is None and self.items is None

    @property
    def plain(self) -> JsonValue:
        """The value without positions."""
        if self.members is not None:
            return {key: node.plain for key, node in self.members.items()}
        if self.items is not None:
            return [node.plain for node in self.items]
        return self.scalar


class JsonReader:
    """Reads the JSON values of one text."""

    def __init__(self, source: Source) -> None:
        self._source, self._text = source, source.text
        self._breaks = [found.start() for found in re.finditer("\n", source.text)]
        self._at = self._limit = 0
        self._open: list[_Container] = []
        self._values = 0
        if (nul := source.text.find("\0")) >= 0:
            raise self.error(nul, "a NUL byte in the text", "The file is not text. Restore it.")

    def whole(self) -> Node:
        return self._read(0, len(self._text))

    def lines(self) -> Iterator[Node]:
        """Read a text with a value on each line that is not blank."""
        begin = 0
        for end in (*self._breaks, len(self._text)):
            if self._text[begin:end].strip(" \t\r"):
                yield self._read(begin, end)
            begin = end + 1

    def line(self, at: int) -> int:
        return bisect_left(self._breaks, at) + 1

    def error(self, at: int, what: str, hint: str) -> InteropError:
        return InteropError(self._source.name, self.line(at), what, hint)

    def _read(self, begin: int, end: int) -> Node:
        self._at, self._limit, self._open = begin, end, []
        node: Node | None = None
        while node is None:
            node = self._start_value()
            if node is not None:
                node = self._place_value(node)
        self._skip()
        if self._at < end:
            raise self._syntax(self._at, "more text after the end of the JSON value")
        return node

    def _start_value(self) -> Node | None:
        char = self._next()
        self._values += 1
        if self._values > MAX_VALUES:
            what = f"more than {MAX_VALUES:,} values"
            raise self.error(self._at, what, "Give the path of a plan file.")
        if char not in "{[":
            start = self._at
            value = self._scalar()
            return Node(
                start, self._at, _without_surrogates(value) if isinstance(value, str) else value
            )
        if len(self._open) >= MAX_DEPTH:
            raise self.error(self._at, f"nested more than {MAX_DEPTH} levels deep", _REPAIR)
        self._open.append(_Container(self._at, is_object=char == "{"))
        self._at += 1
        if self._next() == self._open[-1].closer:
            return self._close()
        if self._open[-1].is_object:
            self._key()
        return None

    def _place_value(self, node: Node) -> Node | None:
        while self._open:
            top = self._open[-1]
            top.take(node)
            char = self._next()
            if char == top.closer:
                node = self._close()
                continue
            if char != ",":
                raise self._syntax(self._at, f"a comma or {top.closer} is missing")
            comma = self._at
            self._at += 1
            if self._next() in "]}":
                what = f"an extra comma before {self._text[self._at]}"
                raise self.error(comma, what, _REPAIR)
            if top.is_object:
                self._key()
            return None
        return node

    def _close(self) -> Node:
        self._at += 1
        return self._open.pop().closed(self._at)

    def _key(self) -> None:
        top, start = self._open[-1], self._at
        if self._next() != '"':
            raise self._syntax(self._at, "a key in double quotes is expected")
        key = _without_surrogates(str(self._scalar()))
        if key in top.keys:
            first = self.line(top.keys[key])
            what = f"the key {quoted(key)} occurs twice, first in line {first}"
            raise self.error(start, what, "Remove one of the two.")
        if self._next() != ":":
            raise self._syntax(self._at, "a colon is missing after a key")
        self._at += 1
        top.key = key
        top.keys[key] = start

    def _scalar(self) -> Any:
        at = self._at
        try:
            # The text does not start with a bracket here, so the decoder does not recurse.
            value, self._at = _DECODER.raw_decode(self._text, at)
        except json.JSONDecodeError as error:
            raise self._decoding_error(error) from error
        except ValueError as error:
            raise self.error(at, str(error), _REPAIR) from error
        if self._at > self._limit:
            raise self._truncated()
        return value

    def _decoding_error(self, error: json.JSONDecodeError) -> InteropError:
        if error.msg.startswith("Unterminated string"):
            return self._syntax(error.pos, "the file ends in the middle of a string")
        if error.msg == "Expecting value":
            word = one_line(self._text[self._at : self._at + 20].split("\n")[0], 20)
            return self._syntax(self._at, f"{word!r} is not a JSON value")
        return self._syntax(error.pos, _reason(error.msg))

    def _next(self) -> str:
        self._skip()
        if self._at >= self._limit:
            raise self._truncated()
        return self._text[self._at]

    def _skip(self) -> None:
        found = _SPACE.match(self._text, self._at)
        assert found is not None
        self._at = found.end()

    def _truncated(self) -> InteropError:
        if not self._open:
            return self._syntax(self._limit, "a JSON value is missing")
        top = self._open[-1]
        what = f"{'an object' if top.is_object else 'a list'} that begins at line {self.line(top.start)}"
        end = len(self._text[: self._limit].rstrip())
        return self._syntax(max(0, end - 1), f"the file ends early, because {what} is not closed")

    def _syntax(self, at: int, what: str) -> InteropError:
        conflict = re.search(r"^(?:<{7}|>{7}) ", self._text, re.MULTILINE)
        if conflict:
            return self.error(
                conflict.start(), "a merge conflict", "Resolve it, then import again."
            )
        return self.error(at, what, _REPAIR)


class _Container:
    """An object or a list that is being read."""

    __slots__ = ("closer", "is_object", "items", "key", "keys", "members", "start")

    def __init__(self, start: int, *, is_object: bool) -> None:
        self.start, self.is_object = start, is_object
        self.closer = "}" if is_object else "]"
        self.key = ""
        self.keys: dict[str, int] = {}
        self.members: dict[str, Node] = {}
        self.items: list[Node] = []

    def take(self, node: Node) -> None:
        if self.is_object:
            self.members[self.key] = node
        else:
            self.items.append(node)

    def closed(self, end: int) -> Node:
        if self.is_object:
            return Node(self.start, end, members=self.members)
        return Node(self.start, end, items=self.items)


_SPACE = re.compile(r"[ \t\r\n]*")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:40]} is not a finite number")
    return number


def _whole_number(text: str) -> int:
    if len(text) > 300:
        raise ValueError(f"a number of {len(text):,} digits")
    return int(text)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


_DECODER = json.JSONDecoder(
    parse_float=_finite, parse_int=_whole_number, parse_constant=_no_constant
)


def _reason(message: str) -> str:
    if message.startswith("Invalid control character"):
        return "a line end or a control character inside a string"
    return one_line(message[:1].lower() + message[1:], 80).removesuffix(" at")


def _without_surrogates(text: str) -> str:
    return re.sub("[\ud800-\udfff]", "\N{REPLACEMENT CHARACTER}", text)


def quoted(key: str) -> str:
    return repr(one_line(key, 60))
