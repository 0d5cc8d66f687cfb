"""Checks what a run needs before it spends anything: uv for Python, a login and a safe address of the model."""

import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.agent.address_check import check_address
from ralph_tui.agent.login import check_login
from ralph_tui.domain.errors import RalphError, SetupError

if TYPE_CHECKING:
    from ralph_tui.config.settings import Settings

TOOL_SECONDS = 20.0

KIND_WORDS = {"tests": "tests", "typecheck": "types", "lint": "lint", "format_check": "format"}
"""The label of each kind of check. Importing the kinds' own module would slow down `ralph --help`."""


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        needed: Whether a run cannot start while this is wrong.
        is_next: Whether nothing is wrong: something is not set up yet, and the advice is the next step.
    """

    name: str
    ok: bool
    text: str
    advice: str = ""
    needed: bool = True
    is_next: bool = False


class NextStepError(RalphError):
    """Something is not set up yet."""


def checked(
    name: str, check: Callable[..., str], *about: object, needed: bool = True
) -> Iterator[Finding]:
    """Yield what a check returns, or the error that it raises; nothing if it has nothing to say."""
    try:
        if text := check(*about):
            yield Finding(name, ok=True, text=text, needed=needed)
    except RalphError as error:
        is_next = isinstance(error, NextStepError)
        yield Finding(name, False, error.message, error.hint, needed, is_next)  # noqa: FBT003 - its fields


def uv_version() -> str:
    return tool_version("uv --version", "pip install uv", _REINSTALL)


def tool_version(command: str, install: str, repair: str = "") -> str:
    name, *arguments = command.split()
    path = shutil.which(name)
    if path is None:
        raise SetupError(f"{name} is not installed, or not on the PATH.", f"Install it: {install}")
    repair = repair or f"Repair it until `{command}` works"
    return first_words(name, (path, *arguments), repair)


class TrialError(RalphError):
    """A program did not run or did not end; the message says why."""


def asked(
    words: Sequence[str],
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float | None = TOOL_SECONDS,
) -> "subprocess.CompletedProcess[str]":
    try:
        return subprocess.run(
            words,
            cwd=cwd,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise TrialError(str(error)) from error


def failure_of(done: "subprocess.CompletedProcess[str]") -> str:
    printed = (done.stderr or done.stdout).strip().splitlines()
    return printed[0] if printed else f"it ends with status {done.returncode}"


def first_words(name: str, command: tuple[str, ...], repair: str) -> str:
    """Return what a program prints, such as its version; raise with `repair` if it does not work."""
    try:
        done = asked(command)
    except TrialError as error:
        raise SetupError(f"{name} ({command[0]}) does not run: {error}.", repair) from error
    if done.returncode != 0:
        raise SetupError(f"{name} ({command[0]}) does not work: {failure_of(done)}", repair)
    return done.stdout.strip()


_REINSTALL = "Install it again: pip install --force-reinstall uv"


def needs_uv(root: Path, settings: "Settings") -> bool:
    """Return whether the project's checks use uv, or the project has no checks and may become a Python project."""
    from ralph_tui.engine.verification.detection.project_checks import checks_of, gate_commands

    checks = checks_of(root, settings)
    lines = (*gate_commands(checks, settings), *(one.command for one in checks.commands))
    return checks.uses_uv or not lines or any("uv" in line.split() for line in lines)


def check_machine(root: Path, settings: "Settings") -> None:
    if needs_uv(root, settings):
        uv_version()
    check_login()
    check_address()


def plan_of_another(root: Path) -> str:
    """Return a sentence that offers to import another tool's plan; empty if there is none."""
    from ralph_tui.store.foreign_files import foreign_plans, import_offer

    return import_offer(foreign_plans(root))
