"""Evaluates paths in Python code: `Path.home() / "x"`, `os.path.join(…)`, `expanduser("~/x")`."""

import ast
from collections import Counter
from collections.abc import Mapping, Sequence

from ralph_tui.guard.names import names
from ralph_tui.guard.python_values import name_of, text_of

Assigned = Mapping[str, ast.expr]
"""Names that the code assigns once, and their values."""

_HOME = ("Path.home", "pathlib.Path.home")
_HERE = ("Path.cwd", "pathlib.Path.cwd", "os.getcwd")
_JOINS = names("join joinpath Path PosixPath PurePath PurePosixPath")
_KEEPS = names("expanduser resolve absolute abspath realpath normpath fspath str")
_HOME_VARIABLE = names("environ getenv get")
_DEPTH = 12


def assigned_once(tree: ast.AST) -> Assigned:
    """Find the names that the code assigns exactly once."""
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
    """Evaluate an expression to a path, with `~` for the home directory; None if it is not certain."""
    if depth > _DEPTH:
        return None
    if isinstance(node, ast.Name):
        value = assigned.get(node.id)
        return path_of(value, assigned, depth + 1) if value is not None else None
    if isinstance(node, ast.BinOp):
        between = {ast.Div: "/", ast.Add: ""}.get(type(node.op))
        if between is None:
            return None
        return _joined([node.left, node.right], between, assigned, depth)
    if isinstance(node, ast.JoinedStr):
        parts = [v.value if isinstance(v, ast.FormattedValue) else v for v in node.values]
        return _joined(parts, "", assigned, depth)
    if isinstance(node, ast.Subscript):
        is_home = ast.unparse(node.value).endswith("environ") and text_of(node.slice) == "HOME"
        return "~" if is_home else None
    if isinstance(node, ast.Call):
        return _called(node, assigned, depth)
    return text_of(node)


def _called(node: ast.Call, assigned: Assigned, depth: int) -> str | None:
    name, full = name_of(node.func), ast.unparse(node.func)
    if full in _HOME:
        return "~"
    if full in _HERE:
        return "."
    if name in _HOME_VARIABLE and node.args and text_of(node.args[0]) == "HOME":
        return "~"
    owner = node.func.value if isinstance(node.func, ast.Attribute) else None
    if name in _JOINS and (node.args or name == "joinpath"):
        before = [owner] if name == "joinpath" and owner is not None else []
        return _joined([*before, *node.args], "/", assigned, depth)
    if name in _KEEPS:
        kept = node.args[0] if node.args else owner
        return path_of(kept, assigned, depth + 1) if kept is not None else None
    return text_of(node)


def _joined(parts: Sequence[ast.expr], between: str, assigned: Assigned, depth: int) -> str | None:
    """Join the parts. A part that is absolute replaces the ones before it."""
    path = ""
    for at, part in enumerate(parts):
        text = path_of(part, assigned, depth + 1)
        if text is None:
            return None
        whole = not at or (between and text.startswith(("/", "~")))
        path = text if whole else path + between + text
    return path
