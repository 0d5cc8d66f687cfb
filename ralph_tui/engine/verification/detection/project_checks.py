"""Detect which commands check this project, from its files or the settings.

The gate, the prompts, `ralph init`, `ralph doctor`, `ralph test` and the screen all use this module:

    checks = checks_of(root, settings)   # detected, or from `build.*_command` where set
    checks.line(CheckKind.TESTS)         # "uv run --extra test pytest", or "" when there is none
    checks.named                         # {"tests": …, "lint": …, "all": …}: names for criteria
    gate_commands(checks, settings)      # what the gate runs for every task
    ChecksOfRun(root, settings).rules()  # both, during a run of the loop

Detection reads a few files, takes milliseconds and never runs the project's code. Do not keep the result,
because an agent may add the first test at any time.
"""

import re
import shlex
from collections.abc import Iterable, Iterator
from pathlib import Path

from ralph_tui.config.settings import DETECTED, Settings
from ralph_tui.domain.base import Model
from ralph_tui.domain.verification.check_commands import (
    NO_CHECKS,
    CheckCommand,
    CheckKind,
    ProjectChecks,
    PythonManager,
)
from ralph_tui.engine.verification.detection.directory_files import (
    CachedFiles,
    DirectoryFiles,
    ProjectFiles,
)
from ralph_tui.engine.verification.detection.node_checks import node_checks, start_script
from ralph_tui.engine.verification.detection.python_checks import python_checks
from ralph_tui.engine.verification.detection.python_declarations import PythonProject, table
from ralph_tui.store.backup.check_store import CheckStore, RequiredChecks, missing

_BY_MANIFEST: dict[str, tuple[tuple[CheckKind, str], ...]] = {
    "Cargo.toml": (
        (CheckKind.TESTS, "cargo test"),
        (CheckKind.TYPECHECK, "cargo check"),
    ),
    "go.mod": (
        (CheckKind.TESTS, "go test ./..."),
        (CheckKind.TYPECHECK, "go vet ./..."),
        (CheckKind.LINT, "go vet ./..."),
    ),
    "pom.xml": ((CheckKind.TESTS, "mvn -q test"),),
    "gradlew": ((CheckKind.TESTS, "./gradlew test"),),
    "mix.exs": ((CheckKind.TESTS, "mix test"),),
    "Package.swift": ((CheckKind.TESTS, "swift test"),),
}
"""The checks of languages whose manifest alone determines them."""

_BY_SETTINGS: dict[str, tuple[CheckKind, str]] = {
    "clippy.toml": (CheckKind.LINT, "cargo clippy"),
    ".clippy.toml": (CheckKind.LINT, "cargo clippy"),
    "rustfmt.toml": (CheckKind.FORMAT, "cargo fmt --check"),
    ".rustfmt.toml": (CheckKind.FORMAT, "cargo fmt --check"),
    ".golangci.yml": (CheckKind.LINT, "golangci-lint run"),
    ".golangci.yaml": (CheckKind.LINT, "golangci-lint run"),
}
"""The checks of tools that a settings file reveals."""

_TARGETS: dict[CheckKind, tuple[str, ...]] = {
    CheckKind.TESTS: ("test", "tests", "check"),
    CheckKind.TYPECHECK: ("typecheck", "type-check", "types", "mypy"),
    CheckKind.LINT: ("lint",),
    CheckKind.FORMAT: ("format-check", "fmt-check", "check-format"),
}
_RUNNER_FILES = (
    ("Makefile", "make"),
    ("makefile", "make"),
    ("GNUmakefile", "make"),
    ("justfile", "just"),
    ("Justfile", "just"),
    (".justfile", "just"),
)
_MAKE_TARGET = re.compile(
    r"^([A-Za-z][\w-]*(?:[ \t]+[A-Za-z][\w-]*)*)[ \t]*::?(?![=:])", re.MULTILINE
)
_JUST_RECIPE = re.compile(r"^@?([A-Za-z][\w-]*)(?:[ \t]+[^:=\n]*)?:(?!=)", re.MULTILINE)

_PROJECT_PARENTS = ("packages", "apps", "libs", "services", "crates", "modules")
"""Directories of a monorepo that contain projects."""
_NEVER_PROJECTS = frozenset({
    "node_modules", "venv", "env", "vendor", "target", "dist", "build", "docs", "examples", "example",
    "tests", "test", "fixtures", "templates",
})  # fmt: skip
MOST_SUB_PROJECTS = 20


def checks_of(root: Path, settings: Settings) -> ProjectChecks:
    return _with_settings(detect_checks(DirectoryFiles(root)), settings)


def _with_settings(detected: ProjectChecks, settings: Settings) -> ProjectChecks:
    own = tuple(_configured(settings))
    kinds = {command.kind for command in own}
    found = (command for command in detected.commands if command.kind not in kinds)
    return detected.model_copy(update={"commands": (*own, *found)})


def gate_commands(checks: ProjectChecks, settings: Settings) -> tuple[str, ...]:
    """Return the commands that the gate runs for every task: the settings' list with names resolved."""
    listed = settings.phases.building.backpressure
    resolved: list[str] = []
    for one in listed:
        resolved += checks.gate if one == DETECTED else [checks.named.get(one, one)]
    return tuple(dict.fromkeys(resolved))


_HOW_TO_REMOVE = {
    CheckKind.TESTS: "set build.test_command",
    CheckKind.TYPECHECK: "set build.typecheck_command",
    CheckKind.LINT: "set build.lint_command",
    CheckKind.FORMAT: "remove it from the criteria that name it",
}
"""How a person removes a required check."""


class GateRules(Model):
    """The gate's rules: its commands and the project's checks."""

    commands: tuple[str, ...] = ()
    """The commands that run for every task."""
    checks: ProjectChecks = NO_CHECKS
    """The commands for the names in criteria."""


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
        self._cache: tuple[CachedFiles, ProjectChecks] | None = None
        """The files that the last detection read, and its result."""
        found = self._detect()
        self._still_required = self._store.required().still(found.commands)
        self._required = found.model_copy(
            update={"commands": (*found.commands, *self._still_required)}
        )

    @property
    def lost(self) -> tuple[str, ...]:
        """Sentences about the checks that an earlier run lost, with what to do."""
        return tuple(
            f"{one.file} no longer defines how to check `{one.kind.value}`. `{one.command}` stays required. "
            f"Restore it, or {_HOW_TO_REMOVE[one.kind]}."
            for one in self._still_required
        )

    def begin(self) -> None:
        """Record that a run begins. Blocks on the disk."""
        self._store.save_required(RequiredChecks(commands=self._required.commands, running=True))

    def end(self) -> None:
        """Store the required checks for later runs. Blocks on the disk."""
        found = self._detect().commands
        kinds = {command.kind for command in found}
        gone = tuple(missing(self._required.commands, found))
        lost = tuple(dict.fromkeys(one.kind for one in gone if one.kind not in kinds))
        replaced = tuple(one.command for one in gone if one.kind in kinds)
        commands = (*found, *gone)
        self._store.save_required(RequiredChecks(commands=commands, lost=lost, replaced=replaced))

    def now(self) -> ProjectChecks:
        """Return the current checks, including required ones. Blocks on reading a few files."""
        found = self._detect()
        commands = (*found.commands, *missing(self._required.commands, found.commands))
        return found.model_copy(
            update={"commands": commands, "python": found.python or self._required.python}
        )

    def _detect(self) -> ProjectChecks:
        if self._cache is not None and self._cache[0].is_current():
            return self._cache[1]
        files = CachedFiles(DirectoryFiles(self._root))
        found = _with_settings(detect_checks(files), self._settings)
        self._cache = files, found
        return found

    def rules(self) -> GateRules:
        """Return the gate's current rules. Blocks on reading a few files."""
        checks = self.now()
        return GateRules(commands=gate_commands(checks, self._settings), checks=checks)


def _configured(settings: Settings) -> Iterator[CheckCommand]:
    build = settings.build
    named = (
        (CheckKind.TESTS, build.test_command, "build.test_command"),
        (CheckKind.TYPECHECK, build.typecheck_command, "build.typecheck_command"),
        (CheckKind.LINT, build.lint_command, "build.lint_command"),
    )
    for kind, command, setting in named:
        if command != DETECTED:
            yield CheckCommand(kind=kind, command=command, file=setting)


def detect_checks(files: ProjectFiles) -> ProjectChecks:
    """Return the checks in a project's files, or those of its sub-projects if the root has no tests."""
    found = _checks_here(files)
    if found.of(CheckKind.TESTS):
        return found
    parts = [(path, _checks_here(_Subdirectory(files, path))) for path in _sub_projects(files)]
    tested = [(path, part) for path, part in parts if part.of(CheckKind.TESTS)]
    here = {command.kind for command in found.commands}
    commands = [
        _in_directory(path, command)
        for path, part in tested
        for command in part.commands
        if command.kind not in here
    ]
    managers: list[PythonManager] = [found.python, *(part.python for _, part in tested)]
    python: PythonManager = next((one for one in managers if one), "")
    return ProjectChecks(commands=(*found.commands, *commands), python=python)


def _checks_here(files: ProjectFiles) -> ProjectChecks:
    project = PythonProject(files)
    commands = [*python_checks(project), *node_checks(files), *_by_manifest(files)]
    kinds = {command.kind for command in commands}
    commands += [one for one in _by_target(files) if one.kind not in kinds]
    return ProjectChecks(commands=tuple(commands), python=project.manager)


def _by_manifest(files: ProjectFiles) -> Iterator[CheckCommand]:
    names = files.names()
    shown = dict.fromkeys(_BY_SETTINGS[name] for name in names if name in _BY_SETTINGS)
    files_of = {pair: name for name, pair in _BY_SETTINGS.items() if name in names}
    for manifest, pairs in _BY_MANIFEST.items():
        if manifest not in names:
            continue
        program = pairs[0][1].split()[0]
        own = [pair for pair in shown if _is_for(pair[1], manifest)]
        settled = {kind for kind, _ in own}
        for kind, command in pairs:
            if kind not in settled:
                yield CheckCommand(kind=kind, command=command, runner=program, file=manifest)
        for kind, command in own:
            yield CheckCommand(
                kind=kind, command=command, runner=program, file=files_of[(kind, command)]
            )


def _is_for(command: str, manifest: str) -> bool:
    return manifest == ("go.mod" if command.startswith("golangci") else "Cargo.toml")


def _by_target(files: ProjectFiles) -> Iterator[CheckCommand]:
    program, file, targets = _runner(files)
    for kind, usual in _TARGETS.items():
        if target := next((name for name in usual if name in targets), None):
            command = f"{program} {target}"
            yield CheckCommand(kind=kind, command=command, runner=program, file=file, part=target)


def _target_named(files: ProjectFiles, usual: Iterable[str]) -> Iterator[str]:
    program, _, targets = _runner(files)
    yield from (f"{program} {name}" for name in usual if name in targets)


def _runner(files: ProjectFiles) -> tuple[str, str, frozenset[str]]:
    names = files.names()
    for file, program in _RUNNER_FILES:
        if file in names:
            pattern = _MAKE_TARGET if program == "make" else _JUST_RECIPE
            found = pattern.finditer(files.read(file) or "")
            return program, file, frozenset(word for match in found for word in match[1].split())
    return "", "", frozenset()


class _Subdirectory:
    """The files of a subdirectory of a project."""

    def __init__(self, files: ProjectFiles, path: str) -> None:
        self._files, self._path = files, path

    def read(self, path: str) -> str | None:
        return self._files.read(f"{self._path}/{path}")

    def names(self, directory: str = ".") -> tuple[str, ...]:
        below = self._path if directory == "." else f"{self._path}/{directory}"
        return self._files.names(below)


def _sub_projects(files: ProjectFiles) -> tuple[str, ...]:
    near = [name for name in files.names() if _may_hold_a_project(name)]
    nested = [
        f"{nest}/{name}"
        for nest in near
        if nest in _PROJECT_PARENTS
        for name in files.names(nest)
        if _may_hold_a_project(name)
    ]
    return tuple(path for path in (*near, *nested) if _has_manifest(files, path))[
        :MOST_SUB_PROJECTS
    ]


def _may_hold_a_project(name: str) -> bool:
    return not name.startswith(".") and name not in _NEVER_PROJECTS


def _has_manifest(files: ProjectFiles, path: str) -> bool:
    manifests: Iterable[str] = ("pyproject.toml", "setup.py", "package.json", *_BY_MANIFEST)
    return not set(files.names(path)).isdisjoint(manifests)


def _in_directory(path: str, command: CheckCommand) -> CheckCommand:
    line = f"(cd {shlex.quote(path)} && {command.command})"
    return command.model_copy(update={"command": line, "file": f"{path}/{command.file}"})


# --- the command that starts the program ---

_START_TARGETS = ("run", "start", "serve", "dev")
_NEVER_PACKAGES = frozenset({"tests", "test", "docs", "examples"})


def start_command(files: ProjectFiles) -> str:
    return next(_start_candidates(files), "")


def _start_candidates(files: ProjectFiles) -> Iterator[str]:
    yield from _target_named(files, _START_TARGETS)
    yield from start_script(files)
    names = files.names()
    if "Cargo.toml" in names and "main.rs" in files.names("src"):
        yield "cargo run"
    if "go.mod" in names and "main.go" in names:
        yield "go run ."
    yield from _python_start(PythonProject(files))


def _python_start(project: PythonProject) -> Iterator[str]:
    scripts = table(project.pyproject, "project", "scripts")
    yield from (f"{project.run} {shlex.quote(name)}" for name in scripts)
    if "manage.py" in project.names:
        yield f"{project.run} python manage.py runserver"
    managed = project.manager in ("uv", "poetry", "pdm", "pipenv") or "project" in project.pyproject
    start = f"{project.run} python" if managed else "python3"
    for directory in (".", "src"):
        for name in project.files.names(directory):
            path = name if directory == "." else f"{directory}/{name}"
            if name not in _NEVER_PACKAGES and "__main__.py" in project.files.names(path):
                where = "" if directory == "." else "PYTHONPATH=src "
                yield f"{where}{start} -m {shlex.quote(name)}"
    yield from (f"{start} {name}" for name in ("main.py", "app.py") if name in project.names)
