"""Find the tests that stand inside sources, and put them back as they were."""

import ast
import contextlib
import itertools
import os
import re
import sys
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator
from typing import NamedTuple

FRAMEWORK = re.compile(
    r"""\b(?:_pytest|pytest(?:_\w+)?|pluggy|unittest|nose2?|doctest|conftest)\b|['"](?:node:test|vitest|@jest/[\w-]+|mocha|ava|tap)['"]"""
    r"""|\b(?:RSpec|Minitest|PHPUnit|ExUnit|OUnit\d?|Alcotest|luassert|tcltest|NUnit|Xunit)\b|\bTest::(?:More|Simple|Builder)\b"""
    r"""|org\.(?:junit|test[n]g)|^\s*"testing"|\b__main__\._pytest"""
    r"""|(?:\bmacro_rules!|\bas)\s+(?:debug_)?(?:assert(?:_eq|_ne)?|panic)\b""",
    re.MULTILINE,
)
"""The names under which sources reach test frameworks."""


_OUTSIDE = re.compile(
    r"\b(?:open|exec|eval|__import__)\(|\b(?:subprocess|os|runpy|importlib|pathlib|urllib|http|socket|ctypes)\b"
)
"""How Python code reaches what is in no module that it imports."""


def has_own_tests(text: str, *, alone: bool = False) -> bool:
    """Return whether Python code has tests, which cannot be of other modules; `alone` also excludes other programs and files."""
    if "assert" not in text or (alone and _OUTSIDE.search(text)):
        return False
    with contextlib.suppress(SyntaxError, ValueError):
        nodes = list(ast.walk(ast.parse(text)))
        named = [one.name for node in nodes if isinstance(node, ast.Import) for one in node.names]
        named += [f"{'.' * n.level}{n.module}" for n in nodes if isinstance(n, ast.ImportFrom)]
        known = {name.partition(".")[0] for name in named} <= sys.stdlib_module_names
        return known and any(_python_parts(text))
    return False


class _Inside(NamedTuple):
    """A kind of tests that stand inside sources."""

    suffixes: tuple[str, ...]
    spans: Callable[[str], Iterable[tuple[int, int]]]
    """Returns the start and the end of each part of a text that tests."""
    examples: re.Pattern[str] | None = None
    """What a part consists of, if others may be added; otherwise all parts must be as they were."""
    last: bool = False
    """Whether the parts are put back although they are as they were, because what follows could replace them."""
    filler: str = ""
    wrapped: str = "{text}"
    """How a part is put back at the end."""


def tests_in(path: str, text: str) -> list[tuple[int, int]]:
    with contextlib.suppress(SyntaxError, ValueError):
        return [one for kind in _INSIDE if path.endswith(kind.suffixes) for one in kind.spans(text)]
    return []


def with_base_tests(path: str, old: bytes | None, new: bytes | None) -> bytes | None:
    """Return the new content of a source file with the tests inside it as they were."""
    for kind in _INSIDE:
        if old and new and path.endswith(kind.suffixes):
            with contextlib.suppress(SyntaxError, ValueError):
                texts = (os.fsdecode(old), os.fsdecode(new))
                new = os.fsencode(_restored(kind, *texts))
    return new


def with_new_tests(
    path: str, old: bytes | None, new: bytes | None, modules: Collection[str] = ()
) -> bytes | None:
    """Return the old content of a source file, with the tests inside it as they are now if they changed.

    Args:
        modules: The new modules of the claim, which are declared in the old content, too, to hold their tests.
    """
    is_module = path.endswith(".rs") and _module(path) in modules
    if not new or not (old or is_module):
        return old
    known, found = old or b"\n", old
    with contextlib.suppress(SyntaxError, ValueError):
        texts = os.fsdecode(known), os.fsdecode(new)
        for kind in (one for one in _INSIDE if path.endswith(one.suffixes)):
            before, now = ([text[a:b] for a, b in kind.spans(text)] for text in texts)
            if before != now:
                found = with_base_tests(path, new, known)
        declared = "".join(new_modules(path, *texts).values())
        found = (found or known) + declared.encode() if declared or is_module else found
    return found


def new_modules(path: str, old: str, new: str) -> dict[str, str]:
    """Return the declarations of modules in files of their own that a Rust source did not declare before, by name."""
    found = _RUST_MODULE.finditer(new) if path.endswith(".rs") else ()
    return {m[1]: f"{m[0]}\n" for m in found if not re.search(rf"\bmod {m[1]}\b", old)}


def _module(path: str) -> str:
    *_, directory, name = f"/{path}".split("/")
    return directory if name == "mod.rs" else name.removesuffix(".rs")


def _restored(kind: _Inside, before: str, after: str) -> str:
    parts, now = ([text[a:b] for a, b in kind.spans(text)] for text in (before, after))
    if kind.examples is None:
        kept = not parts or (parts == now and not kind.last)
    else:
        known, new = (Counter(kind.examples.findall(text)) for text in (before, after))
        kept = known <= new
    if kept:
        return after
    rest, at = [], 0
    for start, end in kind.spans(after):
        rest.append(after[at:start])
        at = end
    outer = (text.replace("//!", "///") for text in parts)  # of a function instead of the file
    added = (kind.wrapped.format(text=text, n=n) for n, text in enumerate(outer))
    return "\n\n".join([f"{kind.filler.join([*rest, after[at:]])}\n", *added, ""])


def _python_parts(text: str) -> tuple[list[tuple[int, int]], list[tuple[int, int]]]:
    """Return where tests are, with what only they use and what runs them, and where other statements assert."""
    starts = list(itertools.accumulate(map(len, text.splitlines(keepends=True)), initial=0))
    body = ast.parse(text).body
    spans = {}
    for node in body:
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", ()))])
        spans[node] = starts[first - 1], starts[node.end_lineno or first]
    tests = [
        node
        for node in body
        if isinstance(node, _DEFINES)
        and _tests(node, body)
        and "assert" in text[slice(*spans[node])]
    ]
    named = {node.name for node in tests}
    acting = [node for node in body if not isinstance(node, (*_DEFINES, *_ASSIGNS, *_IMPORTS))]
    runs = [
        node
        for node in acting
        if tests and (named & _names([node]) or FRAMEWORK.search(text[slice(*spans[node])]))
    ]
    asserts = [
        node
        for node in acting
        if node not in runs and any(isinstance(one, ast.Assert) for one in ast.walk(node))
    ]
    checks = {*tests, *runs, *asserts}
    only_there = _names(checks) - _names(node for node in body if node not in checks)
    values = [
        node
        for node in body
        if isinstance(node, _ASSIGNS)
        and not any(isinstance(one, ast.Call) for one in ast.walk(node))
        and set() < _names([node], ast.Store) <= only_there
    ]
    functions, statements = {*tests, *runs}, {*asserts}
    (functions if tests else statements).update(values)
    return [spans[n] for n in body if n in functions], [spans[n] for n in body if n in statements]


_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_ASSIGNS = (ast.Assign, ast.AnnAssign)
_IMPORTS = (ast.Import, ast.ImportFrom)


def _tests(
    node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, body: list[ast.stmt]
) -> bool:
    """Return whether a definition is a test by its name, or mostly asserts and is not there for others to call with arguments."""
    if isinstance(node, ast.ClassDef):
        has_tests = any("test" in getattr(one, "name", "").lower() for one in node.body)
        based = (base for one in body if isinstance(one, ast.ClassDef) for base in one.bases)
        return bool(re.match(r"Test|.*Tests?$", node.name)) and (
            has_tests or node.name in _names(based)
        )
    asserts = 2 * sum(isinstance(one, ast.Assert) for one in node.body) > len(node.body)
    takes = bool(node.args.posonlyargs or node.args.args)
    called = asserts and takes and node.name in _names(one for one in body if one is not node)
    return node.name.startswith("test_") or (asserts and (called or not takes))


def _names(nodes: Iterable[ast.AST], use: type[ast.expr_context] = ast.Load) -> set[str]:
    found = (one for node in nodes for one in ast.walk(node) if isinstance(one, ast.Name))
    return {one.id for one in found if isinstance(one.ctx, use)}


def _matches(pattern: re.Pattern[str]) -> Callable[[str], Iterable[tuple[int, int]]]:
    return lambda text: [match.span() for match in pattern.finditer(text)]


def _blocks(opening: re.Pattern[str]) -> Callable[[str], Iterable[tuple[int, int]]]:
    """Return what finds each block that begins with a pattern; strings and comments are skipped."""
    token = re.compile(
        r"""//[^\n]*|/\*.*?\*/|r#*".*?"#*|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'|[{}]""", re.DOTALL
    )

    def spans(text: str) -> Iterator[tuple[int, int]]:
        at = 0
        while match := opening.search(text, at):
            depth, at = 1, match.end()
            while depth and (found := token.search(text, at)):
                depth += {"{": 1, "}": -1}.get(found[0], 0)
                at = found.end()
            if depth:
                at = len(text)
            yield match.start(), at

    return spans


_RUST_TESTS = re.compile(
    r"^[ \t]*#\[cfg\(test\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub\s+)?mod\s+\w+\s*\{", re.MULTILINE
)
_RUST_MODULE = re.compile(
    r"^[ \t]*(?:#\[[^\]]*\]\s*)*(?:pub(?:\([^)]*\))?\s+)?mod\s+(\w+);", re.MULTILINE
)
_RUST_EXAMPLE = re.compile(
    r"^[ \t]*//[/!] ?```[^\n]*\n(?:[ \t]*//[/!](?! ?```)[^\n]*\n)*[ \t]*//[/!] ?```[ \t]*\n",
    re.MULTILINE,
)
_DOCSTRING = re.compile(r"""[rR]?(\"{3}|'{3})(?:(?!\1).)*?>>>.*?\1""", re.DOTALL)
_EXAMPLE = re.compile(
    r"""^[ \t]*(>>>[^\n]*(?:\n[ \t]*(?!>>>|\"{3}|'{3})\S[^\n]*)*)""", re.MULTILINE
)
_VITEST_TESTS = re.compile(r"^[ \t]*if\s*\(\s*import\.meta\.vitest\s*\)\s*\{", re.MULTILINE)
_SCRIPTS = tuple(f".{more}{kind}" for more in ("", "c", "m") for kind in ("js", "ts", "jsx", "tsx"))
_INSIDE = (
    _Inside((".py",), lambda text: _python_parts(text)[0], last=True),
    _Inside((".py",), lambda text: _python_parts(text)[1]),
    _Inside(
        (".py",),
        _matches(_DOCSTRING),
        _EXAMPLE,
        filler='""',
        wrapped="def _example_{n}():\n    {text}",
    ),
    _Inside((".rs",), _blocks(_RUST_TESTS)),
    _Inside(
        (".rs",), _matches(_RUST_EXAMPLE), _RUST_EXAMPLE, wrapped="{text}pub fn _example_{n}() {{}}"
    ),
    _Inside(_SCRIPTS, _blocks(_VITEST_TESTS)),
)
