"""Reads commands with tree-sitter, as a second opinion besides our own parser.

Every known hole in guards like this one is a text that the guard reads differently from the shell, so a
command must be harmless in both readings. Where tree-sitter meets a syntax error, it has no opinion.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

from ralph_tui.guard.shell.nodes import Simple, Word
from ralph_tui.guard.shell.parser import read_word

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_LINE_AND_ESCAPE = re.compile(r"[^\s'\"`$()]*\s*\n\s*\\")
_CONTINUATION = re.compile(r"(?<!\\)((?:\\\\)*)\\\n")
"""A line continuation, whose backslash is not itself escaped."""
_KEYWORDS = frozenset(["!", "time", "coproc", "if", "while", "until", "{"])
"""Keywords that the grammar takes for a program after another keyword."""
_ARGUMENTS = frozenset(
    {"word", "string", "raw_string", "ansi_c_string", "translated_string", "concatenation",
     "number", "simple_expansion", "expansion", "command_substitution", "process_substitution",
     "command_name"}
)  # fmt: skip


def second_reading(text: str) -> Iterator[Simple]:
    """Yield the simple commands that tree-sitter's bash grammar finds, or none if there is a syntax error."""
    text = _CONTINUATION.sub(r"\1", text)  # the grammar reads a line continuation as a blank
    source = _without_astral(text).encode()
    root = _parser().parse(source).root_node
    if root.has_error:
        return
    original = text.encode()
    nodes = [root]
    while nodes:
        node = nodes.pop()
        if node.type == "command_substitution" and _has_escapes(
            source[node.start_byte : node.end_byte]
        ):
            continue
        nodes.extend(_substitutions(node) if _is_arithmetic(node, source) else node.children)
        if node.type == "command":
            words = tuple(_words(node, original))
            if [w.text for w in (*words[:1], *words[2:3])] == ["coproc", "{"]:
                continue  # a named group, which the grammar reads as one command
            if any(_LINE_AND_ESCAPE.match(w.raw) for w in words):
                continue  # the grammar joins a line that begins with a backslash to the word
            while words and words[0].text in _KEYWORDS:
                words = words[1:]
            if words:
                raw = original[node.start_byte : node.end_byte].decode(errors="replace")
                yield Simple(words=words, raw=raw)


def _is_arithmetic(node: "Node", source: bytes) -> bool:
    text = source[node.start_byte : node.end_byte]
    return node.type == "command_substitution" and text[:3] == b"$((" and text[-2:] == b"))"


def _substitutions(node: "Node") -> "Iterator[Node]":
    for child in node.children:
        if child.type == "command_substitution":
            yield child
        else:
            yield from _substitutions(child)


def _has_escapes(substitution: bytes) -> bool:
    return substitution.startswith(b"`") and b"\\" in substitution


def _words(node: "Node", source: bytes) -> Iterator[Word]:
    """Yield the words of a command; join adjacent nodes, because the grammar may split a word."""
    start = end = -1
    for child in [c for c in node.children if c.type in _ARGUMENTS]:
        if child.start_byte != end:
            if end >= 0:
                yield read_word(source[start:end].decode(errors="replace"))
            start = child.start_byte
        end = child.end_byte
    if end >= 0:
        yield read_word(source[start:end].decode(errors="replace"))


def _without_astral(text: str) -> str:
    """Replace astral characters, which crash the grammar's scanner, with two letters of two bytes each."""
    return text if text.isascii() else "".join("éé" if c > "\uffff" else c for c in text)


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
