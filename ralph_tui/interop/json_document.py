"""A JSON text as values with places: read in words a person understands, changed one value at a time."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from pydantic import JsonValue

from ralph_tui.interop.formats import InteropError, Source
from ralph_tui.interop.json_reader import MAX_DEPTH, JsonReader, Node, quoted


class JsonDocument:
    """A text in JSON, or with one JSON value on each line.

    The getters raise an `InteropError` that names the line when a value is of another kind than expected.
    """

    def __init__(self, source: Source, *, lines: bool = False) -> None:
        """Read the text.

        Args:
            source: The file.
            lines: One value on each line that is not blank.

        Raises:
            InteropError: It is not JSON, with the line and the reason.
        """
        self._text = source.text
        self._reader = JsonReader(source)
        self.roots = tuple(self._reader.lines() if lines else [self._reader.whole()])

    @property
    def root(self) -> Node:
        """The value of a document that has one."""
        return self.roots[0]

    def line(self, node: Node) -> int:
        """Return the line in which a value begins, from 1."""
        return self._reader.line(node.start)

    def wrong(self, node: Node, what: str, hint: str = "") -> InteropError:
        """Return the error about a value."""
        return self._reader.error(node.start, what, hint)

    def text(self, node: Node, key: str) -> str:
        """Return a member that is text or a number, as text; empty when it is absent or null."""
        found = node.get(key)
        return "" if found is None else self.scalar_text(found, key)

    def scalar_text(self, node: Node, name: str) -> str:
        """Return a string, or a number as it is written: 1.10 is another id than 1.1."""
        if isinstance(node.scalar, str):
            return node.scalar
        if isinstance(node.scalar, int | float) and not isinstance(node.scalar, bool):
            return self._text[node.start : node.end]
        raise self.wrong(node, f"{quoted(name)} is {_kind(node)}, not text")

    def flag(self, node: Node, key: str) -> bool:
        """Return a member that is true or false; false when it is absent or null."""
        found = node.get(key)
        if found is None:
            return False
        if not isinstance(found.scalar, bool):
            raise self.wrong(found, f"{quoted(key)} is {_kind(found)}, not true or false")
        return found.scalar

    def objects(self, node: Node, key: str) -> Sequence[Node]:
        """Return a member that is a list of objects; empty when it is absent or null."""
        found = self.listed(node, key)
        for item in found:
            if item.members is None:
                raise self.wrong(item, f"an entry of {quoted(key)} is {_kind(item)}, not an object")
        return found

    def listed(self, node: Node, key: str) -> Sequence[Node]:
        """Return a member that is a list; empty when it is absent or null."""
        found = node.get(key)
        if found is None:
            return ()
        if found.items is None:
            raise self.wrong(found, f"{quoted(key)} is {_kind(found)}, not a list")
        return found.items

    def texts(self, node: Node, key: str) -> Mapping[str, int]:
        """Return a member that is a list of texts or numbers, each with its line; one text counts as a list."""
        found = node.get(key)
        if found is not None and found.items is None and found.members is None:
            text = self.scalar_text(found, key)
            return {text: self.line(found)} if text.strip() else {}
        texts: dict[str, int] = {}
        for item in self.listed(node, key):
            texts.setdefault(self.scalar_text(item, f"an entry of {key}"), self.line(item))
        return texts

    def spliced(self, pieces: Iterable[tuple[int, int, str]]) -> str:
        """Return the text with pieces replaced, each given as start, end and new text."""
        text, at, parts = self._text, 0, list[str]()
        for start, end, new in sorted(pieces):
            parts += (text[at:start], new)
            at = end
        return "".join((*parts, text[at:]))

    def set(self, node: Node, key: str, value: JsonValue) -> tuple[int, int, str]:
        """Return the piece that gives a member of an object another value, or adds it."""
        found = (node.members or {}).get(key)
        if found is None:
            return self._added(node, key, value)
        return found.start, found.end, literal(value)

    def _added(self, node: Node, key: str, value: JsonValue) -> tuple[int, int, str]:
        """Return the piece that adds a member at the end of an object, spaced like its others."""
        text, members = self._text, node.members or {}
        if not members:
            return node.start + 1, node.start + 1, f"{literal(key)}: {literal(value)}"
        space = re.compile(r"[ \t\r\n]*")
        before = space.match(text, node.start + 1)
        first = next(iter(members.values()))
        colon = re.search(r":([ \t\r\n]*)$", text[node.start : first.start])
        assert before is not None
        gap = colon[1] if colon else " "
        end = max(member.end for member in members.values())
        lead = before[0] or (" " if gap else "")
        return end, end, f",{lead}{literal(key)}:{gap}{literal(value)}"


def pretty(value: JsonValue) -> str:
    """Return a value as the text of a new file."""
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def literal(value: JsonValue) -> str:
    """Return a value as JSON, with every letter as itself."""
    return json.dumps(value, ensure_ascii=False)


# The end may be in the middle of a string, even of an escape; a string that did not match would be tried again
# from each quote in it.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\]:]', re.DOTALL)
_SHALLOW = 6


@lru_cache(maxsize=4)
def outline(head: str) -> frozenset[str]:
    """Return the paths of the keys in the beginning of a JSON text, such as `tasks[].id`; it may be cut anywhere.

    Empty for text that does not begin like JSON. Values on lines of their own count as one.
    """
    if head.lstrip()[:1] not in {"{", "["}:
        return frozenset()
    paths: set[str] = set()
    open_: list[str] = []
    last = key = ""
    for found in _TOKEN.finditer(head):
        sign = found[0]
        if sign == ":":
            key = last
            path = ".".join(filter(None, (open_[-1] if open_ else "", key)))
            if len(open_) <= _SHALLOW:
                paths.add(path[:200])
        elif sign in "{[":
            if len(open_) > MAX_DEPTH:
                break
            path = ".".join(filter(None, (open_[-1] if open_ else "", key)))[:200]
            open_.append(path + "[]" if sign == "[" else path)
            key = ""
        elif sign in "}]":
            key = ""
            if open_:
                open_.pop()
        else:
            last = sign[1:-1]
    return frozenset(paths)


def _kind(node: Node) -> str:
    if node.members is not None:
        return "an object"
    if node.items is not None:
        return "a list"
    if node.scalar is None:
        return "null"
    if isinstance(node.scalar, bool):
        return "true or false"
    return "text" if isinstance(node.scalar, str) else "a number"
