"""Decide which files are inputs of checks: tests, runner settings, and what check commands name."""

import os
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from ralph_tui.engine.core.project_tree import NOT_THE_PROJECT
from ralph_tui.engine.verification.evidence.runners import programs

TEST_DIRECTORIES = frozenset({
    "tests", "test", "__tests__", "__snapshots__", "__mocks__", "testdata", "spec", "e2e", "t",
})  # fmt: skip
"""Directories whose content belongs to checks: tests, helpers and expected results."""

_TEST_NAME = re.compile(
    r"test_.*\.py|.*_tests?\.py|tests\.py|.*_test\.(go|rs|exs?|dart|cc|cpp|c)|.*\.(test|spec)\.[cm]?[jt]sx?"
    r"|.*_(spec|test)\.rb|.*\.bats|test_.*\.(sh|bash)|.*(Tests?|Spec)\.(java|kt|cs|scala|php|swift)"
)
_STEERING_NAME = re.compile(
    r"\.?pytest\.(ini|toml)|pyproject\.toml|tox\.ini|setup\.cfg|conftest\.py|(site|user)customize\.py"
    r"|.*\.pth|noxfile\.py|\.coveragerc|\.?mypy\.ini|\.?ruff\.toml|\.flake8|\.pylintrc|pyrightconfig\.json"
    r"|hatch\.toml|uv\.toml|package\.json|\.npmrc|(jest|vitest|vite|babel|ava|playwright|cypress|eslint)\."
    r"(config|workspace)\.\w+|karma\.conf\.\w+|\.babelrc.*|\.mocharc.*|\.swcrc|\.eslintrc.*|biome\.jsonc?"
    r"|tsconfig.*\.json|bunfig\.toml|deno\.jsonc?|Cargo\.toml|rust-toolchain(\.toml)?|phpunit\.xml(\.dist)?"
    r"|\.rspec|golangci\.ya?ml|\.golangci\.ya?ml"
)
_RECIPES = {
    "make": re.compile(r"(GNUm|M|m)akefile|.*\.mk"),
    "gmake": re.compile(r"(GNUm|M|m)akefile|.*\.mk"),
    "just": re.compile(r"\.?justfile|.*\.just", re.IGNORECASE),
    "task": re.compile(r"[Tt]askfile.*\.ya?ml"),
    "rake": re.compile(r"[Rr]akefile.*|.*\.rake"),
}
_CHECKING = re.compile(
    r"(^|[/_.-])(tests?|checks?|verify|verif\w*|lint|ci|spec|accept\w*|smoke|expect\w*|golden|validate|asserts?|baseline|fixtures?)([/_.-]|$)",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r".*\.(sh|bash|zsh|fish|bats|ps1|awk|sed|mk)")
_CODE = re.compile(r".*\.(py|sh|bash|[cm]?[jt]sx?)")
_SOURCED = re.compile(r"^\s*(?:\.|source)\s+[\"']?([\w@%+./-]+)", re.MULTILINE)
_INTERPRETERS = re.compile(
    r"(python|pypy)[\d.]*|node|deno|bun|ruby|perl|php|(ba|da|z|k|fi)?sh|source|\."
)
_LINTERS = frozenset(
    {
        "shellcheck",
        "ruff",
        "mypy",
        "flake8",
        "pylint",
        "black",
        "eslint",
        "prettier",
        "ty",
        "pyright",
    }
)
_WORD = re.compile(r"[\w@%+./-]+")

RUNNER_MODULES = frozenset({
    "pytest", "_pytest", "py", "pluggy", "iniconfig", "unittest", "nose", "coverage", "xdist", "hypothesis",
    "ralph_pytest_report", "ralph_unittest_report", "ralph_report_file", "ralph_framework_watch",
})  # fmt: skip
_MOST_TEXT = 1_000_000


def is_test_file(name: str) -> bool:
    """Return whether a runner collects tests from a file of this name."""
    return _TEST_NAME.fullmatch(name) is not None


def is_steering_file(path: str) -> bool:
    """Return whether a file of this path configures a runner."""
    name = path.rsplit("/", 1)[-1]
    if _STEERING_NAME.fullmatch(name):
        return True
    return path.startswith(".cargo/") or "/.cargo/" in path


def is_recipe(name: str) -> bool:
    """Return whether a file of this name holds recipes, which can replace one another."""
    return any(pattern.fullmatch(name) for pattern in _RECIPES.values())


def is_code(path: str) -> bool:
    """Return whether a check file is code or settings, which no check should write."""
    name = path.rsplit("/", 1)[-1]
    steers = is_steering_file(path) or is_recipe(name)
    return steers or is_test_file(name) or _CODE.fullmatch(name) is not None


class Watched:
    """Knows which paths of one project are inputs of its checks."""

    def __init__(self, root: Path, commands: Iterable[str], words: str = "") -> None:
        """Watch the inputs of `commands`; a file that the tasks' `words` name may be the work itself."""
        self._recipes: list[re.Pattern[str]] = []
        self.named: dict[str, None] = {}
        for command in commands:
            for program in programs(command):
                self._note(root, program, words)

    def holds(self, path: str, *, in_tests: bool) -> bool:
        """Return whether a path, relative to the project, is an input of checks."""
        name = path.rsplit("/", 1)[-1]
        if in_tests or is_test_file(name) or is_steering_file(path) or path in self.named:
            return True
        return any(pattern.fullmatch(name) for pattern in self._recipes)

    def _note(self, root: Path, program: tuple[str, ...], words: str) -> None:
        if not program:
            return
        name = PurePosixPath(program[0]).name
        if name in _RECIPES:
            self._recipes.append(_RECIPES[name])
        if name in _LINTERS:
            return
        runs = _INTERPRETERS.fullmatch(name) is not None
        for position, word in enumerate(program):
            path = _inside(root, word.partition("::")[0])
            if path and _is_check(path, words, runs=(runs and position > 0) or position == 0):
                self._add(root, path, depth=0)

    def _add(self, root: Path, path: str, *, depth: int) -> None:
        """Add a file, and what a script names in turn, except source code."""
        if path in self.named:
            return
        self.named[path] = None
        if depth > 3 or not (
            _SCRIPT.fullmatch(path) or _CHECKING.search(path) or _is_script(root / path)
        ):
            return
        text = text_of(root / path)
        sourced = set(_SOURCED.findall(text))
        for word in set(_WORD.findall(text)):
            found = _inside(root, word) or _inside(root, str(PurePosixPath(path).parent / word))
            if found and (_CHECKING.search(found) or word in sourced):
                self._add(root, found, depth=depth + 1)


def _is_check(path: str, words: str, *, runs: bool) -> bool:
    """Return whether a file that a command names checks the work; it may also be the work itself."""
    if _CHECKING.search(path):
        return True
    name = path.rsplit("/", 1)[-1]
    mentioned = re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", words) is not None
    return runs and not mentioned


def _inside(root: Path, word: str) -> str:
    """Return the path of an existing project file, relative to the project, or an empty string."""
    if not word or word.startswith("-") or len(word) > 500:
        return ""
    try:
        found = Path(os.path.normpath(root / word))
        relative = found.relative_to(root).as_posix()
        return (
            relative if found.is_file() and not NOT_THE_PROJECT & set(relative.split("/")) else ""
        )
    except (ValueError, OSError):
        return ""


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def text_of(path: Path) -> str:
    """Return the beginning of a file, or "" when it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_TEXT).decode("utf-8", "replace")
    except OSError:
        return ""


def walk(
    root: Path, watched: Watched, caches: list[str] | None = None
) -> Iterator[tuple[str, "os.DirEntry[str]"]]:
    """Yield the check files with their relative paths; add Python's caches to `caches`."""
    base = len(str(root)) + 1
    left = [(str(root), False)]
    while left:
        directory, in_tests = left.pop()
        try:
            entries = list(os.scandir(directory))
        except OSError:
            continue
        for entry in entries:
            name = entry.name
            if entry.is_dir(follow_symlinks=False):
                if name not in NOT_THE_PROJECT:
                    left.append((entry.path, in_tests or name in TEST_DIRECTORIES))
                elif name == "__pycache__" and caches is not None:
                    caches.append(entry.path)
                continue
            if name.endswith((".pyc", ".pyo")):
                continue
            path = entry.path[base:]
            if watched.holds(path, in_tests=in_tests):
                yield path, entry


def shadows(root: Path) -> Iterator[str]:
    """Yield modules of the project that shadow the standard library's or the runner's."""
    reserved = RUNNER_MODULES | sys.stdlib_module_names
    for directory in _import_roots(root):
        try:
            entries = list(os.scandir(directory))
        except OSError:
            continue
        for entry in entries:
            stem, dot, suffix = entry.name.partition(".")
            if stem not in reserved or stem.startswith("__"):
                continue
            module = dot and suffix.split(".")[-1] in {"py", "so", "pyc", "pyd"}
            path = Path(entry.path)
            if module and entry.is_file():
                yield path.relative_to(root).as_posix()
            elif not dot and stem not in TEST_DIRECTORIES and entry.is_dir():
                yield from (
                    found.relative_to(root).as_posix()
                    for found in path.rglob("*.py")
                    if "__pycache__" not in found.parts
                )


def _import_roots(root: Path) -> Iterator[Path]:
    """Yield the directories from which Python imports modules by bare name while checks run."""
    yield root
    for name in ("src", "lib", *sorted(TEST_DIRECTORIES)):
        if (root / name).is_dir():
            yield root / name


_SETTINGS = frozenset(
    {"conftest.py", "pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"}
)
_ASSIGNED = re.compile(
    r"^pytest_plugins\s*[:=][^\[(\"']*([\[(][^\])]*[\])]|[\"'][\w.]+[\"'])", re.MULTILINE
)
_QUOTED = re.compile(r"[\"']([\w.]+)[\"']")
_OPTION = re.compile(r"-p[\s\"',=]+([A-Za-z_][\w.]*)")
_ENTRY = re.compile(r"pytest11\s*=\s*\n?\s*[\w.-]+\s*=\s*([\w.]+)")


def declared_plugins(root: Path, trusted: Iterable[str]) -> frozenset[str]:
    """Return the plugin files that `trusted` settings and conftest files load. Blocks."""
    found: set[str] = set()
    for path in trusted:
        name = path.rsplit("/", 1)[-1]
        if name in _SETTINGS:
            for module in _modules(name, text_of(root / path)):
                found.update(_files(root, module))
    return frozenset(found)


def _modules(name: str, text: str) -> Iterator[str]:
    if name == "conftest.py":
        for assigned in _ASSIGNED.findall(text):
            yield from _QUOTED.findall(assigned)
        return
    yield from _OPTION.findall(text)
    yield from _ENTRY.findall(text)
    if name == "pyproject.toml":
        yield from _entry_points(text)


def _entry_points(text: str) -> Iterator[str]:
    try:
        entries = tomllib.loads(text).get("project", {}).get("entry-points", {}).get("pytest11", {})
        yield from (str(value).partition(":")[0] for value in entries.values())
    except (tomllib.TOMLDecodeError, AttributeError):
        return


def _files(root: Path, module: str) -> Iterator[str]:
    relative = module.replace(".", "/")
    for base in ("", "src/", *(f"{name}/" for name in sorted(TEST_DIRECTORIES))):
        for path in (f"{base}{relative}.py", f"{base}{relative}/__init__.py"):
            if (root / path).is_file():
                yield path
