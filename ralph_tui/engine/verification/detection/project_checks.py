"""Detect which commands check this project, from its files or the settings.

The one place that decides it; the gate, the prompts, `ralph init`, `ralph doctor`, `ralph test` and the
screen all ask here:

    checks = checks_of(root, settings)   # detection, with `build.*_command` where set
    checks.line(CheckKind.TESTS)         # "uv run --extra test pytest", or "" when there is none
    checks.named                         # {"tests": …, "lint": …, "all": …}: names that criteria use
    gate_commands(checks, settings)      # what the gate runs for every task
    ChecksOfRun(root, settings).rules()  # both, as they hold during a run of the loop

Detection only reads a few files, takes milliseconds and never runs the project's code. Ask again when it
matters: an agent may have added the first test.
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
    DirectoryFiles,
    NotedFiles,
    ProjectFiles,
)
from ralph_tui.engine.verification.detection.node_checks import node_checks
from ralph_tui.engine.verification.detection.python_checks import python_checks
from ralph_tui.engine.verification.detection.python_declarations import PythonProject
from ralph_tui.store.backup.check_store import CheckStore, RequiredChecks

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
"""Languages whose manifest alone says how they are checked."""

_BY_SETTINGS: dict[str, tuple[CheckKind, str]] = {
    "clippy.toml": (CheckKind.LINT, "cargo clippy"),
    ".clippy.toml": (CheckKind.LINT, "cargo clippy"),
    "rustfmt.toml": (CheckKind.FORMAT, "cargo fmt --check"),
    ".rustfmt.toml": (CheckKind.FORMAT, "cargo fmt --check"),
    ".golangci.yml": (CheckKind.LINT, "golangci-lint run"),
    ".golangci.yaml": (CheckKind.LINT, "golangci-lint run"),
}
"""Tools whose settings file shows that the project uses them."""

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

_NESTS = ("packages", "apps", "libs", "services", "crates", "modules")
"""Directories of a monorepo that hold projects instead of being one."""
_NO_PROJECTS = frozenset({
    "node_modules", "venv", "env", "vendor", "target", "dist", "build", "docs", "examples", "example",
    "tests", "test", "fixtures", "templates",
})  # fmt: skip
MOST_SUB_PROJECTS = 20


def checks_of(root: Path, settings: Settings) -> ProjectChecks:
    """Return the checks of the project at `root`: those in the settings, else those its files show."""
    return _with_settings(detect_checks(DirectoryFiles(root)), settings)


def _with_settings(detected: ProjectChecks, settings: Settings) -> ProjectChecks:
    own = tuple(_configured(settings))
    kinds = {command.kind for command in own}
    found = (command for command in detected.commands if command.kind not in kinds)
    return detected.model_copy(update={"commands": (*own, *found)})


def gate_commands(checks: ProjectChecks, settings: Settings) -> tuple[str, ...]:
    """Return what the gate runs for every task: the settings' list with resolved names, or what was found."""
    listed = settings.phases.building.backpressure
    resolved: list[str] = []
    for one in listed:
        resolved += checks.gate if one == DETECTED else [checks.named.get(one, one)]
    return tuple(dict.fromkeys(resolved))


_INSTEAD = {
    CheckKind.TESTS: "set build.test_command",
    CheckKind.TYPECHECK: "set build.typecheck_command",
    CheckKind.LINT: "set build.lint_command",
    CheckKind.FORMAT: "take it out of the criteria that name it",
}
"""How a person removes a check."""


class GateRules(Model):
    """The rules the gate applies: its commands, and the project's checks."""

    commands: tuple[str, ...] = ()
    """What runs for every task."""
    checks: ProjectChecks = NO_CHECKS
    """The commands behind the names in criteria."""


class ChecksOfRun:
    """The project's checks during one run of the loop.

    What an agent adds counts at once. What existed when the run began stays required: a project whose
    tests can no longer be found fails its gate instead of passing without them. This applies to later runs,
    too, until the person removes the check while nothing runs, or names another one in the settings.
    """

    def __init__(self, root: Path, settings: Settings) -> None:
        """Remember the project's current checks. Blocks while a few files are read."""
        self._root, self._settings = root, settings
        self._store = CheckStore(root)
        self._last: tuple[NotedFiles, ProjectChecks] | None = None
        """What the last look read, and what it found."""
        found = self._found()
        self._lost = self._store.required().still({command.kind for command in found.commands})
        self._first = found.model_copy(update={"commands": (*found.commands, *self._lost)})

    @property
    def lost(self) -> tuple[str, ...]:
        """Sentences about the checks that an earlier run lost, and what to do."""
        return tuple(
            f"{one.file} no longer says how `{one.kind.value}` is checked. `{one.command}` stays required: "
            f"restore it, or {_INSTEAD[one.kind]}."
            for one in self._lost
        )

    def begin(self) -> None:
        """Record that a run begins. Blocks on the disk."""
        self._store.save_required(RequiredChecks(commands=self._first.commands, running=True))

    def end(self) -> None:
        """Store the required checks for later runs. Blocks on the disk."""
        found = {command.kind for command in self._found().commands}
        commands = self.now().commands
        lost = tuple(dict.fromkeys(one.kind for one in commands if one.kind not in found))
        self._store.save_required(RequiredChecks(commands=commands, lost=lost))

    def now(self) -> ProjectChecks:
        """Return the checks that apply now. Blocks while a few files are read."""
        found = self._found()
        kinds = {command.kind for command in found.commands}
        gone = tuple(command for command in self._first.commands if command.kind not in kinds)
        commands = (*found.commands, *gone)
        return found.model_copy(
            update={"commands": commands, "python": found.python or self._first.python}
        )

    def _found(self) -> ProjectChecks:
        """Return the checks that the settings and the files show; files that say the same are not parsed again."""
        if self._last is not None and self._last[0].still_so():
            return self._last[1]
        files = NotedFiles(DirectoryFiles(self._root))
        found = _with_settings(detect_checks(files), self._settings)
        self._last = files, found
        return found

    def rules(self) -> GateRules:
        """Return the gate's rules as of now. Blocks while a few files are read."""
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
    """Return the checks that a project's files show, or those of its sub-projects when the root has no tests."""
    found = _checks_here(files)
    if found.of(CheckKind.TESTS):
        return found
    parts = [(path, _checks_here(_Below(files, path))) for path in _sub_projects(files)]
    tested = [(path, part) for path, part in parts if part.of(CheckKind.TESTS)]
    here = {command.kind for command in found.commands}
    commands = [
        _inside(path, command)
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
        own = [pair for pair in shown if _belongs(pair[1], manifest)]
        settled = {kind for kind, _ in own}
        for kind, command in pairs:
            if kind not in settled:
                yield CheckCommand(kind=kind, command=command, runner=program, file=manifest)
        for kind, command in own:
            yield CheckCommand(
                kind=kind, command=command, runner=program, file=files_of[(kind, command)]
            )


def _belongs(command: str, manifest: str) -> bool:
    return manifest == ("go.mod" if command.startswith("golangci") else "Cargo.toml")


def _by_target(files: ProjectFiles) -> Iterator[CheckCommand]:
    """Yield the targets of make and just with the usual names."""
    program, file, targets = _runner(files)
    for kind, usual in _TARGETS.items():
        if target := next((name for name in usual if name in targets), None):
            command = f"{program} {target}"
            yield CheckCommand(kind=kind, command=command, runner=program, file=file, part=target)


def target_named(files: ProjectFiles, usual: Iterable[str]) -> Iterator[str]:
    """Yield the commands of make or just for the targets that have one of these names."""
    program, _, targets = _runner(files)
    yield from (f"{program} {name}" for name in usual if name in targets)


def _runner(files: ProjectFiles) -> tuple[str, str, frozenset[str]]:
    """Return make or just, its file and the targets in it; nothing where the project has neither."""
    names = files.names()
    for file, program in _RUNNER_FILES:
        if file in names:
            pattern = _MAKE_TARGET if program == "make" else _JUST_RECIPE
            found = pattern.finditer(files.read(file) or "")
            return program, file, frozenset(word for match in found for word in match[1].split())
    return "", "", frozenset()


class _Below:
    """The files of one directory of a project."""

    def __init__(self, files: ProjectFiles, path: str) -> None:
        self._files, self._path = files, path

    def read(self, path: str) -> str | None:
        return self._files.read(f"{self._path}/{path}")

    def names(self, directory: str = ".") -> tuple[str, ...]:
        below = self._path if directory == "." else f"{self._path}/{directory}"
        return self._files.names(below)


def _sub_projects(files: ProjectFiles) -> tuple[str, ...]:
    """Return directories that may be projects of their own, the nearest first."""
    near = [name for name in files.names() if _may_hold_a_project(name)]
    nested = [
        f"{nest}/{name}"
        for nest in near
        if nest in _NESTS
        for name in files.names(nest)
        if _may_hold_a_project(name)
    ]
    return tuple(path for path in (*near, *nested) if _has_manifest(files, path))[
        :MOST_SUB_PROJECTS
    ]


def _may_hold_a_project(name: str) -> bool:
    return not name.startswith(".") and name not in _NO_PROJECTS


def _has_manifest(files: ProjectFiles, path: str) -> bool:
    manifests: Iterable[str] = ("pyproject.toml", "setup.py", "package.json", *_BY_MANIFEST)
    return not set(files.names(path)).isdisjoint(manifests)


def _inside(path: str, command: CheckCommand) -> CheckCommand:
    line = f"(cd {shlex.quote(path)} && {command.command})"
    return command.model_copy(update={"command": line, "file": f"{path}/{command.file}"})
