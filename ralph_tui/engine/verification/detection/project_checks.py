"""Detect which commands check this project, from its files or the settings.

Detection reads a few files, takes milliseconds and never runs the project's code. Do not keep the result,
because an agent may add the first test at any time.
"""

import fnmatch
import json
import re
import shlex
from collections.abc import Container, Iterable, Iterator, Mapping
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

from ralph_tui.config.settings import DETECTED, Settings
from ralph_tui.domain.base import Model
from ralph_tui.domain.verification.check_commands import (
    GATE_KINDS,
    NO_CHECKS,
    CheckCommand,
    CheckKind,
    ProjectChecks,
    PythonManager,
)
from ralph_tui.engine.verification.detection.python_declarations import (
    PYPROJECT,
    DirectoryFiles,
    PythonProject,
    table,
)
from ralph_tui.store.backup.check_store import REQUIRED, CheckStore, RequiredChecks, missing

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


_C = "CMakeLists.txt Makefile.am meson.build"
_CMAKE = "cmake -B build && cmake --build build && ctest --test-dir build"
_BY_MANIFEST = (
    ("Cargo.toml", CheckKind.TESTS, "cargo test --workspace", "Cargo.toml:[workspace]"),
    ("Cargo.toml", CheckKind.TESTS, "cargo test", ""),
    ("Cargo.toml", CheckKind.TYPECHECK, "cargo check --workspace", "Cargo.toml:[workspace]"),
    ("Cargo.toml", CheckKind.TYPECHECK, "cargo check", ""),
    ("Cargo.toml", CheckKind.LINT, "cargo clippy", "clippy.toml .clippy.toml"),
    ("Cargo.toml", CheckKind.FORMAT, "cargo fmt --check", "rustfmt.toml .rustfmt.toml"),
    ("go.mod", CheckKind.TESTS, "go test ./...", ""),
    ("go.mod", CheckKind.TYPECHECK, "go vet ./...", ""),
    ("go.mod", CheckKind.LINT, "golangci-lint run", ".golangci.yml .golangci.yaml"),
    ("go.mod", CheckKind.LINT, "go vet ./...", ""),
    ("*.gradle* pom.xml", CheckKind.TESTS, "mvn -q test", "pom.xml"),
    ("*.gradle* pom.xml", CheckKind.TESTS, "./gradlew test", "gradlew"),
    ("*.gradle* pom.xml", CheckKind.TESTS, "gradle test", ""),
    ("build.sbt", CheckKind.TESTS, "sbt test", ""),
    ("*.sln* *.[cf]sproj", CheckKind.TESTS, "dotnet test", "*.sln*:sproj *.[cf]sproj"),
    ("deno.json*", CheckKind.TESTS, "deno test", ""),
    ("pubspec.yaml", CheckKind.TESTS, "dart test", "test"),
    ("stack.yaml", CheckKind.TESTS, "stack test", ""),
    ("*.cabal", CheckKind.TESTS, "cabal test", ""),
    ("dune-project", CheckKind.TESTS, "dune test", ""),
    ("project.clj", CheckKind.TESTS, "lein test", "test"),
    ("rebar.config", CheckKind.TESTS, "rebar3 eunit", ""),
    ("gleam.toml", CheckKind.TESTS, "gleam test", ""),
    ("build.zig", CheckKind.TESTS, "zig build test", ""),
    ("shard.yml", CheckKind.TESTS, "crystal spec", "spec"),
    ("*.PL cpanfile", CheckKind.TESTS, "perl Makefile.PL && make && prove -br t", "*.xs"),
    ("*.PL cpanfile", CheckKind.TESTS, "prove -lr t", "t"),
    ("mix.exs", CheckKind.TESTS, "mix test", ""),
    ("Package.swift", CheckKind.TESTS, "swift test", ""),
    ("Rakefile", CheckKind.TESTS, "rake test", "test"),
    ("Gemfile", CheckKind.TESTS, "bundle exec rspec", ".rspec spec"),
    ("composer.json", CheckKind.TESTS, "vendor/bin/phpunit", "phpunit.xml phpunit.xml.dist"),
    (_C, CheckKind.TESTS, _CMAKE, "CMakeLists.txt:ctest CMakeLists.txt:enable_testing"),
    (_C, CheckKind.TESTS, "test -f Makefile || ./configure && make check", "configure"),
    (_C, CheckKind.TESTS, "autoreconf -i && ./configure && make check", "Makefile.am"),
    (_C, CheckKind.TESTS, "meson setup build && meson test -C build", "meson.build:test"),
)
"""The checks that a manifest, by names or patterns, determines, alone or with one of these beside it or a text in it; the first of a kind is used."""
_OTHER_MANIFESTS = "pyproject.toml setup.py *requirements*.txt Pipfile package.json GNUmakefile [Mm]akefile [Jj]ustfile"

_PYTHON_TOOLS: dict[CheckKind, tuple[tuple[str, str], ...]] = {
    CheckKind.TESTS: (("pytest", "pytest"),),
    CheckKind.TYPECHECK: (
        ("mypy", "mypy ."),
        ("pyright", "pyright"),
        ("basedpyright", "basedpyright"),
        ("ty", "ty check"),
        ("pyrefly", "pyrefly check"),
    ),
    CheckKind.LINT: (
        ("ruff", "ruff check ."),
        ("flake8", "flake8 --extend-exclude .venv,venv ."),
    ),
    CheckKind.FORMAT: (("ruff", "ruff format --check ."), ("black", "black --check .")),
}
"""Tools by kind, with their command lines; the first tool that the project has is used."""

_PYTEST_PLUGINS = {
    "--cov": "pytest-cov", "asyncio_mode": "pytest-asyncio", "DJANGO_SETTINGS_MODULE": "pytest-django", "-n auto": "pytest-xdist",
    "--timeout": "pytest-timeout",
}  # fmt: skip
"""Words of pytest's settings, and the plugins without which it refuses them."""

_MYPY_FILES = re.compile(
    r"^\[(?:tool\.)?mypy\]\s*\n(?:(?!\[)[^\n]*\n)*?(?:files|packages|modules)\s*=", re.MULTILINE
)
_PYTEST_SETTINGS = (PYPROJECT, "pytest.ini", "setup.cfg", "tox.ini")
_OF_PYTEST = re.compile(r"^\[(?:tool[.:])?pytest\b", re.MULTILINE)
_PYTHON_TEST_FILE = re.compile(r"test.*\.py")
_UNITTEST = re.compile(r"^\s*(?:import|from) unittest\b", re.MULTILINE)
_PYTEST = re.compile(r"^(?:async )?def test_|^class Test\w*(?:\(\))?:", re.MULTILINE)
_NODE_TEST_FILE = re.compile(r".*[.-]test\.[cm]?[jt]s|test[.-].*\.[cm]?js|test\.[cm]?js")
_NODE_TEST = re.compile(r"""["']node:test["']""")
_TSC = {"npm": "npx --no-install", "pnpm": "pnpm exec", "yarn": "yarn exec", "bun": "bun x"}
_TESTS_IN = ("tests", "test", ".", "src")
MOST_READ = 40
_TEST_PATHS = re.compile(r"^testpaths\s*=((?:[^\n\]]|\n(?=[ \t\]]))*)", re.MULTILINE)


def checks_of(root: Path, settings: Settings) -> ProjectChecks:
    return _with_settings(detect_checks(DirectoryFiles(root)), settings)


def _with_settings(detected: ProjectChecks, settings: Settings) -> ProjectChecks:
    own = tuple(_configured(settings))
    kinds = {command.kind for command in own}
    found = (command for command in detected.commands if command.kind not in kinds)
    return detected.model_copy(update={"commands": (*own, *found)})


def gate_commands(checks: ProjectChecks, settings: Settings) -> tuple[str, ...]:
    """Return the commands that the gate runs for every task: the settings' list with names resolved."""
    resolved: list[str] = []
    for one in settings.phases.building.backpressure:
        resolved += checks.gate if one == DETECTED else [checks.named.get(one, one)]
    return tuple(dict.fromkeys(resolved))


class GateRules(Model):
    """The gate's rules: its commands and the project's checks."""

    commands: tuple[str, ...] = ()
    """The commands that run for every task."""
    checks: ProjectChecks = NO_CHECKS
    """The commands for the names in criteria."""

    def without(self, left_out: Container[str]) -> "GateRules":
        kept = tuple(one for one in self.checks.commands if one.command not in left_out)
        checks = self.checks.model_copy(update={"commands": kept})
        now = {line: checks.named.get(name, "") for name, line in self.checks.named.items()}
        lines = (now.get(one, one) for one in self.commands if one not in left_out)
        return GateRules(commands=tuple(dict.fromkeys(filter(None, lines))), checks=checks)


class ChecksOfRun:
    """The project's checks during one run of the loop.

    Checks that an agent adds count at once. Checks that existed when the run began stay required, so a
    project whose tests can no longer be detected fails its gate. Tests stay required even if the agent adds
    another way to run tests. This also applies to later runs, until the person removes the check while nothing
    runs, or sets another one in the settings.
    """

    def __init__(self, root: Path, settings: Settings) -> None:
        """Record the project's current checks. Blocks on reading a few files."""
        self._root, self._settings = root, settings
        self._store = CheckStore(root)
        found = checks_of(self._root, self._settings)
        required = self._store.load(REQUIRED, RequiredChecks) or RequiredChecks()
        self._still_required = required.still(found.commands)
        commands = (*found.commands, *self._still_required)
        self._required = found.model_copy(update={"commands": commands})

    @property
    def lost(self) -> tuple[str, ...]:
        """Sentences about the checks that an earlier run lost, with what to do."""
        return tuple(
            f"{one.file} no longer defines how to check `{one.kind.value}`. `{one.command}` stays required. "
            f"Restore it, or {f'set {one.kind.setting}' if one.kind.setting else 'remove it from the criteria that name it'}."
            for one in self._still_required
        )

    def begin(self) -> None:
        """Record that a run begins. Blocks on the disk."""
        self._store.save(REQUIRED, RequiredChecks(commands=self._required.commands))

    def end(self) -> None:
        """Store the required checks for later runs. Blocks on the disk."""
        found = checks_of(self._root, self._settings).commands
        required = RequiredChecks(commands=self._now().commands, left=found)
        self._store.save(REQUIRED, required)

    def _now(self) -> ProjectChecks:
        found = checks_of(self._root, self._settings)
        commands = (*found.commands, *missing(self._required.commands, found.commands))
        python = found.python or self._required.python
        return found.model_copy(update={"commands": commands, "python": python})

    def rules(self) -> GateRules:
        """Return the gate's current rules. Blocks on reading a few files."""
        checks = self._now()
        return GateRules(commands=gate_commands(checks, self._settings), checks=checks)


def _configured(settings: Settings) -> Iterator[CheckCommand]:
    build = settings.build
    commands = (build.test_command, build.typecheck_command, build.lint_command)
    for kind, command in zip(GATE_KINDS, commands, strict=True):
        if command != DETECTED:
            yield CheckCommand(kind=kind, command=command, file=kind.setting)


def detect_checks(files: DirectoryFiles) -> ProjectChecks:
    """Return the checks in a project's files, and those of packages below that the root does not check."""
    found = _checks_here(files)
    tests = found.of(CheckKind.TESTS)
    text = _text_of(files, tests)
    tested = [*_tested_below(files)]
    commands = [
        _in_directory(path, command.model_copy(update={"spare": bool(tests)}))
        for path, part in tested
        for command in part.commands
        if not (tests or found.of(command.kind))
        or (command.kind is CheckKind.TESTS and not _reached(files, text, path, command))
    ]
    ours = [part.python for _, part in tested] if not tests else []
    managers: list[PythonManager] = [found.python, *ours]
    python: PythonManager = next((one for one in managers if one), "")
    return ProjectChecks(commands=(*found.commands, *commands), python=python)


def _checks_here(files: DirectoryFiles) -> ProjectChecks:
    project = PythonProject(files)
    commands: list[CheckCommand] = []
    for language in (_python_checks(project), _node_checks(files), *_manifest_checks(files)):
        firsts = {command.kind: command for command in reversed([*language])}
        lines = {command.command for command in commands}
        found = (firsts[kind] for kind in CheckKind if kind in firsts)
        commands += [one for one in found if one.command not in lines]
    kinds = {command.kind for command in commands}
    for tasks in recipe_tasks(files):
        named = (tasks.check(kind, ("check",) * (kind is CheckKind.TESTS)) for kind in CheckKind)
        commands += [one for one in named if one is not None and one.kind not in kinds]
    return ProjectChecks(commands=tuple(commands), python=project.manager)


def _manifest_checks(files: DirectoryFiles) -> Iterator[list[CheckCommand]]:
    names = files.names()

    def first(patterns: str) -> str:
        wanted = (one.partition(":") for one in patterns.split())
        found = ((n, text) for name, _, text in wanted for n in fnmatch.filter(names, name))
        return next((n for n, text in found if not text or text in files.read(n).lower()), "")

    for patterns, rows in groupby(_BY_MANIFEST, itemgetter(0)):
        if first(patterns):
            there = [(*row, file) for row in rows if (file := first(row[3] or patterns))]
            yield [check(k, line, there[0][2].split()[0], file) for _, k, line, _, file in there]


def _node_checks(files: DirectoryFiles) -> Iterator[CheckCommand]:
    package = read_package(files)
    if package is None:  # the package manager reports what is wrong with the file
        yield check(CheckKind.TESTS, "npm test", "npm", PACKAGE, "(cannot be read)")
        return
    for tasks in package_tasks(files):
        yield from (one for kind in CheckKind if (one := tasks.check(kind)))
    declared = {**table(package, "dependencies"), **table(package, "devDependencies")}
    if "typescript" in declared and "tsconfig.json" in files.names():
        command = f"{_TSC[package_manager(package, files)]} tsc --noEmit"
        part = "typescript, tsconfig.json"
        yield check(CheckKind.TYPECHECK, command, "tsc", PACKAGE, part)
    for directory in (".", "test", "tests", "src"):
        if found := _file_with(_NODE_TEST, _NODE_TEST_FILE, files, directory):
            yield check(CheckKind.TESTS, "node --test", "node", found)


def _python_checks(project: PythonProject) -> list[CheckCommand]:
    if project.broken:  # the command reports what is wrong with the file
        return [check(CheckKind.TESTS, "uv run pytest", "pytest", PYPROJECT, "(cannot be read)")]
    if not project.manager:
        return []
    found = []
    mypy = "".join(map(project.files.read, ("mypy.ini", ".mypy.ini", "setup.cfg", PYPROJECT)))
    for kind, tools in _PYTHON_TOOLS.items():
        for tool, line in tools:
            place = project.place_of(tool)
            # What a person left out of their environment is no check of theirs, but tests are always needed.
            if place and (kind is CheckKind.TESTS or place.run.startswith(project.venv)):
                own = "mypy" if line == "mypy ." and _MYPY_FILES.search(mypy) else line
                found.append(check(kind, f"{place.run} {own}", tool, place.file, place.part))
    found += _undeclared_tests(project)
    return sorted(found, key=lambda one: not one.command.startswith(project.venv))


def _undeclared_tests(project: PythonProject) -> Iterator[CheckCommand]:
    tests = partial(check, CheckKind.TESTS)
    files, through_uv = project.files, project.run.startswith("uv run")
    settings = "".join(map(files.read, _PYTEST_SETTINGS))
    needed = ["pytest", *(name for word, name in _PYTEST_PLUGINS.items() if word in settings)]
    options = "".join(f" --with {name}" for name in needed) if through_uv else ""
    pytest = f"{project.run}{options} pytest"
    own = (one for one in _PYTEST_SETTINGS if _OF_PYTEST.search(files.read(one)))
    if through_uv and (file := next(own, "")):
        yield tests(pytest, "pytest", file)
    if "django" in (files.read("manage.py")):
        yield tests(f"{project.python} manage.py test", "django", "manage.py")
    # Functions, and classes without a base, are found by pytest only.
    inner = (f"{top}/{name}" for top in ("tests", "test") for name in files.names(top))
    for directory in (*_TESTS_IN, *(name for name in inner if "." not in name)):
        if found := _file_with(_PYTEST, _PYTHON_TEST_FILE, files, directory):
            conda = "environment.yml" in project.names
            yield tests("python -m pytest" if conda else pytest, "pytest", found)
    for directory in _TESTS_IN:
        if found := _file_with(_UNITTEST, _PYTHON_TEST_FILE, files, directory):
            package = directory == "." or "__init__.py" in files.names(directory)
            below = "" if package else f" discover -s {directory}"
            yield tests(f"{project.python} -m unittest{below}", "unittest", found)


def _file_with(
    text: re.Pattern[str], name: re.Pattern[str], files: DirectoryFiles, directory: str
) -> str:
    found = [one for one in files.names(directory) if name.fullmatch(one)]
    paths = (one if directory == "." else f"{directory}/{one}" for one in found[:MOST_READ])
    return next((path for path in paths if text.search(files.read(path))), "")


def _tested_below(files: DirectoryFiles) -> Iterator[tuple[str, ProjectChecks]]:
    known = f"{_OTHER_MANIFESTS} {' '.join(row[0] for row in _BY_MANIFEST)}".split()
    manifest = re.compile("|".join(map(fnmatch.translate, known)))
    found: list[str] = []
    for path in files.inner():
        inside = any(path.startswith(f"{one}/") for one in found)
        if not inside and any(map(manifest.fullmatch, files.names(path))):
            part = _checks_here(files.below(path))
            if part.of(CheckKind.TESTS):
                found.append(path)
                yield path, part


def _text_of(files: DirectoryFiles, tests: Iterable[CheckCommand]) -> str:
    """Return the commands of tests, with the scripts and recipes that they name."""
    texts = {name: text for tasks in package_tasks(files) for name, text in tasks.texts.items()}
    for program, names in RECIPE_FILES.items():
        for name, recipe in recipes("\n".join(map(files.read, names)), program).items():
            texts.setdefault(name, "\n".join((" ".join(recipe.needs), *recipe.lines)))
    text = "\n".join(one.command for one in tests)
    while named := [n for n in texts if re.search(rf"(?<![\w:.-]){re.escape(n)}(?![\w:.-])", text)]:
        text = "\n".join((text, *map(texts.pop, named)))
    return text


def _reached(files: DirectoryFiles, text: str, path: str, command: CheckCommand) -> bool:
    """Return whether the root's tests, of which `text` is everything that runs, also run those of a package below.

    They name its directory, or a list of members does, or they collect tests of this tool wherever they are.
    """
    if _names(path, text):
        return True
    file, tool = command.file.rpartition("/")[2], command.runner
    patterns = next((row[0] for row in _BY_MANIFEST if _matches(file, row[0])), "")
    if patterns or tool in RECIPE_FILES or file == PACKAGE:
        lists = (n for n in files.names() if "workspace" in n or _matches(n, patterns or file))
        if _names(path, "\n".join(map(files.read, lists))):
            return True
        scripts = read_package(files.below(path)) or {}
        tool = str(table(scripts, "scripts").get("test", "")).partition(" ")[0]
        if file != PACKAGE or not tool:
            return False
    elif places := _TEST_PATHS.findall("".join(map(files.read, _PYTEST_SETTINGS))):
        return _names(path, places[0])
    everywhere = rf"(?<![\w./-]){re.escape(tool)}(?:[ \t]+[^\s&|;./*]+)*[ \t]*(?=$|[&|;])"
    return bool(re.search(everywhere, text, re.MULTILINE))


def _matches(name: str, patterns: str) -> bool:
    return any(fnmatch.fnmatchcase(name, one) for one in patterns.split())


def _names(path: str, text: str) -> bool:
    words = {word.strip("./") for word in re.findall(r"[\w.*/@-]+", text)} - {""}
    parts = path.split("/")
    return any(
        one == parts[-1] or all(map(fnmatch.fnmatchcase, parts, one.split("/"))) for one in words
    )


def _in_directory(path: str, command: CheckCommand) -> CheckCommand:
    line = f"(cd {shlex.quote(path)} && {command.command})"
    return command.model_copy(update={"command": line, "file": f"{path}/{command.file}"})
