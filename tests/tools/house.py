"""Measure the product's modules for the tests that keep the house in order."""

import ast
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = "ralph_tui"


@dataclass(frozen=True)
class Module:
    """One module, read once."""

    path: Path
    name: str
    tree: ast.Module = field(repr=False)

    @property
    def is_door(self) -> bool:
        return self.path.name == "__init__.py"


def lines_of(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.rglob("*.py"))


@dataclass(frozen=True)
class House:
    """Every module of the product."""

    modules: tuple[Module, ...]

    def modules_per_folder(self) -> Counter[str]:
        return Counter(
            module.path.parent.relative_to(ROOT).as_posix()
            for module in self.modules
            if not module.is_door
        )

    def prose(self) -> float:
        """Return the percentage of lines that are docstrings, those below fields too, or comments."""
        lines = [
            line
            for module in self.modules
            for line in module.path.read_text(encoding="utf-8").splitlines()
        ]
        comments = sum(line.lstrip().startswith("#") for line in lines)
        docstrings = sum(
            (text.end_lineno or text.lineno) - text.lineno + 1
            for module in self.modules
            for scope in _scopes(module.tree)
            for text in scope.body
            if isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        )
        return 100 * (comments + docstrings) / len(lines)

    def repeated_classes(self) -> list[str]:
        """List the public class names that are defined more than once."""
        names = Counter(
            node.name
            for module in self.modules
            for node in _scopes(module.tree)
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
        )
        return sorted(name for name, count in names.items() if count > 1)

    def circles(self) -> list[list[str]]:
        return _circles(self._imports)

    def room_circles(self) -> list[list[str]]:
        """Find sub-packages of one package that import each other, each taken as a whole."""
        packages = {module.name for module in self.modules if module.is_door}
        return [
            circle for package in sorted(packages) for circle in self._circles_in(package, packages)
        ]

    def _circles_in(self, package: str, packages: set[str]) -> list[list[str]]:
        rooms = [name for name in packages if name.rpartition(".")[0] == package]
        graph: dict[str, set[str]] = defaultdict(set)
        for importer, imported in self._imports.items():
            home = _room(importer, rooms)
            if home:
                graph[home].update(room for name in imported if (room := _room(name, rooms)))
                graph[home].discard(home)
        return _circles(graph)

    @cached_property
    def _imports(self) -> dict[str, set[str]]:
        names = {module.name for module in self.modules}
        found: dict[str, set[str]] = {}
        for module in self.modules:
            imported = set(_imported(module.tree.body, names))
            found[module.name] = imported - {module.name}
        return found


def read_house() -> House:
    return House(
        tuple(
            Module(path, _name(path), ast.parse(path.read_text(encoding="utf-8")))
            for path in sorted((ROOT / PRODUCT).rglob("*.py"))
        )
    )


def _name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _scopes(
    tree: ast.AST,
) -> Iterator[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef]:
    """List what has a docstring; a look into expressions, too, would take most of the time."""
    if isinstance(tree, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
        yield tree
    for name in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(tree, name, ()):
            yield from _scopes(inner)


def _room(name: str, rooms: list[str]) -> str:
    return next((room for room in rooms if f"{name}.".startswith(f"{room}.")), "")


def _imported(body: list[ast.stmt], names: set[str]) -> Iterator[str]:
    """List what a module imports at once: not in a function, not for type checks alone."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                if whole in names:
                    yield whole
                elif node.module in names:
                    yield node.module
        elif isinstance(node, ast.Try):
            yield from _imported(node.body, names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" not in ast.dump(node.test):
            yield from _imported(node.body + node.orelse, names)


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    reached = {node: _reached(graph, node) for node in graph}
    parts = {
        tuple(sorted(other for other in reached[node] if node in reached.get(other, ())))
        for node in graph
    }
    return sorted(list(part) for part in parts if len(part) > 1)


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    found: set[str] = set()
    waiting = list(graph[start])
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += graph.get(node, ())
    return found
