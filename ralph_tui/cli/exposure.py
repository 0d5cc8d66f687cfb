"""Which keys a command can read where no sandbox hides them: `ralph doctor` says it plainly."""

import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ralph_tui.cli.finding import Finding
from ralph_tui.guard.environ_block import shown_keys

_PTRACE_SCOPE = Path("/proc/sys/kernel/yama/ptrace_scope")
_ADVICE = (
    "Use the sandbox: there, no command sees other processes or these files. Without it, export keys in a "
    "shell that already runs, because its parents then do not show them."
)


def exposure(*, held: bool) -> Finding:
    """What a script of the agent can read; nothing where a sandbox holds it."""
    if held:
        text = "commands in the sandbox see no other process and no login file"
        return Finding("keys", ok=True, text=text, needed=False)
    found = [*_shown_by_parents(), *_login_files(), *_memory()]
    if not found:
        return Finding("keys", ok=True, text="no script can read them (tried)", needed=False)
    text = f"without a sandbox a script can read {'; '.join(found)}"
    return Finding("keys", ok=False, text=text, advice=_ADVICE, needed=False)


def _shown_by_parents() -> Iterator[str]:
    """Processes that ralph was started by; what ralph itself shows is blanked at the start of a run."""
    import psutil

    this = psutil.Process()
    for process in (*([] if sys.platform == "linux" else [this]), *this.parents()):
        try:
            names = shown_keys(process.environ())
            if names:
                yield f"{', '.join(names)} in the environment of {process.name()} (pid {process.pid})"
        except (psutil.Error, OSError):  # gone meanwhile, or not ours to read
            continue


def _login_files() -> Iterator[str]:
    directory = Path(os.environ.get("CLAUDE_CONFIG_DIR") or Path.home() / ".claude")
    for path in (directory / ".credentials.json", Path.home() / ".ssh"):
        if path.exists():
            yield str(path)


def _memory() -> Iterator[str]:
    """Yama keeps processes of one user from reading each other's memory, except root's."""
    if sys.platform != "linux":
        return
    try:
        scope = _PTRACE_SCOPE.read_text().strip()
    except OSError:
        scope = "0"
    if scope == "0" or os.geteuid() == 0:
        yield "the memory of ralph and the CLI"
