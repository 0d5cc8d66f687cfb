"""Reads a command twice: by our own, complete parser, and by tree-sitter's as a second opinion.

Every known hole in guards like this one is a text that the guard reads differently from the shell.
So a command must be harmless in both readings. Where the grammar meets an error it has no opinion.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from ralph_tui.guard.shell.nodes import Script, Simple, Word
from ralph_tui.guard.shell.parser import read_shell, read_word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_LINE_AND_ESCAPE = re.compile(r"[^\s'\"`$()]*\s*\n\s*\\")
_CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
"""Not behind a backslash that is itself escaped."""
_NO_PROGRAMS = frozenset(["!", "time", "coproc", "if", "while", "until", "{"])
"""What the grammar takes for a program where it is behind another of them."""
_ARGUMENTS = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation",
     "number", "simple_expansion", "expansion", "command_substitution", "process_substitution",
     "command_name"}
)  # fmt: skip


def read_command(text: str, base: int = 0, depth: int = 0) -> Script:
    """Read what bash would run, by our own parser.

    Raises:
        UnreadableError: It cannot be read with certainty.
    """
    return read_shell(text, base, depth)


def second_reading(text: str) -> Iterator[Simple]:
    """Yield the simple commands that tree-sitter's bash grammar sees, none if it meets an error."""
    text = _CONTINUATION.sub(r"\1", text)  # the grammar takes a line continuation for a blank
    source = _two_bytes_each(text).encode()
    root = _parser().parse(source).root_node
    if root.has_error:
        return
    original = text.encode()
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.type == "command_substitution" and _escaped(
            source[node.start_byte : node.end_byte]
        ):
            continue
        nodes.extend(_substitutions(node) if _arithmetic(node, source) else node.children)
        if node.type == "command":
            words = tuple(_words(node, original))
            if [w.text for w in (*words[:1], *words[2:3])] == ["coproc", "{"]:
                continue  # a named group, of which it makes one command
            if any(_LINE_AND_ESCAPE.match(w.raw) for w in words):
                continue  # it takes a line that begins with a backslash for more of the word
            while words and words[0].text in _NO_PROGRAMS:
                words = words[1:]
            if words:
                raw = original[node.start_byte : node.end_byte].decode(errors="replace")
                yield Simple(words=words, raw=raw)


def _arithmetic(node: "Node", source: bytes) -> bool:
    """Tell whether this is `$((…))`, which the grammar sometimes takes for a subshell."""
    text = source[node.start_byte : node.end_byte]
    return node.type == "command_substitution" and text[:3] == b"$((" and text[-2:] == b"))"


def _substitutions(node: "Node") -> "Iterator[Node]":
    """List the substitutions in a piece of the text, not those nested in them."""
    for child in node.children:
        if child.type == "command_substitution":
            yield child
        else:
            yield from _substitutions(child)


def _escaped(substitution: bytes) -> bool:
    """Tell whether these are backticks with escapes, which the grammar does not take off."""
    return substitution.startswith(b"`") and b"\\" in substitution


def _words(node: "Node", source: bytes) -> Iterator[Word]:
    """Yield the words of a command; what touches is one word, though the grammar may cut it in two."""
    start = end = -1
    for child in [c for c in node.children if c.type in _ARGUMENTS]:
        if child.start_byte != end:
            if end >= 0:
                yield read_word(source[start:end].decode(errors="replace"))
            start = child.start_byte
        end = child.end_byte
    if end >= 0:
        yield read_word(source[start:end].decode(errors="replace"))


def _two_bytes_each(text: str) -> str:
    """Replace astral characters, which crash the grammar's scanner, by two letters of two bytes."""
    return text if text.isascii() else "".join("éé" if c > "\uffff" else c for c in text)


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
