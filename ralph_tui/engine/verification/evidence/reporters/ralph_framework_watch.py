"""Notice when code under test replaces functions of the test framework."""

from __future__ import annotations

import builtins
import os
import re
import sys
import types
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    Member = tuple[tuple[Any, str], tuple[Any, Any]]

_WATCHED = ("_pytest", "pytest", "pluggy", "unittest")
_IN_TESTS = re.compile(
    r"[/\\\\]tests?[/\\\\]|[/\\\\](?:test_[^/\\\\]*|[^/\\\\]*_tests?|conftest)\.py$"
)
_DECIDING = frozenset(("isinstance", "issubclass", "len", "all", "any", "bool", "type"))
"""Built-in functions that assertions rely on; a project may replace others for good reasons."""


class FrameworkWatch:
    """Remembers every function of the framework, and tells which were replaced since."""

    def __init__(self) -> None:
        """Remember the framework as it is now."""
        self._seen = dict(_members())

    def add_tests(self, modules: list[Any]) -> None:
        """Remember the functions and classes of test modules as they were collected."""
        for module in modules:
            for member, state in _of_module(module):
                self._seen.setdefault(member, state)
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    for member, state in _of_class(value):
                        self._seen.setdefault(member, state)

    def replaced(self) -> list[tuple[str, str]]:
        """Return (name, file of the replacement) for each function that is another one now."""
        found = []
        for (owner, name), (before, code) in self._seen.items():
            now = vars(owner).get(name)
            if now is not before or (
                code is not None and getattr(_function(now), "__code__", None) is not code
            ):
                found.append((_name(owner, name), _file(now)))
        return [*found, *_given_other_code()]


def _given_other_code() -> Iterator[tuple[str, str]]:
    """Yield (name, file of the code) for functions of tests and their helpers that run code from elsewhere."""
    for module in list(sys.modules.values()):
        source = getattr(module, "__file__", None)
        if not isinstance(source, str) or not _IN_TESTS.search(source):
            continue
        for name, value in list(vars(module).items()):
            mine = isinstance(value, types.FunctionType) and value.__module__ == module.__name__
            if mine and not hasattr(value, "__wrapped__") and _is_other(value.__code__, source):
                yield f"{module.__name__}.{name}", value.__code__.co_filename


def _is_other(code: types.CodeType, source: str) -> bool:
    if code.co_filename == source or code.co_filename.startswith("<"):
        return False
    return os.path.realpath(code.co_filename) != os.path.realpath(source)


def _members() -> Iterator[Member]:
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if isinstance(name, str) and name.split(".")[0] in _WATCHED:
            yield from _of_module(module)
    for name, value in vars(builtins).items():
        if name in _DECIDING or (isinstance(value, type) and issubclass(value, BaseException)):
            yield (builtins, name), (value, None)


def _of_module(module: Any) -> Iterator[Member]:
    for name, value in list(vars(module).items()):
        if isinstance(value, types.FunctionType):
            yield (module, name), (value, value.__code__)
        elif isinstance(value, type):
            yield (module, name), (value, None)
            if str(value.__module__).split(".")[0] in _WATCHED:
                yield from _of_class(value)


def _of_class(owner: type) -> Iterator[Member]:
    for name, value in list(vars(owner).items()):
        function = _function(value)
        if function is not None:
            yield (owner, name), (value, function.__code__)


def _function(value: Any) -> types.FunctionType | None:
    """Return the Python function behind a class member; None when there is none."""
    if isinstance(value, types.FunctionType):
        return value
    inner = getattr(value, "fget", None) or getattr(value, "__func__", None)
    return inner if isinstance(inner, types.FunctionType) else None


def _name(owner: Any, name: str) -> str:
    return "{}.{}".format(getattr(owner, "__qualname__", None) or owner.__name__, name)


def _file(value: Any) -> str:
    function = _function(value) or getattr(value, "__init__", None)
    code = getattr(function, "__code__", None)
    return code.co_filename if code is not None else ""
