"""How the person left the repository: said before anything is spent, because it decides what a change means."""

import os
import subprocess
from pathlib import Path

from ralph_tui.domain.events import Notice

_SECONDS = 20

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
"""What git leaves in its directory while something is not finished."""


def standing(root: Path) -> tuple[Notice, ...]:
    """What is worth knowing of the repository `root` is in; nothing where there is none. Blocks."""
    status = _git(root, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
    directory = _git(root, "rev-parse", "--absolute-git-dir").strip()
    if not status or not directory:
        return ()
    lines = status.splitlines()
    found = [_unfinished(Path(directory), conflicts=sum(line.startswith("u ") for line in lines))]
    if "# branch.head (detached)" in lines and not found[0]:
        found.append("HEAD is detached: what you commit now belongs to no branch.")
    if (lock := Path(directory, "index.lock")).exists():
        found.append(f"{lock} is there: a git still works, or one died; then remove it.")
    told = [Notice(level="warning", text=f"In the repository, {text}") for text in found if text]
    if "# branch.oid (initial)" in lines:
        text = "The repository has no commit yet: what the agent changes cannot be told from yours."
        told.append(Notice(text=text))
    if changed := sum(line.startswith(("1 ", "2 ")) for line in lines):
        files = "1 file is" if changed == 1 else f"{changed} files are"
        text = f"{files} changed and not committed: what the agent changes stands among them."
        told.append(Notice(text=text))
    return tuple(told)


def _unfinished(directory: Path, *, conflicts: int) -> str:
    names = dict.fromkeys(word for name, word in _UNDER_WAY.items() if (directory / name).exists())
    if not names and not conflicts:
        return ""
    what = f"{' and '.join(names)} is not finished" if names else "a conflict is not resolved"
    files = f" ({conflicts} file{'' if conflicts == 1 else 's'} in conflict)" if conflicts else ""
    return f"{what}{files}: the agent would work on half of it. `git status` says how to end it."


def _git(root: Path, *arguments: str) -> str:
    """What git says; nothing when it is missing, slow or refuses."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    words = ["git", "--no-optional-locks", "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(
            words, cwd=root, env=clean | {"LC_ALL": "C"}, capture_output=True, timeout=_SECONDS,
            check=False,
        )  # fmt: skip
    except (FileNotFoundError, subprocess.TimeoutExpired):
        return ""
    return os.fsdecode(done.stdout) if done.returncode == 0 else ""
