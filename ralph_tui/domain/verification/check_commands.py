"""The commands that check a project: its tests, types, lint and format, and where each was found."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Annotated, Literal

from pydantic import Field

from ralph_tui.domain.base import Model
from ralph_tui.domain.verification.verification import CommandCriterion, Criterion

Port = Annotated[int, Field(ge=1, le=65_535)]
AbsolutePath = Annotated[str, Field(pattern=r"^[~/]")]


class SandboxException(Model):
    """What one command of the gate may use beyond the sandbox."""

    network: bool = False
    """The whole network, this machine's own ports included."""
    ports: tuple[Port, ...] = ()
    """Ports on this machine's loopback interface, reached under the same number."""
    writable: tuple[AbsolutePath, ...] = ()
    """Directories that the command may read and write."""
    sockets: tuple[AbsolutePath, ...] = ()
    """Unix sockets, such as a container engine's."""


SandboxExceptions = Mapping[str, SandboxException]
"""By the command, which must be exactly the same."""


class CheckKind(StrEnum):
    """What a command checks; the values are the names that plans and settings use."""

    TESTS = "tests"
    TYPECHECK = "typecheck"
    LINT = "lint"
    FORMAT = "format_check"


GATE_KINDS = (CheckKind.TESTS, CheckKind.TYPECHECK, CheckKind.LINT)
"""What the gate runs for every task unless the settings say otherwise."""

ALL = "all"
"""The name for every command the gate runs."""

PythonManager = Literal["", "uv", "poetry", "pdm", "hatch", "pip"]
"""What runs a project's Python: empty where the project has none."""


class CheckCommand(Model):
    """One command that checks the project."""

    kind: CheckKind
    command: str
    """Exactly what a shell in the project's directory runs."""
    runner: str = ""
    """The program that does the work, such as pytest, unittest, npm, cargo or make; empty: from a setting."""
    file: str
    """Where the command was found: a file in the project, or the name of a setting."""
    part: str = ""
    """Where in that file."""

    @property
    def found(self) -> str:
        """Where the command was found, such as `pyproject.toml [dependency-groups] test`."""
        return f"{self.file} {self.part}".strip()


class ProjectChecks(Model):
    """How a project runs its checks; a project in several languages may have several of a kind."""

    commands: tuple[CheckCommand, ...] = ()
    python: PythonManager = ""

    @property
    def uses_uv(self) -> bool:
        """Whether uv owns the project's Python, so that uv's rules hold for the agent."""
        return self.python == "uv"

    def of(self, kind: CheckKind) -> tuple[CheckCommand, ...]:
        """Return the commands of one kind."""
        return tuple(command for command in self.commands if command.kind is kind)

    def line(self, kind: CheckKind) -> str:
        """Return the commands of one kind as one shell line; empty when there is none."""
        return " && ".join(command.command for command in self.of(kind))

    @property
    def gate(self) -> tuple[str, ...]:
        """The commands the gate runs when the settings name none: tests, types, lint; each once."""
        found = (command.command for kind in GATE_KINDS for command in self.of(kind))
        return tuple(dict.fromkeys(found))

    @property
    def named(self) -> Mapping[str, str]:
        """The command of each name a criterion may use; names without a command are left out."""
        lines = {kind.value: self.line(kind) for kind in CheckKind}
        lines[ALL] = " && ".join(self.gate)
        return {name: line for name, line in lines.items() if line}

    @property
    def tool_runs(self) -> Mapping[str, str]:
        """What begins a tool's command where `uv run` alone would not find it: `uv run --extra test`."""
        found = {}
        for command in self.commands:
            tool = re.escape(command.runner)
            if command.runner and (
                match := re.match(rf"(uv run .+) {tool}(?: |$)", command.command)
            ):
                found[command.runner] = match[1]
        return found

    def begins(self, line: str) -> bool:
        """Return whether a line is one of the project's commands, alone or with more arguments."""
        known = (command.command for command in self.commands)
        return any(line == command or line.startswith(f"{command} ") for command in known)

    def exactly(self, line: str) -> str:
        """Return the line with `uv run TOOL` as this project runs it.

        Where pytest is in an extra or in a group of its own, plain `uv run pytest` would run whatever
        pytest is on the PATH.
        """
        words = line.split(maxsplit=3)
        run = self.tool_runs.get(words[2]) if words[:2] == ["uv", "run"] and words[2:] else None
        return " ".join([run, *words[2:]]) if run else line


NO_CHECKS = ProjectChecks()
"""A project in which no check was found."""


_TRAILING_PROSE = re.compile(r"\s+(?:passes|pass|succeeds|is green|exits 0)\.?$")
_BACKTICKED = re.compile(r"^`([^`]+)`(?:\s+(?:passes|pass|succeeds|is green|exits 0)\.?)?$")


def runnable_command(criterion: Criterion, checks: ProjectChecks = NO_CHECKS) -> str | None:
    """Return the command a criterion represents, or None when it is prose.

    Names such as `tests` and `lint` stand for the commands of this project, which `checks` holds.
    """
    if isinstance(criterion, CommandCriterion):
        return criterion.command.strip() or None
    text = criterion.strip()
    if text in checks.named:
        return checks.named[text]
    command = _written_command(text, checks)
    return checks.exactly(command) if command else None


def _written_command(text: str, checks: ProjectChecks) -> str | None:
    if match := _BACKTICKED.match(text):
        return match[1].strip() or None
    if text.startswith("$ "):
        return text[2:].strip() or None
    plain = _TRAILING_PROSE.sub("", text)
    return plain if text.startswith("uv run ") or checks.begins(plain) else None
