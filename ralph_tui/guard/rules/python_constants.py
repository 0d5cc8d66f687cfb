"""Evaluates expressions in Python code: constant strings, lists of words, paths."""

import ast
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ralph_tui.guard.core.arguments import names
from ralph_tui.guard.shell.nodes import UNKNOWN, Word, anything, literal

Bindings = Mapping[str, Sequence[ast.expr]]
"""Names, with all expressions that the code assigns to them."""


def bindings(tree: ast.AST, consumers: frozenset[str]) -> Bindings:
    """Return the names that only hold values written out in the code.

    Args:
        consumers: Functions that may receive such a name; any other use might change its value.
    """
    found: dict[str, list[ast.expr]] = {}
    hidden: set[str] = set()
    read: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and name_of(node.func) in consumers | _ONLY_READ:
            read.update(map(id, (*node.args, *(k.value for k in node.keywords))))
        elif isinstance(node, ast.FormattedValue):
            read.add(id(node.value))
        targets, values = _assigned_values(node)
        for target in targets:
            found.setdefault(target, []).extend(values)
        hidden.update(() if targets else _bound_names(node))
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in read:
            hidden.add(node.id)
    hidden.update(found if hidden & _REFLECTING else ())
    return {name: values for name, values in found.items() if name not in hidden}


_ONLY_READ = names("print join repr str len")
_REFLECTING = names("globals locals vars setattr exec eval")


def _assigned_values(node: ast.AST) -> tuple[Sequence[str], Sequence[ast.expr]]:
    if isinstance(node, ast.Assign):
        targets, values = node.targets, [node.value]
    elif isinstance(node, ast.For | ast.comprehension) and isinstance(
        node.iter, ast.List | ast.Tuple
    ):
        targets, values = [node.target], node.iter.elts
    else:
        return (), ()
    plain = [target.id for target in targets if isinstance(target, ast.Name)]
    return (plain, values) if len(plain) == len(targets) else ((), ())


def _bound_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.Global | ast.Nonlocal):
        yield from node.names
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar):
        yield node.name or ""
    else:
        for field in ("target", "targets", "optional_vars"):
            part = getattr(node, field, None)
            for target in part if isinstance(part, list) else [part] if part else []:
                yield from (n.id for n in ast.walk(target) if isinstance(n, ast.Name))


def possible_values(node: ast.expr, known: Bindings) -> Sequence[ast.expr]:
    return known.get(node.id, [node]) if isinstance(node, ast.Name) else [node]


def name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def word_of(element: ast.expr) -> Word:
    """Return an element of an argument list as the word that the program would receive."""
    text = text_of(element)
    if text is not None:
        return literal(text)
    if isinstance(element, ast.Attribute) and element.attr == "executable":
        return literal("python")
    if isinstance(element, ast.Starred):
        return anything()
    source = ast.unparse(element)
    return literal("python") if "sys.executable" in source else Word("\0", "x", source)


def text_of(node: ast.expr) -> str | None:
    """Evaluate a constant string, including one joined with `+`; return None for anything else."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bytes):
            return node.value.decode("utf-8", "replace")
        return str(node.value) if isinstance(node.value, str | int) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left), text_of(node.right)
        return None if left is None or right is None else left + right
    if isinstance(node, ast.Call) and name_of(node.func) == "split":
        if isinstance(node.func, ast.Attribute) and not node.args and not node.keywords:
            return text_of(node.func.value)
        return (
            text_of(node.args[0]) if ast.unparse(node.func) == "shlex.split" and node.args else None
        )
    return None


def fstring_word(node: ast.expr) -> Word | None:
    """Return the text of an f-string, with unknown text in its fields; None for other expressions."""
    if not isinstance(node, ast.JoinedStr):
        return None
    parts = [v.value if isinstance(v, ast.Constant) else UNKNOWN for v in node.values]
    text = "".join(part for part in parts if isinstance(part, str))
    return Word(text, "".join("x" if c == UNKNOWN else "q" for c in text), text)


def constants(node: ast.AST) -> Iterator[str]:
    """Yield the strings in a node that could be commands, and lists of strings as joined commands."""
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str) and " " in child.value:
            yield child.value
        elif isinstance(child, ast.List | ast.Tuple):
            yield shlex.join(text for e in child.elts if (text := text_of(e)) is not None)


Assigned = Mapping[str, ast.expr]
"""The names that the code assigns exactly once, with their values."""

_HOME = ("Path.home", "pathlib.Path.home")
_CURRENT_DIRECTORY = ("Path.cwd", "pathlib.Path.cwd", "os.getcwd")
_JOINS = names("join joinpath Path PosixPath PurePath PurePosixPath")
_KEEPS_PATH = names("expanduser resolve absolute abspath realpath normpath fspath str")
_HOME_VARIABLE = names("environ getenv get")
_MAX_DEPTH = 12


def assigned_once(tree: ast.AST) -> Assigned:
    bound = Counter(
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return {
        target.id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and len(node.targets) == 1
        for target in node.targets
        if isinstance(target, ast.Name) and bound[target.id] == 1
    }


def path_of(node: ast.expr, assigned: Assigned, depth: int = 0) -> str | None:
    """Evaluate an expression to a path, with `~` for the home directory; return None unless it is certain."""
    if depth > _MAX_DEPTH:
        return None
    if isinstance(node, ast.Name):
        value = assigned.get(node.id)
        return path_of(value, assigned, depth + 1) if value is not None else None
    if isinstance(node, ast.BinOp):
        between = {ast.Div: "/", ast.Add: ""}.get(type(node.op))
        if between is None:
            return None
        return _join_path([node.left, node.right], between, assigned, depth)
    if isinstance(node, ast.JoinedStr):
        parts = [v.value if isinstance(v, ast.FormattedValue) else v for v in node.values]
        return _join_path(parts, "", assigned, depth)
    if isinstance(node, ast.Subscript):
        is_home = ast.unparse(node.value).endswith("environ") and text_of(node.slice) == "HOME"
        return "~" if is_home else None
    if isinstance(node, ast.Call):
        return _path_of_call(node, assigned, depth)
    return text_of(node)


def _path_of_call(node: ast.Call, assigned: Assigned, depth: int) -> str | None:
    name, full = name_of(node.func), ast.unparse(node.func)
    if full in _HOME:
        return "~"
    if full in _CURRENT_DIRECTORY:
        return "."
    if name in _HOME_VARIABLE and node.args and text_of(node.args[0]) == "HOME":
        return "~"
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in _JOINS and (node.args or name == "joinpath"):
        before = [owner] if name == "joinpath" and owner is not None else []
        return _join_path([*before, *node.args], "/", assigned, depth)
    if name in _KEEPS_PATH:
        kept = node.args[0] if node.args else owner
        return path_of(kept, assigned, depth + 1) if kept is not None else None
    return text_of(node)


def _join_path(
    parts: Sequence[ast.expr], between: str, assigned: Assigned, depth: int
) -> str | None:
    path = ""
    for at, part in enumerate(parts):
        text = path_of(part, assigned, depth + 1)
        if text is None:
            return None
        whole = not at or (between and text.startswith(("/", "~")))
        path = text if whole else path + between + text
    return path
