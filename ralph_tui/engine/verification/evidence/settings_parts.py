"""Separate the part of a settings file that controls checks from the part that any task may change.

What is not known to be free controls checks, because every tool may add a table or key of its own.
"""

import json
import re
import tomllib
from collections.abc import Callable
from typing import Any

from ralph_tui.engine.verification.detection.named_tasks import PACKAGE
from ralph_tui.engine.verification.detection.python_declarations import table
from ralph_tui.engine.verification.evidence.check_names import is_recipe, names_check

_CONTROLLING_TABLES = {
    "pyproject.toml": (
        "tool.pdm.scripts", "tool.poetry.plugins", "tool.uv.sources", "tool.uv.required-environments",
        "tool.uv.override-dependencies", "tool.uv.managed", "project.entry-points",
    ),
    "Cargo.toml": (
        "test", "bench", "lib", "bin", "profile", "lints", "patch", "replace", "workspace.lints",
        "workspace.members", "workspace.exclude", "workspace.default-members", "package.autotests",
        "package.autobins", "package.workspace",
    ),
}  # fmt: skip
"""Tables and keys that control checks, including their subtables."""

_FREE_TOOLS = frozenset({"uv", "poetry", "pdm"})
"""Tables below `tool` in pyproject.toml that declare dependencies; every other tool may be a check or affect one."""

_FREE_KEYS = frozenset({
    "name", "version", "description", "keywords", "license", "author", "repository", "files", "main", "module",
    "types", "type", "exports", "imports", "bin", "dependencies", "devDependencies", "peerDependencies",
    "optionalDependencies", "engines", "private",
})  # fmt: skip
"""Keys of package.json that describe the package."""

_Table = dict[str, Any]
_LOADERS: dict[str, Callable[[str], _Table]] = {
    "pyproject.toml": tomllib.loads,
    "Cargo.toml": tomllib.loads,
    PACKAGE: lambda text: json.loads(text or "{}"),
}
_REPLACE = re.compile(r"^replace\s*(?:\([^)]*\)|[^(\n]*)\n?", re.MULTILINE)
"""The directives of go.mod that replace a module by another one."""


_RULE = re.compile(r"^([A-Za-z][\w-]*)[ \t]*:(?![=:])[^\n=]*\n(?:\t[^\n]*\n?|\n)*", re.MULTILINE)
_PHONY = re.compile(r"^\.PHONY[ \t]*:([^\n\\]*)\n?", re.MULTILINE)
_MAKEFILES = frozenset({"Makefile", "makefile", "GNUmakefile"})


def controlling_part(name: str, data: bytes, original: bytes = b"") -> bytes:
    """Return the part of a file that controls checks, which is the whole file for most files.

    A target that the original neither has nor names is free, unless it is named like a check.
    """
    try:
        if name in _MAKEFILES:
            rest = data.decode()
            for rule in _new_rules(data.decode(), original.decode()):
                rest = rest.replace(rule, "", 1)
            return (
                rest.encode() if len(rest) == len(data.decode()) else rest.strip().encode() + b"\n"
            )
        if name in _LOADERS:
            now, then = (_LOADERS[name](text.decode()) for text in (data, original))
            control = _controlling(name, now, then)
            return json.dumps(control, sort_keys=True, default=str).encode()
        if name == "go.mod":
            return "".join(_REPLACE.findall(data.decode())).encode()
    except (ValueError, AttributeError):
        return data  # invalid: compare the whole file
    return data


def _controlling(name: str, data: _Table, original: _Table) -> _Table:
    """Return what controls checks in settings, by place; members may be added to a workspace."""
    control = dict[str, Any]()
    adds = _members(data) >= _members(original)
    places = [dotted.split(".") for dotted in _CONTROLLING_TABLES.get(name, ())]
    places += [["tool", one] for one in table(data, "tool") if one not in _FREE_TOOLS]
    if name == PACKAGE:
        places = [[key] for key in data if key not in _FREE_KEYS]
    for *above, key in places:
        held = table(data, *above)
        if key in held and not (key == "members" and adds):
            control[".".join((*above, key))] = held[key]
    return control


def _members(data: _Table) -> set[str]:
    found = table(data, "workspace").get("members")
    return {*map(str, found)} if isinstance(found, list) else set()


def _new_rules(text: str, original: str) -> list[str]:
    found = {m[1]: m[0] for m in _RULE.finditer(text) if not _is_known(m[1], original)}
    phony = (m for m in _PHONY.finditer(text) if m[1].strip() and {*m[1].split()} <= {*found})
    return [*found.values(), *(match[0] for match in phony)]


def _is_known(name: str, original: str) -> bool:
    named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", original) is not None
    return named or is_recipe(name) or names_check(name)
