"""The commands that check a project (tests, types, lint and format), and where each was found."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from ralph_tui.domain.base import Model
from ralph_tui.domain.verification.verification import CommandCriterion, Criterion

Port = Annotated[int, Field(ge=1, le=65_535)]
AbsolutePath = Annotated[str, Field(pattern=r"^[~/]")]


class SandboxException(Model):
    """What one command of the gate may use outside of the sandbox."""

    network: bool = False
    """Whether the command may use the whole network, including ports of this machine."""
    ports: tuple[Port, ...] = ()
    """Ports of this machine's loopback interface, available under the same number."""
    writable: tuple[AbsolutePath, ...] = ()
    """Directories that the command may read and write."""
    sockets: tuple[AbsolutePath, ...] = ()
    """Unix sockets that the command may use, such as a container engine's."""


SandboxExceptions = Mapping[str, SandboxException]
"""Exceptions by command, which must match exactly."""


class CheckKind(StrEnum):
    """What a command checks. The values are the names in plans and settings."""

    TESTS = "tests"
    TYPECHECK = "typecheck"
    LINT = "lint"
    FORMAT = "format_check"

    @property
    def setting(self) -> str:
        """The setting that names the command; empty if there is none."""
        return "" if self is CheckKind.FORMAT else f"build.{self.removesuffix('s')}_command"


GATE_KINDS = (CheckKind.TESTS, CheckKind.TYPECHECK, CheckKind.LINT)
"""The checks that the gate runs for every task unless the settings name others."""

ALL = "all"
NAMES = {**{kind.value: kind for kind in CheckKind}, ALL: CheckKind.TESTS}
"""What criteria may name, `all` being the gate's commands, each with the kind that a project needs for it."""

PythonManager = Literal["", "uv", "poetry", "pdm", "pipenv", "hatch", "pip"]
"""The tool that manages a project's Python; empty for a project without Python."""


class CheckCommand(Model):
    """One command that checks the project."""

    kind: CheckKind
    command: str
    """The exact command line for a shell in the project's directory."""
    runner: str = ""
    """The program that does the work, such as pytest, npm, cargo or make; empty for a command from the settings."""
    file: str
    """Where the command was found: a file in the project, or the name of a setting."""
    part: str = ""
    """The place in that file."""
    spare: bool = False
    """Whether these are tests of a package below that those of the root do not run, left out if they cannot start or are red."""

    @property
    def found(self) -> str:
        return f"{self.file} {self.part}".strip()

    def takes_place_of(self, other: "CheckCommand") -> bool:
        """Return whether this is what became of another command, so that the other one need not run any more.

        A setting is the person's decision. The same runner or package script in the same directory runs the
        same tests, whatever starts it.
        """
        if self.kind is not other.kind:
            return False
        if self.file.startswith("build."):
            return True
        directories = [one.file.rpartition("/")[0] for one in (self, other)]
        same = self.runner == other.runner or self.found == other.found
        return same and directories[0] == directories[1]


class ProjectChecks(Model):
    """The check commands of a project. With several languages, there may be several of a kind."""

    commands: tuple[CheckCommand, ...] = ()
    python: PythonManager = ""

    @property
    def uses_uv(self) -> bool:
        """Whether uv manages the project's Python, so that the guard's rules for uv apply."""
        return self.python == "uv"

    def of(self, kind: CheckKind) -> tuple[CheckCommand, ...]:
        return tuple(command for command in self.commands if command.kind is kind)

    def line(self, kind: CheckKind) -> str:
        return " && ".join(command.command for command in self.of(kind))

    @property
    def gate(self) -> tuple[str, ...]:
        found = (command.command for kind in GATE_KINDS for command in self.of(kind))
        return tuple(dict.fromkeys(found))

    @property
    def named(self) -> Mapping[str, str]:
        lines = {kind.value: self.line(kind) for kind in CheckKind}
        lines[ALL] = " && ".join(self.gate)
        return {name: line for name, line in lines.items() if line}

    @property
    def tool_runs(self) -> Mapping[str, str]:
        """The prefix by tool, for tools that need more than `uv run`, such as `uv run --extra test`."""
        found = {}
        for command in self.commands:
            tool = re.escape(command.runner)
            match = re.match(rf"(uv run .+) {tool}(?: |$)", command.command)
            if command.runner and match and not match[1].endswith(" -m"):
                found[command.runner] = match[1]
        return found

    def begins(self, line: str) -> bool:
        known = (command.command for command in self.commands)
        return any(line == command or line.startswith(f"{command} ") for command in known)

    def exactly(self, line: str) -> str:
        """Replace `uv run TOOL` at the start of a line with the project's own prefix for the tool.

        If the project has pytest in an extra or a group, plain `uv run pytest` would run whatever pytest
        is on the PATH.
        """
        words = line.split(maxsplit=3)
        run = self.tool_runs.get(words[2]) if words[:2] == ["uv", "run"] and words[2:] else None
        return " ".join([run, *words[2:]]) if run else line


NO_CHECKS = ProjectChecks()
"""The checks of a project without any."""


_TRAILING_PROSE = re.compile(r"\s+(?:passes|pass|succeeds|is green|exits 0)\.?$")
_BARE = re.compile(
    r"(?:\./\S+|pytest|tox|nox|jest|vitest|ruff|mypy|pyright|flake8|eslint|tsc|shellcheck|ctest|rspec|phpunit"
    r"|npx [\w@/.-]+|(?:npm|pnpm|yarn|bun|deno|node|cargo|go|make|just|mvn|gradle|dotnet|mix|rake|poetry|hatch|swift|zig|bundle"
    r"|python3?|bash|sh)(?= \S))(?: (?:tests?|check|build|lint|ci|verify|vet|clippy|src|(?:run|exec) [\w:.-]+|-\S+(?: \w+)?"
    r"|\S*[./_:=*]\S+))*"
)
"""A line that is only a command of a tool; words that are no arguments make it prose."""
_BACKTICKED = re.compile(r"^`([^`]+)`(?:\s+(?:passes|pass|succeeds|is green|exits 0)\.?)?$")


def runnable_command(criterion: Criterion, checks: ProjectChecks = NO_CHECKS) -> str | None:
    """Return the command that a criterion means, or None if the criterion is prose.

    Names such as `tests` and `lint` mean the project's commands in `checks`.
    """
    if isinstance(criterion, CommandCriterion):
        return criterion.command.strip() or None
    text = criterion.strip()
    if text in checks.named:
        return checks.named[text]
    command = _written_command(text, checks)
    return checks.exactly(command) if command else None


def missing_kinds(criteria: Iterable[Criterion], checks: ProjectChecks) -> tuple[CheckKind, ...]:
    """Return the kinds of check that criteria name and for which the project has no command."""
    lacking = (
        one for one in criteria if isinstance(one, str) and not runnable_command(one, checks)
    )
    named = {NAMES.get(one.strip()) for one in lacking}
    return tuple(kind for kind in CheckKind if kind in named)


def _written_command(text: str, checks: ProjectChecks) -> str | None:
    if match := _BACKTICKED.match(text):
        return match[1].strip() or None
    if text.startswith("$ "):
        return text[2:].strip() or None
    plain = _TRAILING_PROSE.sub("", text)
    bare = text.startswith("uv run ") or _BARE.fullmatch(plain)
    return plain if bare or checks.begins(plain) else None
