"""Checks what a run needs before it spends anything: uv for Python, a login and a safe address of the model."""

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from ralph_tui.agent.login import check_address, check_login
from ralph_tui.domain.errors import SetupError

if TYPE_CHECKING:
    from ralph_tui.config.settings import Settings

TOOL_SECONDS = 20.0

KIND_WORDS = {"tests": "tests", "typecheck": "types", "lint": "lint", "format_check": "format"}
"""The label of each kind of check. Importing the kinds' own module would slow down `ralph --help`."""


def uv_version() -> str:
    return tool_version("uv --version", "pip install uv", _REINSTALL)


def tool_version(command: str, install: str, repair: str = "") -> str:
    name, *arguments = command.split()
    path = shutil.which(name)
    if path is None:
        raise SetupError(f"{name} is not installed, or not on the PATH.", f"Install it: {install}")
    repair = repair or f"Repair it until `{command}` works"
    return first_words(name, (path, *arguments), repair)


def asked(cwd: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        words, cwd=cwd, capture_output=True, text=True, errors="replace", check=False
    )


def first_words(name: str, command: tuple[str, ...], repair: str) -> str:
    """Return what a program prints, such as its version; raise with `repair` if it does not work."""
    path = command[0]
    try:
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=TOOL_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SetupError(f"{name} ({path}) does not run: {error}.", repair) from error
    if done.returncode != 0:
        printed = (done.stderr or done.stdout).strip().splitlines()
        why = printed[0] if printed else f"it ends with status {done.returncode}"
        raise SetupError(f"{name} ({path}) does not work: {why}", repair)
    return done.stdout.strip()


_REINSTALL = "Install it again: pip install --force-reinstall uv"


def needs_uv(root: Path, settings: "Settings") -> bool:
    """Return whether the project's checks use uv, or the project has no checks and may become a Python project."""
    from ralph_tui.engine.verification.detection.project_checks import checks_of, gate_commands

    checks = checks_of(root, settings)
    lines = (*gate_commands(checks, settings), *(one.command for one in checks.commands))
    return checks.uses_uv or not lines or any("uv" in line.split() for line in lines)


def check_machine(root: Path, settings: "Settings") -> None:
    from ralph_tui.agent.tls_check import require_tls

    if needs_uv(root, settings):
        uv_version()
    check_login()
    check_address()
    require_tls()


def plan_of_another(root: Path) -> str:
    """Return a sentence that offers to import another tool's plan; empty if there is none."""
    from ralph_tui.store.foreign_files import foreign_plans, import_offer

    return import_offer(foreign_plans(root))
