"""Tries what an agent's command can do on this machine, in or out of the sandbox."""

import os
import shlex
import socket
import subprocess
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.agent.process import launch_script
from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.sandbox.environment import cli_overlay

SECONDS = 20

SECRET_NAMES = ("RALPH_DOCTOR_TOKEN", "ANTHROPIC_API_KEY")
"""The CLI is started without the first; its own key is taken away before each command."""

SEE_SECRETS = "see a secret variable"

_CONNECT = "import socket, sys; socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2)"


class UntriedError(Exception):
    """The trial did not run, so it shows nothing; the message says why."""


@dataclass(frozen=True)
class TrialProject:
    """A project made for a trial, a home beside it, and what a command might find there.

    Attributes:
        canary: The value of variables whose names say that they are secret.
        port: A port on this machine that listens outside any sandbox.
    """

    root: Path
    home: Path
    canary: str
    port: int

    @property
    def scratch(self) -> Path:
        """Return the temporary directory of a command in the sandbox."""
        return self.home.with_name("scratch")

    @property
    def tries(self) -> dict[str, str]:
        """Return what the sandbox must prevent, in words, with the shell command that tries it."""
        home = shlex.quote(str(self.home))
        connect = f'"$RALPH_GUARD_PYTHON" -IS -c {shlex.quote(_CONNECT)} {self.port}'
        return {
            "write to .git": "touch .git/ralph-doctor",
            "write to .ralph": "touch .ralph/ralph-doctor",
            "write outside the project": f"touch {home}/ralph-doctor",
            "read ~/.ssh": f"cat {home}/.ssh/key",
            "reach a host that is not allowed": connect,
            SEE_SECRETS: f"env | grep {self.canary}",
        }


@contextmanager
def trial_project(directory: Path) -> Iterator[TrialProject]:
    """Make a place in an empty directory; its port listens until the block is left."""
    root, home = directory / "project", directory / "home"
    for made in (root / ".git", root / ".ralph", home / ".ssh", directory / "scratch"):
        made.mkdir(parents=True)
    (home / ".ssh" / "key").write_text("of the doctor\n", encoding="utf-8")
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield TrialProject(root, home, uuid.uuid4().hex, listener.getsockname()[1])


def what_succeeds(
    here: TrialProject, prefix: Sequence[str], tries: Mapping[str, str]
) -> tuple[str, ...]:
    """Return which of the tries succeed in a command that is started with `prefix`, as the agent's are.

    Raises:
        UntriedError: The command did not run.
    """
    base = {**os.environ, **dict.fromkeys(SECRET_NAMES, here.canary)}
    environment = base | cli_overlay(Policy(root=here.root), base)
    starter = launch_script(environment["RALPH_GUARD_PYTHON"], "/bin/sh")
    script = "\n".join(
        f"if {{ {command}; }} >/dev/null 2>&1; then echo {shlex.quote(name)}; fi"
        for name, command in tries.items()
    )
    script = f'. "$CLAUDE_ENV_FILE"\n{script}\necho tried'
    words = [*prefix, environment["RALPH_GUARD_PYTHON"], "-IS", "-c", starter, "-c", script]
    done = run_trial(words, here.root, environment)
    *found, last = done.stdout.splitlines() or [""]
    if last != "tried":
        said = done.stderr.strip().splitlines()
        raise UntriedError(said[0] if said else f"it ends with status {done.returncode}")
    return tuple(found)


def run_trial(
    words: Sequence[str], cwd: Path, environment: Mapping[str, str]
) -> "subprocess.CompletedProcess[str]":
    """Run a trial to its end, whatever its status.

    Raises:
        UntriedError: It does not start, or takes too long.
    """
    try:
        return subprocess.run(
            words,
            cwd=cwd,
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise UntriedError(str(error)) from error
