"""Whether the operating system holds the commands of a run, decided once, before anything is started."""

import contextlib
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.config.settings import SafetySettings
from ralph_tui.domain.errors import SetupError
from ralph_tui.guard.sandbox import INSTALL, Sandbox, sandbox_for, why_no_sandbox
from ralph_tui.store.backup.mirror import state_home

ON_MACOS = (
    "macOS holds the agent's commands only: the checks that ralph runs are not in the sandbox"
)
_MACOS_SWITCH = "Set safety.sandbox to auto, or run ralph in a Linux container."
_SWITCH = "or set safety.sandbox to auto or off"


@dataclass(frozen=True)
class Confinement:
    """What commands are held to.

    Attributes:
        sandbox: None when nothing holds them.
        warning: What to tell the person when a sandbox was wanted and cannot be had.
        leaves_directory: Whether the CLI's sandbox will leave an empty `.claude` where none was.
    """

    sandbox: Sandbox | None = None
    warning: str = ""
    leaves_directory: bool = False


def confine(root: Path, safety: SafetySettings, environ: Mapping[str, str]) -> Confinement:
    """Look whether the sandbox the settings want works here.

    Raises:
        SetupError: It is required and does not.
    """
    if safety.sandbox_mode == "off":
        return Confinement()
    required = safety.sandbox_mode == "required"
    if required and sys.platform == "darwin":
        raise SetupError(
            f"The sandbox is required (safety.sandbox), but {ON_MACOS}.", _MACOS_SWITCH
        )
    reason = why_no_sandbox()
    if reason and required:
        raise SetupError(
            f"The sandbox is required (safety.sandbox) and does not work here: {reason}.",
            f"{INSTALL}; {_SWITCH}.",
        )
    if reason:
        return Confinement(
            warning=f"No sandbox holds the agent's commands and the checks: {reason}. "
            "The guard reads commands, but not what scripts do. `ralph doctor` says more."
        )
    held = sandbox_for(
        root,
        Path.home(),
        environ,
        required=required,
        domains=safety.sandbox_domains,
        writable=safety.sandbox_writable,
    )
    own = (os.path.realpath(state_home() / "ralph"),)
    Path(own[0]).mkdir(mode=0o700, parents=True, exist_ok=True)
    held = held.model_copy(update={"deny_read": (*held.deny_read, *own)})
    warning = f"On this machine, {ON_MACOS}." if sys.platform == "darwin" else ""
    leaves = not (root / ".claude").exists()
    return Confinement(sandbox=held, warning=warning, leaves_directory=leaves)


def tidy(root: Path, confinement: Confinement) -> None:
    """Remove the empty directories the CLI's sandbox made to have something to protect."""
    if not confinement.leaves_directory:
        return
    for directory, _, _ in os.walk(root / ".claude", topdown=False):
        with contextlib.suppress(OSError):  # not empty: then it is somebody's
            Path(directory).rmdir()
