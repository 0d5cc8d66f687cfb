"""Reads a JSON text with plain error messages, and edits it one value at a time."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from pydantic import JsonValue

from ralph_tui.interop.formats import InteropError, Source
from ralph_tui.interop.json_reader import MAX_DEPTH, JsonReader, Node, quoted


class JsonDocument:
    """A JSON text, or a text with one JSON value on each line.

    The getters raise an `InteropError` with the line if a value is not of the expected kind.
    """

    def __init__(self, source: Source, *, lines: bool = False) -> None:
        """Read the text.

        Args:
            lines: Whether there is one value on each line that is not blank.
        """
        self._text = source.text
        self._reader = JsonReader(source)
        self.roots = tuple(self._reader.lines() if lines else [self._reader.whole()])

    @property
    def root(self) -> Node:
        return self.roots[0]

    def line(self, node: Node) -> int:
        return self._reader.line(node.start)

    def error(self, node: Node, what: str, hint: str = "") -> InteropError:
        return self._reader.error(node.start, what, hint)

    def text(self, node: Node, key: str) -> str:
        found = node.get(key)
        return "" if found is None else self.scalar_text(found, key)

    def scalar_text(self, node: Node, name: str) -> str:
        """Return a string, or a number as written, because 1.10 and 1.1 are different ids."""
        if isinstance(node.scalar, str):
            return node.scalar
        if isinstance(node.scalar, int | float) and not isinstance(node.scalar, bool):
            return self._text[node.start : node.end]
        raise self.error(node, f"{quoted(name)} is {_kind(node)}, not text")

    def flag(self, node: Node, key: str) -> bool:
        """Return a member that is true or false; false if it is absent or null."""
        found = node.get(key)
        if found is None:
            return False
        if not isinstance(found.scalar, bool):
            raise self.error(found, f"{quoted(key)} is {_kind(found)}, not true or false")
        return found.scalar

    def objects(self, node: Node, key: str) -> Sequence[Node]:
        """Return a member that is a list of objects; empty if it is absent or null."""
        found = self.listed(node, key)
        for item in found:
            if item.members is None:
                raise self.error(item, f"an entry of {quoted(key)} is {_kind(item)}, not an object")
        return found

    def listed(self, node: Node, key: str) -> Sequence[Node]:
        """Return a member that is a list; empty if it is absent or null."""
        found = node.get(key)
        if found is None:
            return ()
        if found.items is None:
            raise self.error(found, f"{quoted(key)} is {_kind(found)}, not a list")
        return found.items

    def texts(self, node: Node, key: str) -> Mapping[str, int]:
        """Return a member that is a list of strings or numbers, each with its line; a single one counts as a list."""
        found = node.get(key)
        if found is not None and found.items is None and found.members is None:
            text = self.scalar_text(found, key)
            return {text: self.line(found)} if text.strip() else {}
        texts: dict[str, int] = {}
        for item in self.listed(node, key):
            texts.setdefault(self.scalar_text(item, f"an entry of {key}"), self.line(item))
        return texts

    def with_edits(self, edits: Iterable[tuple[int, int, str]]) -> str:
        """Return the text with the edits made, each given as start, end and new text."""
        text, at, parts = self._text, 0, list[str]()
        for start, end, new in sorted(edits):
            parts += (text[at:start], new)
            at = end
        return "".join((*parts, text[at:]))

    def edit(self, node: Node, key: str, value: JsonValue) -> tuple[int, int, str]:
        """Return the edit that sets a member of an object, as start, end and new text."""
        found = (node.members or {}).get(key)
        if found is None:
            return self._addition(node, key, value)
        return found.start, found.end, literal(value)

    def _addition(self, node: Node, key: str, value: JsonValue) -> tuple[int, int, str]:
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
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def literal(value: JsonValue) -> str:
    return json.dumps(value, ensure_ascii=False)


# The text may be cut in the middle of a string or an escape. The pattern must match such a string, too, or else
# matching would start again at each quote inside it.
_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z)|[{}\[\]:]', re.DOTALL)
_SHALLOW = 6


@lru_cache(maxsize=4)
def outline(head: str) -> frozenset[str]:
    """Return the paths of the keys, such as `tasks[].id`, in the start of a JSON text, which may be cut anywhere.

    Empty for a text that does not start like JSON. The values of a text with one on each line are treated as one.
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
