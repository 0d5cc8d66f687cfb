"""No hint leads to a dead end: each command that the product names in a sentence is one that ralph takes."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

import ralph_tui
from tests.cli.test_documents import parse

NAMED = re.compile(r"`(ralph [a-z-][^`\n]*)`|\b[Uu]se (ralph [a-z][^.`\n]*?)\.?$")
"""A command in a code span, or one that a sentence of the screen ends with."""

PRODUCT = Path(ralph_tui.__path__[0])


def texts(tree: ast.AST) -> Iterator[str]:
    """Yield what the code says, with 1 in place of each value; docstrings are for readers of the code."""
    for node in ast.walk(tree):
        for child in ast.iter_child_nodes(node):
            if isinstance(node, ast.Expr | ast.JoinedStr):
                continue
            if isinstance(child, ast.Constant) and isinstance(child.value, str):
                yield child.value
            elif isinstance(child, ast.JoinedStr):
                parts = (p.value if isinstance(p, ast.Constant) else "1" for p in child.values)
                yield "".join(map(str, parts))


def hints() -> list[str]:
    found = set()
    for path in PRODUCT.rglob("*.py"):
        for text in texts(ast.parse(path.read_text(encoding="utf-8"))):
            for span, ending in NAMED.findall(text):
                found.add(span or ending)
    return sorted(found)


def test_each_command_in_a_hint_is_one() -> None:
    named = hints()
    assert {"ralph tasks", "ralph import FILE", "ralph status"} <= set(named)
    for line in named:
        parse(line)
    with pytest.raises(AssertionError):
        parse("ralph tsaks")
