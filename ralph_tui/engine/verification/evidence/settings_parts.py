"""Separate the part of a settings file that controls checks from the part that any task may change.

What is not known to be free controls checks, because every tool may add a table or key of its own.
"""

import configparser
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

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

_FREE_SECTIONS = re.compile(
    r"metadata|options(\..*)?|sdist|bdist.*|egg_info|build.*|install.*|upload.*|bumpversion.*|files|global"
)
"""Sections of setup.cfg that describe the package."""

_FREE_KEYS = frozenset({
    "name", "version", "description", "keywords", "homepage", "bugs", "license", "author", "contributors",
    "maintainers", "funding", "files", "main", "module", "browser", "types", "typings", "typesVersions", "exports",
    "bin", "man", "directories", "repository", "dependencies", "devDependencies", "peerDependencies",
    "peerDependenciesMeta", "optionalDependencies", "bundleDependencies", "bundledDependencies", "engines", "os",
    "cpu", "private", "publishConfig", "sideEffects", "packageManager", "unpkg", "jsdelivr", "icon", "contributes",
    "activationEvents", "displayName", "publisher", "categories",
})  # fmt: skip
"""Keys of package.json that describe the package."""

_HEADER = re.compile(r"^\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$", re.MULTILINE)
_REPLACE = re.compile(r"^replace\s*(?:\([^)]*\)|[^(\n]*)\n?", re.MULTILINE)
"""The directives of go.mod that replace a module by another one."""


def controlling_part(name: str, data: bytes) -> bytes:
    """Return the part of a file that controls checks, which is the whole file for most files."""
    try:
        if name in _CONTROLLING_TABLES:
            return _canonical(_toml_control(name, tomllib.loads(data.decode())))
        if name == "setup.cfg":
            return _canonical(_ini_control(data.decode()))
        if name == "package.json":
            return _canonical(_json_control(json.loads(data)))
        if name == "go.mod":
            return "".join(_REPLACE.findall(data.decode())).encode()
    except (ValueError, AttributeError, configparser.Error):
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
        else:
            return original
    except (ValueError, AttributeError):
        return original
    return (
        merged if controlling_part(name, merged) == controlling_part(name, original) else original
    )


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()


def _toml_control(name: str, data: Mapping[str, Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    for dotted in _CONTROLLING_TABLES[name]:
        value: Any = data
        for key in dotted.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            found[dotted] = value
    tools = data.get("tool", {}) if name == "pyproject.toml" else {}
    return found | {f"tool.{tool}": v for tool, v in tools.items() if tool not in _FREE_TOOLS}


def _ini_control(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.read_string(text)
    sections = (name for name in parser.sections() if not _FREE_SECTIONS.fullmatch(name))
    return {name: dict(parser[name]) for name in sections}


def _json_control(data: Mapping[str, Any]) -> dict[str, object]:
    return {key: value for key, value in data.items() if key not in _FREE_KEYS}


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
    return json.dumps({**kept, **_json_control(original)}, indent=2).encode()
