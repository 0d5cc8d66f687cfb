"""The AGENTS.md that `ralph init` writes: the commands this project really has, and places for what is learned."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ralph_tui.domain.verification.check_commands import ProjectChecks

_HEAD = """\
# Project operations guide

Notes for the agents that work here. Keep this file to 60 lines: it goes into every prompt.

## Build system
"""
_TAIL = """
## Architecture

## Testing conventions

## Gotchas

## Learned patterns
"""
_UV_ONLY = "This project uses `uv` for all Python operations.\n"
_NOTHING = "No commands were found in this project yet. Write them here once there are some.\n"

_COMMENTS = {
    "tests": "run the tests",
    "typecheck": "check the types",
    "lint": "lint",
    "format_check": "check the format",
}
_UV_LINES = (
    ("uv sync", "install all dependencies"),
    ("uv run <command>", "run anything"),
    ("uv add <package>", "add a dependency"),
    ("uv add --dev <package>", "add a development dependency"),
)
_MANAGER_LINES = {
    "npm": (("npm install", "install all dependencies"), ("npm install <package>", "add one")),
    "pnpm": (("pnpm install", "install all dependencies"), ("pnpm add <package>", "add one")),
    "yarn": (("yarn install", "install all dependencies"), ("yarn add <package>", "add one")),
    "bun": (("bun install", "install all dependencies"), ("bun add <package>", "add one")),
    "cargo": (("cargo build", "build"), ("cargo add <crate>", "add a dependency")),
    "go": (("go build ./...", "build"), ("go get <module>", "add a dependency")),
}
"""What is said beside the checks, by the program that runs them."""


def agents_template(checks: "ProjectChecks") -> str:
    """AGENTS.md for a project with these checks; far below the 60 lines it may have."""
    lines = list(dict.fromkeys(_lines(checks)))
    opening = _UV_ONLY if checks.uses_uv else "" if lines else _NOTHING
    width = max((len(command) for command, _ in lines if len(command) <= _WIDE), default=0)
    block = "".join(f"{command.ljust(width)}  # {comment}\n" for command, comment in lines)
    fenced = f"```bash\n{block}```\n" if block else ""
    between = "\n" if opening and fenced else ""
    return f"{_HEAD}\n{opening}{between}{fenced}{_TAIL}"


_WIDE = 48
"""Characters of a command that others are lined up with."""


def _lines(checks: "ProjectChecks") -> Iterator[tuple[str, str]]:
    from ralph_tui.domain.verification.check_commands import CheckKind

    if checks.uses_uv:
        yield _UV_LINES[0]
    for kind, comment in _COMMENTS.items():
        for command in checks.of(CheckKind(kind)):
            yield command.command, comment
    if checks.uses_uv:
        yield from _UV_LINES[1:]
    for runner in dict.fromkeys(command.runner for command in checks.commands):
        yield from _MANAGER_LINES.get(runner, ())
