"""Read the scripts and recipes that a project names, and how each is run."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ralph_tui.domain.verification.check_commands import CheckCommand, CheckKind
from ralph_tui.engine.verification.detection.directory_files import DirectoryFiles
from ralph_tui.engine.verification.detection.python_declarations import table

PACKAGE = "package.json"
_LOCKS = (
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
)
_USUAL: dict[CheckKind, tuple[str, ...]] = {
    CheckKind.TESTS: ("test", "tests", "pytest", "unit", "py"),
    CheckKind.TYPECHECK: (
        "typecheck", "type-check", "check-types", "check:types", "types", "typing", "type", "tsc", "mypy", "pyright",
    ),
    CheckKind.LINT: ("lint", "lint:check", "lint:ci", "eslint", "ruff", "flake8", "style"),
    CheckKind.FORMAT: (
        "format:check", "format-check", "format_check", "check-format", "check:format", "fmt:check", "fmt-check",
    ),
}  # fmt: skip
"""The usual names of what runs these checks."""

_NO_CHECK = re.compile(
    r"\s*echo\b[^&|;]*(?:&& exit \d+)?\s*|.*(?:\s--(?:fix|write)\b|\bpre-commit\b).*", re.DOTALL
)
"""A placeholder such as npm's, what changes files, or what installs its tools from the network."""

RECIPE_FILES = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
}
_RECIPE = re.compile(
    r"^@?(?P<names>[\w.-]+[^:=\n]*)::?(?!=)(?P<needs>[^\n]*)(?:\n|$)(?P<lines>(?:[ \t]+[^\n]*(?:\n|$)|\n)*)",
    re.MULTILINE,
)


def check(kind: CheckKind, command: str, runner: str, file: str, part: str = "") -> CheckCommand:
    return CheckCommand(kind=kind, command=command, runner=runner, file=file, part=part)


class Recipe(NamedTuple):
    """What make or just runs for a name."""

    needs: tuple[str, ...]
    lines: tuple[str, ...]


class NamedTasks(NamedTuple):
    """What a project names: the texts by name, and how one of them is run and told."""

    texts: Mapping[str, str]
    run: str
    runner: str
    file: str
    part: str = "{}"

    def check(self, kind: CheckKind, usual: tuple[str, ...] = ()) -> CheckCommand | None:
        for name in (*_USUAL[kind], *usual):
            if name in self.texts and not _NO_CHECK.fullmatch(self.texts[name]):
                part = self.part.format(name)
                return check(kind, self.command(name), self.runner, self.file, part)
        return None

    def command(self, name: str) -> str:
        known = name == "test" and self.runner in ("npm", "pnpm", "yarn")
        return f"{self.runner} test" if known else self.run.format(name)


def recipes(text: str, program: str) -> dict[str, Recipe]:
    """Return the recipes of make or just by name, in order; the first of a name counts."""
    found: dict[str, Recipe] = {}
    for match in _RECIPE.finditer(text):
        lines = (line.strip().lstrip("@-+") for line in match["lines"].splitlines())
        names = match["names"].split()
        one = Recipe(tuple(match["needs"].split()), tuple(line for line in lines if line))
        for name in names[:1] if program == "just" else names:
            found.setdefault(name, one)
    return found


def recipe_tasks(files: DirectoryFiles) -> Iterator[NamedTasks]:
    for program, names in RECIPE_FILES.items():
        for file in (name for name in names if name in files.names()):
            found = recipes(files.read(file), program)
            texts = {name: "\n".join(one.lines) for name, one in found.items()}
            yield NamedTasks(texts, f"{program} {{}}", program, file)
            return


def read_package(files: DirectoryFiles) -> dict[str, object] | None:
    """Return the package.json; None if it is there and invalid."""
    if PACKAGE not in files.names():
        return {}
    try:
        data = json.loads(files.read(PACKAGE))
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def package_manager(package: Mapping[str, object], files: DirectoryFiles) -> str:
    named = str(package.get("packageManager", "")).partition("@")[0]
    if named in ("npm", "pnpm", "yarn", "bun"):
        return named
    return next((manager for lock, manager in _LOCKS if lock in files.names()), "npm")


def package_tasks(files: DirectoryFiles) -> Iterator[NamedTasks]:
    package = read_package(files) or {}
    manager = package_manager(package, files)
    scripts = {name: str(text) for name, text in table(package, "scripts").items() if text}
    yield NamedTasks(scripts, f"{manager} run {{}}", manager, PACKAGE, "scripts.{}")
