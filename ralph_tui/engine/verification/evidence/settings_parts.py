"""Separate the part of a settings file that controls checks from the part that any task may change.

What is not known to be free controls checks, because every tool may add a table or key of its own.
"""

import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

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

_HEADER = re.compile(r"^\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$", re.MULTILINE)
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
        if name == "package.json":
            return _canonical(_json_control(json.loads(data), json.loads(original or b"{}")))
        if name in _CONTROLLING_TABLES:
            own, known = (_toml_control(name, tomllib.loads(t.decode())) for t in (data, original))
            if {*own.get("workspace.members", ())} >= {*known.get("workspace.members", ())}:
                own.pop("workspace.members", None)  # more is checked than before
            return _canonical(own)
        if name == "go.mod":
            return "".join(_REPLACE.findall(data.decode())).encode()
    except (ValueError, AttributeError):
        return data  # invalid: compare the whole file
    return data


def with_original_part(name: str, current: bytes, original: bytes) -> bytes:
    """Return the current file with the part that controls checks restored, or the original if that fails."""
    try:
        if name in _CONTROLLING_TABLES:
            merged = _merged_toml(name, current.decode(), original.decode())
        elif name == "package.json":
            merged = _merged_json(json.loads(current), json.loads(original))
        elif name == "go.mod":
            kept = _REPLACE.sub("", current.decode()).rstrip("\n")
            merged = f"{kept}\n\n{''.join(_REPLACE.findall(original.decode()))}".encode()
        elif name in _MAKEFILES:
            rules = _new_rules(current.decode(), original.decode())
            merged = "\n".join([original.decode().rstrip("\n"), *rules]).encode()
        else:
            return original
    except (ValueError, AttributeError):
        return original
    steering = (controlling_part(name, one, original) for one in (merged, original))
    return merged if len({*steering}) == 1 else original


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()


def _toml_control(name: str, data: Mapping[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for dotted in _CONTROLLING_TABLES[name]:
        value: Any = data
        for key in dotted.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            found[dotted] = value
    tools = data.get("tool", {}) if name == "pyproject.toml" else {}
    return found | {f"tool.{tool}": v for tool, v in tools.items() if tool not in _FREE_TOOLS}


def _json_control(data: Mapping[str, Any], original: Mapping[str, Any]) -> dict[str, object]:
    found = {key: value for key, value in data.items() if key not in _FREE_KEYS}
    new = _new_scripts(data, original)
    scripts = {n: text for n, text in data.get("scripts", {}).items() if n not in new}
    if new and not scripts and "scripts" not in original:
        del found["scripts"]
    elif new:
        found["scripts"] = scripts
    return found


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


def _merged_toml(name: str, current: str, original: str) -> bytes:
    kept = [block for header, block in _blocks(current) if not _controls_checks(name, header)]
    back = [block for header, block in _blocks(original) if _controls_checks(name, header)]
    merged = "\n".join(block.rstrip("\n") + "\n" for block in (*kept, *back) if block.strip())
    tomllib.loads(merged)
    return merged.encode()


def _blocks(text: str) -> list[tuple[str, str]]:
    starts = [(match.group(1), match.start()) for match in _HEADER.finditer(text)]
    ends = [start for _, start in starts[1:]] + [len(text)]
    first = [("", text[: starts[0][1] if starts else len(text)])]
    return first + [
        (header, text[start:end]) for (header, start), end in zip(starts, ends, strict=True)
    ]


def _controls_checks(name: str, header: str) -> bool:
    plain = header.replace('"', "").replace("'", "").replace(" ", "")
    first, _, rest = plain.partition(".")
    if name == "pyproject.toml" and first == "tool" and rest.split(".")[0] not in _FREE_TOOLS:
        return True
    return any(
        plain == table or plain.startswith(f"{table}.") for table in _CONTROLLING_TABLES[name]
    )


def _merged_json(current: Mapping[str, Any], original: Mapping[str, Any]) -> bytes:
    kept = {key: value for key, value in current.items() if key in _FREE_KEYS}
    control = _json_control(original, {})
    if new := _new_scripts(current, original):
        control["scripts"] = {**original.get("scripts", {}), **new}
    return json.dumps({**kept, **control}, indent=2).encode()
