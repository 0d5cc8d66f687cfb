"""Decide which files are inputs of checks: tests, runner settings, and files that check commands name."""

import fnmatch
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from pathlib import Path, PurePosixPath

from ralph_tui.engine.core.project_tree import EXCLUDED_DIRECTORIES
from ralph_tui.engine.verification.evidence.runners import (
    package_script,
    piped_words,
    placed_programs,
)

TEST_DIRECTORIES = frozenset({
    "tests", "test", "__tests__", "__snapshots__", "__mocks__", "testdata", "spec", "e2e", "t",
})  # fmt: skip
"""Directories of tests, test helpers and expected results."""

_DATA_DIRECTORIES = frozenset({
    "fixtures", "__fixtures__", "golden", "goldens", "test_data", "test-data", "testfixtures", "test_fixtures",
    "test-fixtures", "test_files", "test-files", "testcases", "test_cases", "test-cases", "expected",
})  # fmt: skip
"""Directories whose data files are expected results; code in a directory of such a name may be the work."""

_TEST_SUFFIXES = (
    r"py|[cm]?[jt]sx?|go|rs|rb|exs?|dart|cc|cpp|cxx|c|h|hpp|java|kt|cs|scala|php|swift|lua|pl|sh|bash|r|jl"
    r"|zig|cljc?|hs|ml|erl|nim|groovy|fs"
)
_TEST_NAME = re.compile(
    rf"tests?\.(?:{_TEST_SUFFIXES})|test[_.-].*\.(?:{_TEST_SUFFIXES})|.+[_.-]tests?\.(?:{_TEST_SUFFIXES})"
    r"|.+\.spec\.[cm]?[jt]sx?|.+_spec\.(?:rb|lua|py|ex|exs)|.*\.(?:bats|feature)"
    r"|.*(?:Tests?|Spec)\.(?:java|kt|cs|scala|php|swift|groovy|hs|fs)"
)
_SETTINGS_NAME = re.compile(
    r"\.?pytest\.(ini|toml)|pyproject\.toml|tox\.ini|setup\.cfg|conftest\.py|(site|user)customize\.py"
    r"|.*\.pth|noxfile\.py|\.?mypy\.ini|\.?(ruff|ty|pyrefly|clippy|rustfmt|typos|taplo)\.toml|pyrightconfig\.json"
    r"|\.flake8|\.bandit|\.isort\.cfg|\.sqlfluff|\.pre-commit-config\.yaml|nextest\.toml|\.clang-(tidy|format)"
    r"|hatch\.toml|uv\.toml|package\.json|pnpm-workspace\.yaml|\.pnpmfile\.c?js|(nx|turbo|lerna)\.json"
    r"|(jest|vitest|vite|babel|ava|playwright|cypress|eslint|prettier|stylelint|xo|mocha|wtr|web-test-runner|tap)\."
    r"(config|workspace)\.\w+|karma\.conf\.\w+|biome\.jsonc?|dprint\.jsonc?|tsconfig.*\.json"
    r"|(jest|vitest|mocha|tests?)[._-]?setup\.\w+|setup[._-]?(tests?|jest|vitest|mocha)\.\w+"
    r"|global[._-]?(setup|teardown)\.\w+|bunfig\.toml|deno\.jsonc?|\.(?!(?:nvm|bash|zsh|vim)rc)[\w-]+rc(\.\w+)?"
    r"|\.(?!(?:git|docker|npm|helm)ignore)\w+ignore|\.[\w-]*lint|\.?[\w-]*lint(ci)?\.(ya?ml|jsonc?|toml)|\.?golangci\.(ya?ml|json|toml)|\.rubocop.*\.yml"
    r"|\.env\.(test|testing|ci)|Cargo\.toml|rust-toolchain(\.toml)?|go\.mod|go\.work|phpunit\.xml(\.dist)?"
    r"|phpstan\.neon(\.dist)?|phpcs\.xml(\.dist)?|psalm\.xml|\.credo\.exs|\.scalafmt\.conf|\.rspec",
    re.IGNORECASE,
)
_RECIPES = {
    "make": re.compile(r"(GNUm|M|m)akefile|.*\.mk"),
    "gmake": re.compile(r"(GNUm|M|m)akefile|.*\.mk"),
    "just": re.compile(r"\.?justfile|.*\.just", re.IGNORECASE),
    "task": re.compile(r"[Tt]askfile.*\.ya?ml"),
    "rake": re.compile(r"[Rr]akefile.*|.*\.rake"),
}
_CHECK_NAME = re.compile(
    r"(^|[/_.-])(tests?|checks?|verify|verif\w*|lint|ci|spec|accept\w*|smoke|expect\w*|golden|validate|asserts?|baseline|fixtures?)([/_.-]|$)",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r".*\.(sh|bash|zsh|fish|bats|ps1|awk|sed|mk)")
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
_IGNORING = frozenset({"ruff", "black", "prettier", "ty", "pyrefly"})
"""Linters and formatters that leave out what .gitignore names."""

_WORD = re.compile(r"[\w@%+./-]+")
_TOOLING = re.compile(r"(^|/)(scripts?|tools?|hack|\.?ci|dev)/")
"""Directories of programs that serve the development of a project."""

_RECIPE_FILES = {
    "make": ("GNUmakefile", "makefile", "Makefile"),
    "just": ("justfile", "Justfile", ".justfile"),
}
_RECIPE = re.compile(
    r"^@?(?P<name>[\w.-]+)[^:=\n]*::?(?!=)(?P<needs>[^\n]*)\n(?P<lines>(?:[ \t]+[^\n]*(?:\n|$)|\n)*)",
    re.MULTILINE,
)
_INCLUDE = re.compile(r"^(?:-?s?include|import\??)[ \t]+([^\n#]+)", re.MULTILINE)
_PHONY = re.compile(r"^\.PHONY[ \t]*:([^\n]*(?:\\\n[^\n]*)*)", re.MULTILINE)
_DOTENV = re.compile(r"^set[ \t]+dotenv-load\b(?![ \t]*:=[ \t]*false)", re.MULTILINE)
_PYTHON_FILES = re.compile(r"^python_files\s*=\s*(\[[^\]]*\]|[^\n]*)", re.MULTILINE)
_SCRIPT_SETTINGS = re.compile(
    r"(jest|vitest|vite|mocha|karma|ava)\.(config|conf|workspace)\.\w+|\.mocharc.*"
)
_SET_UP = re.compile(
    r"\b(?:setupFiles\w*|globalSetup|globalTeardown|testEnvironment|testRunner|runner|resolver|reporters"
    r"|snapshotSerializers|require)[\"']?\s*:\s*(\[[^\]]*\]|[\"'][^\"'\n]+[\"'])"
)
_QUOTED_TEXT = re.compile(r"[\"']([^\"'\n]+)[\"']")
_GLOB = re.compile(r"[\w*?.-]+\.py")
_UNITTEST_NAME = re.compile(r"test.*\.py")
"""What unittest collects; pytest needs an underscore."""

_CODE_NAME = re.compile(rf".*\.(?:{_TEST_SUFFIXES})")
_MOST_DEPTH = 3

RUNNER_MODULES = frozenset({
    "pytest", "_pytest", "py", "pluggy", "iniconfig", "unittest", "nose", "coverage", "xdist", "hypothesis",
    "ralph_pytest_report", "ralph_unittest_report", "ralph_report_file", "ralph_framework_watch",
})  # fmt: skip
_MOST_TEXT = 1_000_000


def is_test_file(name: str) -> bool:
    return _TEST_NAME.fullmatch(name) is not None


def is_runner_settings(path: str) -> bool:
    """Return whether a file at this path configures a test runner or a linter."""
    name = path.rsplit("/", 1)[-1]
    if _SETTINGS_NAME.fullmatch(name):
        return True
    return path.startswith(".cargo/") or "/.cargo/" in path


def names_check(path: str) -> bool:
    return _CHECK_NAME.search(path) is not None


def is_recipe(name: str) -> bool:
    return any(pattern.fullmatch(name) for pattern in _RECIPES.values())


def is_code(path: str) -> bool:
    name = path.rsplit("/", 1)[-1]
    steers = is_runner_settings(path) or is_recipe(name)
    return steers or is_test_file(name) or _CODE_NAME.fullmatch(name) is not None


class CheckInputs:
    """Decides which paths of one project are inputs of its checks."""

    def __init__(self, root: Path, commands: Iterable[str], task_text: str = "") -> None:
        """Collect the inputs of `commands`; a file that `task_text` names may be the work itself."""
        self._root, self._task_text = root, task_text
        self._recipes: list[re.Pattern[str]] = []
        self._test_names = _test_names(root)
        self.named: dict[str, None] = dict.fromkeys(_set_up_files(root))
        self.included: set[str] = set()
        """Files that recipes include, whether they exist or not."""
        for command in commands:
            self._piped = piped_words(command)
            for place, program in placed_programs(command):
                self._add_program(place, program)

    def includes(self, path: str, *, in_tests: bool) -> bool:
        """Return whether a path, relative to the project, is an input of checks."""
        directory, _, name = path.rpartition("/")
        if in_tests or is_test_file(name) or is_runner_settings(path) or path in self.named:
            return True
        if not _DATA_DIRECTORIES.isdisjoint(directory.split("/")) and not is_code(path):
            return True
        if path in self.included or any(one.fullmatch(name) for one in self._test_names):
            return True
        return any(pattern.fullmatch(name) for pattern in self._recipes)

    def checks(self, path: str) -> bool:
        return self._is_check(path, runs=True)

    def _add_program(self, place: str, program: tuple[str, ...], depth: int = 0) -> None:
        """Add the files that a program runs or compares.

        Args:
            place: The directory that the program runs in, relative to the project.
            depth: The number of recipes and scripts that lead to it.
        """
        if not program:
            return
        name = PurePosixPath(program[0]).name
        if "unittest" in program:
            self._test_names.append(_UNITTEST_NAME)
        if name in _RECIPES:
            self._recipes.append(_RECIPES[name])
        if not _IGNORING.isdisjoint(program):
            self.included |= {".gitignore", ".ignore"}
        if name in _LINTERS:
            return
        self._add_words(place, program, inside=depth > 0)
        if depth < _MOST_DEPTH:
            for where, line in self._started_by(place, name, program):
                for here, words in placed_programs(line, where):
                    self._add_program(here, words, depth + 1)

    def _add_words(self, place: str, program: tuple[str, ...], *, inside: bool) -> None:
        judged = not inside and not self._piped.isdisjoint(
            program
        )  # by the program that reads its output
        runs = _INTERPRETERS.fullmatch(PurePosixPath(program[0]).name) is not None
        for position, word in enumerate(program):
            path = self._path(place, word.partition("::")[0])
            starts = not judged and ((runs and position > 0) or position == 0)
            sourced = program[0] in {".", "source"}
            if path and (sourced or self._is_check(path, runs=starts, inside=inside)):
                self._add_file(path, depth=0)
        if runs and "-m" in program[1:-1]:
            self._add_module(place, program[program.index("-m") + 1])

    def _started_by(
        self, place: str, name: str, program: tuple[str, ...]
    ) -> Iterator[tuple[str, str]]:
        where, text = _recipe_file(self._root, place, name, program)
        if text:
            self.included |= set(_included(where, text))
            for _, lines in _recipes_run(text, program[1:]):
                yield from ((where, line) for line in lines)
        elif script := package_script(program, self._root / place):
            yield place, script

    def _add_module(self, place: str, module: str) -> None:
        relative = module.replace(".", "/")
        for name in (f"{relative}.py", f"{relative}/__main__.py"):
            path = self._path(place, name)
            if path and _CHECK_NAME.search(path):
                self._add_file(path, depth=0)

    def _path(self, place: str, word: str) -> str:
        return _inside(self._root, f"{place}/{word}" if place else word)

    def _is_check(self, path: str, *, runs: bool, inside: bool = False) -> bool:
        """Return whether a file that a command names checks the work, rather than being the work.

        Args:
            inside: Whether the command is in a recipe or script, which may run the work as well.
        """
        if names_check(path):
            return True
        name = path.rsplit("/", 1)[-1]
        if not runs or (inside and not _TOOLING.search(path)):
            return False
        return not re.search(rf"(?<![\w]){re.escape(name)}(?![\w])", self._task_text)

    def _add_file(self, path: str, *, depth: int) -> None:
        if path in self.named:
            return
        self.named[path] = None
        if depth > _MOST_DEPTH or not (
            _SCRIPT.fullmatch(path) or _CHECK_NAME.search(path) or _is_script(self._root / path)
        ):
            return
        text = read_start(self._root / path)
        sourced = set(_SOURCED.findall(text))
        beside = str(PurePosixPath(path).parent)
        words = set(_WORD.findall(text))
        if path.endswith(".py"):
            words |= {f"{word.replace('.', '/')}.py" for word in words if not word.endswith(".py")}
        for word in words:
            found = self._path("", word) or self._path(beside, word)
            if found and (word in sourced or self._is_check(found, runs=True, inside=True)):
                self._add_file(found, depth=depth + 1)


def _set_up_files(root: Path) -> Iterator[str]:
    for path in root.iterdir() if root.is_dir() else ():
        if path.name == "package.json" or _SCRIPT_SETTINGS.fullmatch(path.name):
            for value in _SET_UP.findall(read_start(path)):
                for name in _QUOTED_TEXT.findall(value):
                    if found := _inside(root, name.removeprefix("<rootDir>/")):
                        yield found


def _test_names(root: Path) -> list[re.Pattern[str]]:
    found = []
    for name in (
        "pyproject.toml",
        "pytest.ini",
        ".pytest.ini",
        "tox.ini",
        "setup.cfg",
        "pytest.toml",
    ):
        for value in _PYTHON_FILES.findall(read_start(root / name)):
            found += [re.compile(fnmatch.translate(one)) for one in _GLOB.findall(value)]
    return found


def _recipes_run(text: str, words: Sequence[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the recipes that make or just runs for these words, or its first one, each with its lines.

    The prerequisites of a recipe without lines are followed, because it only collects others.
    """
    recipes = {m["name"]: m for m in reversed(list(_RECIPE.finditer(text)))}
    wanted = [word for word in words if word in recipes] or list(reversed(recipes))[:1]
    seen: set[str] = set()
    while wanted:
        name = wanted.pop(0)
        if name in seen:
            continue
        seen.add(name)
        lines = [one.strip().lstrip("@-+") for one in recipes[name]["lines"].splitlines()]
        yield name, [one for one in lines if one]
        if not any(lines):
            wanted += [one for one in recipes[name]["needs"].split() if one in recipes]


def targets_exist(root: Path, command: str) -> bool:
    """Return whether a file has the name of a target that a command makes, so that make may do nothing. Blocks."""
    for place, program in placed_programs(command):
        name = PurePosixPath(program[0]).name if program else ""
        where, text = _recipe_file(root, place, name, program)
        phony = {one for names in _PHONY.findall(text) for one in names.split()}
        for target, _ in _recipes_run(text, program[1:]):
            if target not in phony and (root / where / target).exists():
                return True
    return False


def _recipe_file(root: Path, place: str, name: str, program: Sequence[str]) -> tuple[str, str]:
    if name not in {"make", "gmake", "just"}:
        return place, ""
    where = place
    for option, value in pairwise(program):
        if option in {"-C", "--directory", "-d", "--working-directory"}:
            where = os.path.normpath(str(PurePosixPath(place, value)))
    files = _RECIPE_FILES["just" if name == "just" else "make"]
    return where, next((text for file in files if (text := read_start(root / where / file))), "")


def _included(place: str, text: str) -> Iterator[str]:
    for names in _INCLUDE.findall(text):
        for name in names.replace('"', " ").replace("'", " ").split():
            yield os.path.normpath(str(PurePosixPath(place, name)))
    if _DOTENV.search(text):
        yield os.path.normpath(str(PurePosixPath(place, ".env")))


def _inside(root: Path, word: str) -> str:
    if not word or word.startswith("-") or len(word) > 500:
        return ""
    try:
        found = Path(os.path.normpath(root / word))
        relative = found.relative_to(root).as_posix()
        return (
            relative
            if found.is_file() and not EXCLUDED_DIRECTORIES & set(relative.split("/"))
            else ""
        )
    except (ValueError, OSError):
        return ""


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def read_start(path: Path) -> str:
    """Return the beginning of a file, or an empty string if it cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(_MOST_TEXT).decode("utf-8", "replace")
    except OSError:
        return ""


def walk(
    root: Path, inputs: CheckInputs, caches: list[str] | None = None
) -> Iterator[tuple[str, str]]:
    """Yield the check files, relative to the project and absolute; collect Python's caches in `caches`."""
    base = len(str(root)) + 1
    left = [(str(root), False)]
    while left:
        directory, in_tests = left.pop()
        try:
            entries = list(os.scandir(directory))
        except OSError:
            continue
        for entry in entries:
            name, path = entry.name, entry.path[base:]
            if entry.is_dir(follow_symlinks=False):
                if name not in EXCLUDED_DIRECTORIES:
                    left.append((entry.path, in_tests or name in TEST_DIRECTORIES))
                elif name == "__pycache__" and caches is not None:
                    caches.append(entry.path)
                continue
            if entry.is_symlink() and (in_tests or name in TEST_DIRECTORIES):
                yield from _behind_link(root, path)
            if not name.endswith((".pyc", ".pyo")) and inputs.includes(path, in_tests=in_tests):
                yield path, entry.path


def _behind_link(root: Path, path: str) -> Iterator[tuple[str, str]]:
    """Yield the data files behind a link in a directory of tests, because tests read them; code may be the work."""
    real, base = os.path.realpath(root / path), os.path.realpath(root)
    found = os.path.relpath(real, base)
    if (
        found.startswith("..")
        or path.startswith(f"{found}/")
        or EXCLUDED_DIRECTORIES & set(found.split("/"))
    ):
        return
    if Path(real).is_file():
        files = iter([real])
    else:
        files = (str(Path(at, name)) for at, _, names in os.walk(real) for name in names)
    for file in files:
        relative = os.path.relpath(file, base)
        if not is_code(relative):
            yield relative, file


_PLUGIN_SETTINGS = frozenset(
    {"conftest.py", "pyproject.toml", "pytest.ini", ".pytest.ini", "tox.ini", "setup.cfg"}
)
_ASSIGNED = re.compile(
    r"^pytest_plugins\s*[:=][^\[(\"']*([\[(][^\])]*[\])]|[\"'][\w.]+[\"'])", re.MULTILINE
)
_QUOTED = re.compile(r"[\"']([\w.]+)[\"']")
_OPTION = re.compile(r"-p[\s\"',=]+([A-Za-z_][\w.]*)")
_ENTRY_POINT = re.compile(r"pytest11\s*=\s*\n?\s*[\w.-]+\s*=\s*([\w.]+)")


def declared_plugins(root: Path, trusted: Iterable[str], *, offered: bool = True) -> frozenset[str]:
    """Return the plugin files that settings and conftest files load. Blocks.

    Args:
        trusted: The settings and conftest files, among other files.
        offered: Whether to include the plugins that the project offers to others, which are its work.
    """
    loaded: set[str] = set()
    own: set[str] = set()
    for path in trusted:
        name = path.rsplit("/", 1)[-1]
        if name in _PLUGIN_SETTINGS:
            text = read_start(root / path)
            for module in _loaded_plugins(name, text):
                loaded.update(_module_files(root, module))
            for module in _offered_plugins(name, text):
                own.update(_module_files(root, module))
    return frozenset(loaded | own if offered else loaded - own)


def _loaded_plugins(name: str, text: str) -> Iterator[str]:
    if name != "conftest.py":
        yield from _OPTION.findall(text)
        return
    for assigned in _ASSIGNED.findall(text):
        yield from _QUOTED.findall(assigned)


def _offered_plugins(name: str, text: str) -> Iterator[str]:
    if name != "conftest.py":
        yield from _ENTRY_POINT.findall(text)
    if name == "pyproject.toml":
        yield from _entry_points(text)


def _entry_points(text: str) -> Iterator[str]:
    try:
        entries = tomllib.loads(text).get("project", {}).get("entry-points", {}).get("pytest11", {})
        yield from (str(value).partition(":")[0] for value in entries.values())
    except (tomllib.TOMLDecodeError, AttributeError):
        return


def _module_files(root: Path, module: str) -> Iterator[str]:
    relative = module.replace(".", "/")
    for base in ("", "src/", *(f"{name}/" for name in sorted(TEST_DIRECTORIES))):
        for path in (f"{base}{relative}.py", f"{base}{relative}/__init__.py"):
            if (root / path).is_file():
                yield path
