"""The map in `lines` is held against the tests that are there."""

import ast
from functools import cache
from pathlib import Path

import pytest

from tests.faults.lines import API_ROWS, NOT_INJECTED, PROOFS

TESTS = Path(__file__).parents[1]


@cache
def names_in(path: Path) -> frozenset[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    functions = (ast.FunctionDef, ast.AsyncFunctionDef)
    return frozenset(node.name for node in tree.body if isinstance(node, functions))


@pytest.mark.parametrize("proofs", [*PROOFS.values(), *API_ROWS.values()], ids=str)
def test_every_proof_is_a_test(proofs: tuple[str, ...]) -> None:
    for proof in proofs:
        where, _, name = proof.partition("::")
        room, file = where.rsplit("/", 1)
        assert f"test_{name}" in names_in(TESTS / room / f"test_{file}.py"), proof


def test_every_line_is_injected_or_says_why_not() -> None:
    assert {*PROOFS, *NOT_INJECTED} == set(range(1, 75))
    assert all(PROOFS.values())
