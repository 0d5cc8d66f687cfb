"""Which dependencies a project declares, and which of them a session added: facts for the hand-off."""

import json
import re
import tomllib
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

READ_BYTES = 1_000_000
_NAME = re.compile(r"[A-Za-z0-9@][\w.@/-]*")

Declared = Mapping[str, frozenset[str]]
"""The command that adds a dependency, and the names of those that it would have added."""


def declared(root: Path) -> Declared:
    """What the manifests of a project declare; one that cannot be read declares nothing."""
    found: dict[str, frozenset[str]] = {}
    for name, reading in _MANIFESTS.items():
        try:
            with (root / name).open("rb") as file:
                text = file.read(READ_BYTES).decode("utf-8", "replace")
            found |= {command: frozenset(names) for command, names in reading(text).items()}
        except (
            OSError,
            ValueError,
            AttributeError,
            TypeError,
        ):  # missing, half written, of another shape
            continue
    return found


def added(before: Declared, after: Declared) -> tuple[str, ...]:
    """The commands that add what is declared now and was not before."""
    return tuple(
        f"{command} {name}"
        for command, names in after.items()
        for name in sorted(names - before.get(command, frozenset()))
    )


def _pyproject(text: str) -> Mapping[str, Iterable[str]]:
    data = tomllib.loads(text)
    project, groups = data.get("project", {}), data.get("dependency-groups", {})
    found = {"uv add": _names(project.get("dependencies", []))}
    for extra, wanted in project.get("optional-dependencies", {}).items():
        found[f"uv add --optional {extra}"] = _names(wanted)
    for group, wanted in groups.items():
        option = "--dev" if group == "dev" else f"--group {group}"
        found[f"uv add {option}"] = _names(one for one in wanted if isinstance(one, str))
    return found


def _names(requirements: Iterable[str]) -> list[str]:
    """The names of requirements such as `httpx[http2]>=0.27`."""
    return [match.group() for one in requirements if (match := _NAME.match(one.strip()))]


def _package_json(text: str) -> Mapping[str, Iterable[str]]:
    data = json.loads(text)
    return {
        "npm install": list(data.get("dependencies", {})),
        "npm install --save-dev": list(data.get("devDependencies", {})),
    }


def _cargo(text: str) -> Mapping[str, Iterable[str]]:
    data = tomllib.loads(text)
    return {
        "cargo add": list(data.get("dependencies", {})),
        "cargo add --dev": list(data.get("dev-dependencies", {})),
    }


def _go_mod(text: str) -> Mapping[str, Iterable[str]]:
    lines = (line.strip().removeprefix("require ").split() for line in text.splitlines())
    direct = [line for line in lines if len(line) >= 2 and line[1].startswith("v")]
    return {"go get": [line[0] for line in direct if "indirect" not in line]}


_MANIFESTS: Mapping[str, Callable[[str], Mapping[str, Iterable[str]]]] = {
    "pyproject.toml": _pyproject,
    "package.json": _package_json,
    "Cargo.toml": _cargo,
    "go.mod": _go_mod,
}
