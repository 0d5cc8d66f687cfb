"""Detect how a JavaScript or TypeScript project runs its tests, lint, type check and format check."""

import json
import re
from collections.abc import Iterator

from ralph_tui.domain.verification.check_commands import CheckCommand, CheckKind
from ralph_tui.engine.verification.detection.directory_files import ProjectFiles
from ralph_tui.engine.verification.detection.python_declarations import table

PACKAGE = "package.json"
_LOCKS = (
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
    ("package-lock.json", "npm"),
)
_SCRIPTS: dict[CheckKind, tuple[str, ...]] = {
    CheckKind.TESTS: ("test",),
    CheckKind.TYPECHECK: ("typecheck", "type-check", "check-types", "check:types", "types", "tsc"),
    CheckKind.LINT: ("lint", "lint:check", "lint:ci", "eslint"),
    CheckKind.FORMAT: ("format:check", "format-check", "check-format", "check:format", "fmt:check"),
}
_PLACEHOLDER = re.compile(r"\s*echo\b[^&|;]*(?:&& exit \d+)?\s*")
"""A placeholder script that checks nothing, such as the one in npm's new package.json."""

_CHANGES_FILES = re.compile(r"(?:^|\s)--(?:fix|write)\b")
_TEST_FILE = re.compile(r".*[.-]test\.[cm]?[jt]s|test[.-].*\.[cm]?js|test\.[cm]?js")
_NODE_TEST = re.compile(r"""["']node:test["']""")
_TEST_DIRECTORIES = (".", "test", "tests", "src")
MOST_READ = 40
"""The most test files that are read to see whether they use Node's own runner."""


def node_checks(files: ProjectFiles) -> Iterator[CheckCommand]:
    """Yield the JavaScript checks of a project, at most one of each kind."""
    names = frozenset(files.names())
    package = _package(files) if PACKAGE in names else {}
    if package is None:  # the package manager reports what is wrong with the file
        yield _check(CheckKind.TESTS, "npm test", "npm", "(cannot be read)")
        return
    manager = _manager(package, names)
    for kind in CheckKind:
        found = next(_candidates(kind, package, manager, files), None)
        if found is not None:
            yield found


def start_script(files: ProjectFiles) -> Iterator[str]:
    """Yield the commands that start a JavaScript project, from its scripts."""
    if package := _package(files):
        scripts, names = table(package, "scripts"), frozenset(files.names())
        yield from (
            f"{_manager(package, names)} run {name}"
            for name in ("start", "dev")
            if scripts.get(name)
        )


def _package(files: ProjectFiles) -> dict[str, object] | None:
    try:
        data = json.loads(files.read(PACKAGE) or "")
    except (ValueError, RecursionError):
        return None
    return data if isinstance(data, dict) else None


def _manager(package: dict[str, object], names: frozenset[str]) -> str:
    named = str(package.get("packageManager", "")).partition("@")[0]
    if named in ("npm", "pnpm", "yarn", "bun"):
        return named
    return next((manager for lock, manager in _LOCKS if lock in names), "npm")


def _check(kind: CheckKind, command: str, runner: str, part: str) -> CheckCommand:
    return CheckCommand(kind=kind, command=command, runner=runner, file=PACKAGE, part=part)


def _candidates(
    kind: CheckKind, package: dict[str, object], manager: str, files: ProjectFiles
) -> Iterator[CheckCommand]:
    scripts = table(package, "scripts")
    for name in _SCRIPTS[kind]:
        script = str(scripts.get(name) or "")
        if script and not _PLACEHOLDER.fullmatch(script) and not _CHANGES_FILES.search(script):
            # Without this variable it would wait for changes instead of ending.
            watches = "CI=true " if "react-scripts test" in script else ""
            yield _check(kind, watches + _script_command(manager, name), manager, f"scripts.{name}")
    if kind is CheckKind.TYPECHECK and _has_typescript(package, files):
        yield _check(kind, _tsc_command(manager), "tsc", "typescript, tsconfig.json")
    if kind is CheckKind.TESTS:
        yield from _node_test(files)


def _script_command(manager: str, script: str) -> str:
    if script == "test" and manager != "bun":  # `bun test` is another runner
        return f"{manager} test"
    return f"{manager} run {script}"


def _has_typescript(package: dict[str, object], files: ProjectFiles) -> bool:
    declared = {**table(package, "dependencies"), **table(package, "devDependencies")}
    return "typescript" in declared and "tsconfig.json" in files.names()


def _tsc_command(manager: str) -> str:
    starts = {"npm": "npx --no-install", "pnpm": "pnpm exec", "yarn": "yarn exec", "bun": "bun x"}
    return f"{starts[manager]} tsc --noEmit"


def _node_test(files: ProjectFiles) -> Iterator[CheckCommand]:
    for directory in _TEST_DIRECTORIES:
        found = [name for name in files.names(directory) if _TEST_FILE.fullmatch(name)]
        for name in found[:MOST_READ]:
            path = name if directory == "." else f"{directory}/{name}"
            if _NODE_TEST.search(files.read(path) or ""):
                yield CheckCommand(
                    kind=CheckKind.TESTS, command="node --test", runner="node", file=path
                )
                return
