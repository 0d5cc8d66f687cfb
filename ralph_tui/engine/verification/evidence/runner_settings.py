"""Separate the part of a settings file that controls checks from the rest, and restore it."""

import configparser
import json
import re
import tomllib
from collections.abc import Mapping
from typing import Any

TOML_TABLES = {
    "pyproject.toml": (
        "tool.pytest", "tool.coverage", "tool.tox", "tool.nox", "tool.hatch.envs", "tool.pdm.scripts",
        "tool.poe", "tool.taskipy", "tool.mypy", "tool.ruff", "tool.pyright", "tool.ty", "tool.black",
        "tool.uv.sources", "tool.uv.required-environments", "tool.uv.override-dependencies",
        "tool.uv.managed", "tool.poetry.plugins", "project.entry-points",
    ),
    "Cargo.toml": ("test", "bench", "lib", "bin", "profile", "lints", "workspace.lints", "patch"),
}  # fmt: skip
"""Tables, with their subtables, that control what a check does. Others may change freely."""


INI_SECTIONS = re.compile(
    r"tool:pytest|pytest|coverage:.*|flake8|mypy.*|isort|pycodestyle|unittest|aliases|tox.*|testenv.*"
)


JSON_KEYS = {
    "package.json": frozenset({
        "scripts", "jest", "vitest", "mocha", "ava", "c8", "nyc", "babel", "eslintConfig", "tap", "imports",
        "type",
    }),
}  # fmt: skip


_HEADER = re.compile(r"^\[\[?\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$", re.MULTILINE)


def steering_part(name: str, data: bytes) -> bytes:
    """Return the part of a file that controls checks; for most files the whole file."""
    try:
        if name in TOML_TABLES:
            return _canonical(_toml_steering(name, tomllib.loads(data.decode())))
        if name == "setup.cfg":
            return _canonical(_ini_steering(data.decode()))
        if name in JSON_KEYS:
            return _canonical(_json_steering(name, json.loads(data)))
    except (ValueError, AttributeError, configparser.Error):
        return data  # invalid: compare the whole file
    return data


def with_original(name: str, current: bytes, original: bytes) -> bytes:
    """Return the current file with its controlling part restored, or the whole original if that fails."""
    try:
        if name in TOML_TABLES:
            merged = _merged_toml(name, current.decode(), original.decode())
        elif name in JSON_KEYS:
            merged = _merged_json(name, json.loads(current), json.loads(original))
        else:
            return original
    except (ValueError, AttributeError):
        return original
    return merged if steering_part(name, merged) == steering_part(name, original) else original


def _canonical(value: object) -> bytes:
    return json.dumps(value, sort_keys=True, default=str).encode()


def _toml_steering(name: str, data: Mapping[str, Any]) -> dict[str, object]:
    found: dict[str, object] = {}
    for dotted in TOML_TABLES[name]:
        value: Any = data
        for key in dotted.split("."):
            value = value.get(key) if isinstance(value, Mapping) else None
        if value is not None:
            found[dotted] = value
    return found


def _ini_steering(text: str) -> dict[str, dict[str, str]]:
    parser = configparser.RawConfigParser(strict=False, interpolation=None)
    parser.read_string(text)
    return {name: dict(parser[name]) for name in parser.sections() if INI_SECTIONS.fullmatch(name)}


def _json_steering(name: str, data: Mapping[str, Any]) -> dict[str, object]:
    return {key: value for key, value in data.items() if key in JSON_KEYS[name]}


def _merged_toml(name: str, current: str, original: str) -> bytes:
    """Merge whole tables, so that comments and order stay; the caller checks the result."""
    kept = [block for header, block in _blocks(current) if not _steers(name, header)]
    back = [block for header, block in _blocks(original) if _steers(name, header)]
    merged = "\n".join(block.rstrip("\n") + "\n" for block in (*kept, *back) if block.strip())
    tomllib.loads(merged)
    return merged.encode()


def _blocks(text: str) -> list[tuple[str, str]]:
    """Return the tables of a file by their headers; the text before the first has none."""
    starts = [(match.group(1), match.start()) for match in _HEADER.finditer(text)]
    ends = [start for _, start in starts[1:]] + [len(text)]
    first = [("", text[: starts[0][1] if starts else len(text)])]
    return first + [
        (header, text[start:end]) for (header, start), end in zip(starts, ends, strict=True)
    ]


def _steers(name: str, header: str) -> bool:
    plain = header.replace('"', "").replace("'", "").replace(" ", "")
    return any(plain == table or plain.startswith(f"{table}.") for table in TOML_TABLES[name])


def _merged_json(name: str, current: Mapping[str, Any], original: Mapping[str, Any]) -> bytes:
    kept = {key: value for key, value in current.items() if key not in JSON_KEYS[name]}
    return json.dumps({**kept, **_json_steering(name, original)}, indent=2).encode()
