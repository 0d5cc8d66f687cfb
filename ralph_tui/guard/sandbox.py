"""The operating system's sandbox around an agent's commands: what it holds, and whether it works here.

It is the one layer that reads no text, so it also holds scripts, make targets and whatever they start.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from ralph_tui.domain.model import Model
from ralph_tui.guard.environment import repository

SECRETS = (
    ".ssh", ".gnupg", ".aws", ".azure", ".kube", ".config/gcloud", ".config/gh", ".docker/config.json",
    ".git-credentials", ".config/git/credentials", ".pypirc", ".claude.json",
)  # fmt: skip
"""Below the home directory; what package managers log in with (.netrc) stays readable for uv."""
CLI_SECRETS = (".credentials.json", "projects", "history.jsonl")
"""Below the CLI's own directory, of which its shell needs the rest."""

INSTALL = "Install bubblewrap and socat, for example: apt install bubblewrap socat"
_PROBE_SECONDS = 10
_PROGRAMS = ("bwrap", "socat")
_SHAPE = (
    "--dev", "/dev", "--unshare-pid", "--proc", "/proc", "--unshare-net", "--die-with-parent",
    "--new-session",
)  # fmt: skip
"""What the CLI asks of bubblewrap, beside the paths."""


class Sandbox(Model):
    """What the sandbox holds the commands of a session to; all paths are absolute."""

    required: bool = False
    """Whether a session without it must not start."""
    deny_write: tuple[str, ...] = ()
    deny_read: tuple[str, ...] = ()
    allow_write: tuple[str, ...] = ()
    """Beside the project and the CLI's temporary directory."""
    domains: tuple[str, ...] = ()
    """Hosts that commands may reach."""


def sandbox_for(
    root: Path,
    home: Path,
    environ: Mapping[str, str],
    *,
    required: bool = False,
    domains: tuple[str, ...] = (),
    writable: tuple[str, ...] = (),
) -> Sandbox:
    """The sandbox of a project; makes uv's cache if it is not there, because uv works in no other place."""
    cache = uv_cache(home, environ)
    cache.mkdir(parents=True, exist_ok=True)
    extra = tuple(Path(name).expanduser() for name in writable)
    cli = Path(environ.get("CLAUDE_CONFIG_DIR") or home / ".claude")
    secrets = [*(home / name for name in SECRETS), *(cli / name for name in CLI_SECRETS)]
    return Sandbox(
        required=required,
        deny_write=guarded_directories(root),
        deny_read=_existing(secrets),
        allow_write=_existing([cache, *extra]),
        domains=domains,
    )


def guarded_directories(root: Path) -> tuple[str, ...]:
    """What no command may write to: ralph's state and the repository, also where it is a worktree's."""
    return _existing([root / ".ralph", root / ".git", Path(repository(root))])


def uv_cache(home: Path, environ: Mapping[str, str]) -> Path:
    """Where uv keeps what it downloaded, by uv's own rules."""
    if named := environ.get("UV_CACHE_DIR"):
        return Path(named)
    return Path(environ.get("XDG_CACHE_HOME") or home / ".cache") / "uv"


def gate_prefix(held: Sandbox | None) -> tuple[str, ...]:
    """What the gate's commands are started with, so that tests an agent wrote cannot write there either.

    Only the guarded directories are held: the commands are the person's, and may need all the rest.
    """
    if held is None or sys.platform == "darwin":
        return ()
    binds = (word for path in held.deny_write for word in ("--ro-bind", path, path))
    return ("bwrap", "--dev-bind", "/", "/", *binds, "--die-with-parent", "--")


def trial_prefix(held: Sandbox, root: Path) -> tuple[str, ...]:
    """What starts a command held as the CLI holds it, to try that; empty on macOS, where only the CLI can."""
    if sys.platform == "darwin":
        return ()
    writable = [("--bind", path, path) for path in (os.path.realpath(root), *held.allow_write)]
    guarded = [("--ro-bind", path, path) for path in held.deny_write]
    unseen = [
        ("--tmpfs", path) if Path(path).is_dir() else ("--ro-bind", os.devnull, path)
        for path in held.deny_read
    ]
    words = (word for bind in (*writable, *guarded, *unseen) for word in bind)
    return ("bwrap", "--ro-bind", "/", "/", *_SHAPE, *words, "--")


def why_no_sandbox() -> str:
    """Why commands cannot be held here, in words; empty when they can. Tries it, so it blocks for a moment."""
    if sys.platform == "darwin":
        return "" if shutil.which("sandbox-exec") else "sandbox-exec is missing"
    missing = [name for name in _PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"{' and '.join(missing)} {'are' if len(missing) > 1 else 'is'} not installed"
    trial = ["bwrap", "--ro-bind", "/", "/", *_SHAPE, "true"]
    try:
        done = subprocess.run(
            trial, capture_output=True, text=True, timeout=_PROBE_SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"bwrap does not run ({error})"
    said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[0]
    return "" if done.returncode == 0 else f"this system does not let bwrap work ({said})"


def _existing(paths: list[Path]) -> tuple[str, ...]:
    """Resolved, because a rule about a link would not hold for where it leads."""
    found = (os.path.realpath(path) for path in paths if path.exists())
    return tuple(dict.fromkeys(found))
