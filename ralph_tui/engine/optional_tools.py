"""Whether the project has the tool that a check would run."""

import re
import shlex
import tomllib
from pathlib import Path

OPTIONAL_TOOLS = frozenset({"pytest", "mypy", "ruff", "pyright", "ty", "black", "tox", "nox"})
"""Tools a project may or may not have; a backpressure command for a missing one is skipped."""


def missing_tool(command: str, root: Path) -> str | None:
    """The tool of a `uv run TOOL …` command that the project does not have, or None."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    tool = words[2] if words[:2] == ["uv", "run"] and len(words) > 2 else ""
    if tool not in OPTIONAL_TOOLS or _has_tool(tool, root):
        return None
    return tool


def _has_tool(tool: str, root: Path) -> bool:
    if any((root / ".venv" / place / tool).exists() for place in ("bin", "Scripts")):
        return True
    lock = root / "uv.lock"
    if lock.is_file():
        return f'name = "{tool}"\n' in lock.read_text(encoding="utf-8", errors="replace")
    project = root / "pyproject.toml"
    return project.is_file() and _declares(tool, project)


def _declares(tool: str, project: Path) -> bool:
    try:
        data = tomllib.loads(project.read_text(encoding="utf-8", errors="replace"))
    except tomllib.TOMLDecodeError:
        return True  # the command itself will say what is wrong with the file
    declared = [
        *data.get("project", {}).get("dependencies", []),
        *(d for group in data.get("dependency-groups", {}).values() for d in group),
        *(d for e in data.get("project", {}).get("optional-dependencies", {}).values() for d in e),
        *data.get("tool", {}).get("uv", {}).get("dev-dependencies", []),
    ]
    return any(isinstance(d, str) and _name_of(d) == tool for d in declared)


def _name_of(requirement: str) -> str:
    """The project that is required: `ruff` of `Ruff[extra] >= 0.5`."""
    found = re.match(r"\s*([\w.-]+)", requirement)
    return found[1].lower() if found else ""
