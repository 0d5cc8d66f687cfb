"""Report unusual states of the person's repository before a run spends money."""

import os
import subprocess
from pathlib import Path

from ralph_tui.domain.events import Notice
from ralph_tui.domain.formatting import plural

_SECONDS = 20

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
"""Files in git's directory that show an unfinished operation."""


def repository_notices(root: Path) -> tuple[Notice, ...]:
    """Return notices about the repository that contains `root`; empty without one. Blocks."""
    status = _git(root, "status", "--porcelain=v2", "--branch", "--untracked-files=no")
    directory = _git(root, "rev-parse", "--absolute-git-dir").strip()
    if not status or not directory:
        return ()
    lines = status.splitlines()
    found = [_unfinished(Path(directory), conflicts=sum(line.startswith("u ") for line in lines))]
    if "# branch.head (detached)" in lines and not found[0]:
        found.append("HEAD is detached: new commits belong to no branch.")
    if (lock := Path(directory, "index.lock")).exists():
        found.append(f"{lock} exists. If no git command is running, remove this file.")
    notices = [Notice(level="warning", text=f"In the repository, {text}") for text in found if text]
    if "# branch.oid (initial)" in lines:
        text = "The repository has no commit yet, so the agent's changes cannot be told apart from yours."
        notices.append(Notice(text=text))
    if changed := sum(line.startswith(("1 ", "2 ")) for line in lines):
        has = "has" if changed == 1 else "have"
        text = (
            f"{plural(changed, 'file')} {has} uncommitted changes, which will mix with the agent's."
        )
        notices.append(Notice(text=text))
    return tuple(notices)


def _unfinished(directory: Path, *, conflicts: int) -> str:
    names = dict.fromkeys(word for name, word in _UNDER_WAY.items() if (directory / name).exists())
    if not names and not conflicts:
        return ""
    what = f"{' and '.join(names)} is not finished" if names else "a conflict is not resolved"
    files = f" ({plural(conflicts, 'file')} in conflict)" if conflicts else ""
    return f"{what}{files}, so the agent would work on an unfinished state. Run `git status` to see how to finish it."


def _git(root: Path, *arguments: str) -> str:
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
