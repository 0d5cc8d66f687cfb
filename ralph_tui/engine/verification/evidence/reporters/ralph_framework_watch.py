"""Detect functions of the test framework that code under test replaced."""

from __future__ import annotations

import builtins
import contextlib
import gc
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
_USED_BY_ASSERTIONS = frozenset(("isinstance", "issubclass", "len", "all", "any", "bool", "type"))
"""The built-in functions that assertions use; a project may have good reasons to replace others."""


class FrameworkWatch:
    """Records every function of the framework, and reports those replaced since."""

    def __init__(self) -> None:
        self._seen = dict(_members())
        self._early = list(_with_other_code(self._seen))
        self._names = {owner: frozenset(vars(owner)) for owner in _classes()}

    def add_tests(self, modules: list[Any]) -> None:
        """Record the functions and classes of test modules as collected."""
        for module in modules:
            for member, state in _of_module(module):
                self._seen.setdefault(member, state)
            for value in list(vars(module).values()):
                if isinstance(value, type) and value.__module__ == module.__name__:
                    for member, state in _of_class(value):
                        self._seen.setdefault(member, state)

    def replaced(self) -> list[tuple[str, str]]:
        """Return (name, file of the replacement) for each replaced function."""
        found = []
        for (owner, name), (before, code) in self._seen.items():
            now = vars(owner).get(name)
            if now is not before or (
                code is not None and getattr(_function(now), "__code__", None) is not code
            ):
                found.append((_name(owner, name), _file(now)))
        return [*self._early, *found, *self._added(), *_with_foreign_code(), *_equal_to_all()]

    def _added(self) -> Iterator[tuple[str, str]]:
        for owner, names in self._names.items():
            for name, value in list(vars(owner).items()):
                if name not in names and _function(value) is not None:
                    yield _name(owner, name), _file(value)


def _with_other_code(members: dict[tuple[Any, str], tuple[Any, Any]]) -> Iterator[tuple[str, str]]:
    modules = [
        vars(sys.modules[name]).get("__file__") for name in (*_WATCHED, "os") if name in sys.modules
    ]
    places = {os.path.dirname(os.path.dirname(file)) for file in modules if file}  # noqa: PTH120
    for (owner, name), (_, code) in members.items():
        file = getattr(code, "co_filename", "")
        known = any(file.startswith(place + os.sep) for place in places)
        if os.path.isabs(file) and not known:  # noqa: PTH117
            yield _name(owner, name), file


def _with_foreign_code() -> Iterator[tuple[str, str]]:
    for module in list(sys.modules.values()):
        source = getattr(module, "__file__", None)
        if not isinstance(source, str) or not _IN_TESTS.search(source):
            continue
        for name, value in list(vars(module).items()):
            mine = isinstance(value, types.FunctionType) and value.__module__ == module.__name__
            if mine and not hasattr(value, "__wrapped__") and _is_foreign(value.__code__, source):
                yield f"{module.__name__}.{name}", value.__code__.co_filename


def _equal_to_all() -> Iterator[tuple[str, str]]:
    """Yield comparisons outside the tests that say that a value equals every other one."""
    for owner in [one for one in gc.get_objects() if issubclass(type(one), type)]:
        equal = vars(owner).get("__eq__")
        if isinstance(equal, types.FunctionType) and not _IN_TESTS.search(_file(equal)):
            with contextlib.suppress(Exception):
                if equal(owner.__new__(owner), object()) is True:
                    yield _name(owner, "__eq__"), _file(equal)


def _is_foreign(code: types.CodeType, source: str) -> bool:
    if code.co_filename == source or code.co_filename.startswith("<"):
        return False
    return os.path.realpath(code.co_filename) != os.path.realpath(source)


def _members() -> Iterator[Member]:
    for module in list(sys.modules.values()):
        name = getattr(module, "__name__", "")
        if isinstance(name, str) and name.split(".")[0] in _WATCHED:
            yield from _of_module(module)
    for name, value in vars(builtins).items():
        if name in _USED_BY_ASSERTIONS or (
            isinstance(value, type) and issubclass(value, BaseException)
        ):
            yield (builtins, name), (value, None)


def _classes() -> Iterator[type]:
    for module in list(sys.modules.values()):
        for value in list(vars(module).values()):
            if isinstance(value, type) and str(value.__module__).split(".")[0] in _WATCHED:
                yield value


def swapped_parts(item: Any, before: Any) -> Iterator[tuple[str, str]]:
    """Yield the parts of a pytest item that were set on the item itself: methods, and another test function."""
    for name, value in list(vars(item).items()):
        if _function(getattr(type(item), name, None)) is not None and callable(value):
            yield f"{item.nodeid} {name}", _file(value)
    now = vars(item).get("_obj")
    if before is not None and now is not None and _plain(now) is not _plain(before):
        yield f"{item.nodeid} function", _file(_plain(now))


def _plain(function: Any) -> Any:
    inner = getattr(function, "__func__", None) or getattr(function, "func", None) or function
    return inner if isinstance(inner, types.FunctionType) else type(inner).__call__


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
