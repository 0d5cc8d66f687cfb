"""Separate the part of a settings file that controls checks from the part that any task may change.

What is not known to be free controls checks, because every tool may add a table or key of its own.
"""

import copy
import json
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any

from ralph_tui.engine.verification.detection.named_tasks import PACKAGE
from ralph_tui.engine.verification.detection.python_declarations import table
from ralph_tui.engine.verification.evidence.check_names import is_recipe, names_check

_CONTROLLING_TABLES = {
    "pyproject.toml": (
        "tool.hatch.envs", "tool.pdm.scripts", "tool.poetry.plugins", "tool.rye.scripts", "tool.pixi.tasks",
        "tool.uv.sources", "tool.uv.required-environments", "tool.uv.override-dependencies", "tool.uv.managed",
        "project.entry-points",
    ),
    "Cargo.toml": (
        "test", "bench", "lib", "bin", "profile", "lints", "patch", "replace", "workspace.lints",
        "workspace.members", "workspace.exclude", "workspace.default-members", "package.autotests",
        "package.autobins", "package.workspace",
    ),
}  # fmt: skip
"""Tables and keys that control checks, including their subtables."""

_FREE_TOOLS = frozenset({
    "uv", "poetry", "pdm", "hatch", "rye", "pixi", "flit", "setuptools", "setuptools_scm", "setuptools-git-versioning",
    "maturin", "scikit-build", "meson-python", "mesonpy", "cibuildwheel", "dynamic", "bumpversion", "bumpver",
    "commitizen", "semantic_release", "towncrier", "git-cliff", "briefcase", "check-manifest", "distutils",
})  # fmt: skip
"""Tables below `tool` in pyproject.toml that describe packages; every other tool may be a check or affect one."""

_FREE_KEYS = frozenset({
    "name", "version", "description", "keywords", "homepage", "bugs", "license", "author", "contributors",
    "maintainers", "funding", "files", "main", "module", "browser", "type", "types", "typings", "typesVersions", "exports",
    "imports", "bin", "man", "directories", "repository", "dependencies", "devDependencies", "peerDependencies",
    "peerDependenciesMeta", "optionalDependencies", "bundleDependencies", "bundledDependencies", "engines", "os",
    "cpu", "private", "publishConfig", "sideEffects", "packageManager", "unpkg", "jsdelivr", "icon", "contributes",
    "activationEvents", "displayName", "publisher", "categories",
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
_LIFECYCLE = re.compile(
    r"(pre|post).*|install|prepare|publish|test|start|stop|restart|version|dependencies|shrinkwrap"
)
"""Scripts of package.json that npm runs unasked, or that everybody runs."""


def controlling_part(name: str, data: bytes, original: bytes = b"") -> bytes:
    """Return the part of a file that controls checks, which is the whole file for most files.

    A target or script that the original neither has nor names is free, unless it is named like a check.
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
            control = _split(name, now, then, now)[1]
            return json.dumps(control, sort_keys=True, default=str).encode()
        if name == "go.mod":
            return "".join(_REPLACE.findall(data.decode())).encode()
    except (ValueError, AttributeError):
        return data  # invalid: compare the whole file
    return data


def with_original_part(name: str, current: bytes, original: bytes) -> bytes:
    """Return the current file with the part that controls checks restored, or the original if that fails."""
    try:
        if name in _LOADERS:
            now, then = (_LOADERS[name](text.decode()) for text in (current, original))
            merged = _joined(_split(name, now, then, now)[0], _split(name, then, then, now)[1])
            return (json.dumps(merged, indent=2) if name == PACKAGE else _toml(merged)).encode()
        if name == "go.mod":
            kept = _REPLACE.sub("", current.decode()).rstrip("\n")
            return f"{kept}\n\n{''.join(_REPLACE.findall(original.decode()))}".encode()
        if name in _MAKEFILES:
            rules = _new_rules(current.decode(), original.decode())
            return "\n".join([original.decode().rstrip("\n"), *rules]).encode()
    except (ValueError, AttributeError):
        return original
    return original


def _split(name: str, data: _Table, original: _Table, claim: _Table) -> tuple[_Table, _Table]:
    """Return what any task may change in settings, and what controls checks; the claim may add members to a workspace."""
    free, control = copy.deepcopy(data), dict[str, Any]()
    adds = _members(claim) >= _members(original)
    places = [dotted.split(".") for dotted in _CONTROLLING_TABLES.get(name, ())]
    places += [["tool", one] for one in table(data, "tool") if one not in _FREE_TOOLS]
    if name == PACKAGE:
        places = [[key] for key in data if key not in _FREE_KEYS]
    for *above, key in places:
        held: Any = free
        into = control
        for one in above:
            held = held.get(one, {}) if isinstance(held, dict) else {}
        if key in held and not (key == "members" and adds):
            for one in above:
                into = into.setdefault(one, {})
            into[key] = held.pop(key)
    if name == PACKAGE and (new := _new_scripts(data, original)):
        free["scripts"] = new
        control["scripts"] = {n: t for n, t in control["scripts"].items() if n not in new}
        if not control["scripts"] and "scripts" not in original:
            del control["scripts"]
    return free, control


def _members(data: _Table) -> set[str]:
    found = table(data, "workspace").get("members")
    return {*map(str, found)} if isinstance(found, list) else set()


def _joined(one: _Table, other: _Table) -> _Table:
    both = {
        key: _joined(one[key], other[key])
        for key in one.keys() & other.keys()
        if isinstance(one[key], dict)
    }
    return {**one, **other, **both}


def _toml(data: object, *, inner: bool = False) -> str:
    if isinstance(data, dict):
        rows = (f"{json.dumps(k)} = {_toml(value, inner=True)}" for k, value in data.items())
        return f"{{{', '.join(rows)}}}" if inner else "\n".join([*rows, ""])
    if isinstance(data, list):
        return f"[{', '.join(_toml(one, inner=True) for one in data)}]"
    return json.dumps(data, ensure_ascii=False, default=str)


def _new_scripts(data: Mapping[str, Any], original: Mapping[str, Any]) -> dict[str, object]:
    old = original.get("scripts", {})
    told = " ".join(map(str, old.values()))
    return {
        name: text
        for name, text in data.get("scripts", {}).items()
        if name not in old and not (_LIFECYCLE.fullmatch(name) or _is_known(name, told))
    }


def _new_rules(text: str, original: str) -> list[str]:
    found = {m[1]: m[0] for m in _RULE.finditer(text) if not _is_known(m[1], original)}
    phony = (m for m in _PHONY.finditer(text) if m[1].strip() and {*m[1].split()} <= {*found})
    return [*found.values(), *(match[0] for match in phony)]


def _is_known(name: str, original: str) -> bool:
    named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", original) is not None
    return named or is_recipe(name) or names_check(name)
