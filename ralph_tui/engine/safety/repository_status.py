"""Report unusual states of the person's repository before a run spends money."""

import os
import subprocess
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ralph_tui.domain.events import Notice
from ralph_tui.domain.formatting import plural
from ralph_tui.engine.core.project_tree import EXCLUDED_DIRECTORIES

_SECONDS = 20

_DEPTH, _MOST_SEARCHED, _NAMED = 3, 500, 3
"""The depth and number of directories searched for inner repositories, and how many of them are named."""

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
    notices += [Notice(text=text) for text in _location_notices(root)]
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


def _location_notices(root: Path) -> Iterator[str]:
    asked = _git(root, "rev-parse", "--show-toplevel", "--show-superproject-working-tree")
    top, _, above = asked.rstrip("\n").partition("\n")
    if above:
        yield f"The project is a submodule of {above}. Changes in that repository are not watched."
    elif top and Path(top) != root.resolve():
        yield f"The project is part of the repository {top}. Commits to the other parts are reported too."
    inner = list(islice(_inner_repositories(root), _NAMED + 1))
    if inner:
        names = ", ".join(str(path.relative_to(root)) for path in inner[:_NAMED])
        more = " and others" if len(inner) > _NAMED else ""
        one = len(inner) == 1
        yield (
            f"{names}{more} {'is a separate repository' if one else 'are separate repositories'}. "
            f"Changes of {'its' if one else 'their'} git state are not watched."
        )


def _inner_repositories(root: Path) -> Iterator[Path]:
    known = {line.split("\t", 1)[-1] for line in _submodules(root)}
    left = deque([(root, 0)])
    for _ in range(_MOST_SEARCHED):
        if not left:
            return
        directory, depth = left.popleft()
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError:
            continue
        # Where `.git` is a file, the repository is elsewhere: a linked worktree or a submodule.
        if depth and any(e.name == ".git" and e.is_dir(follow_symlinks=False) for e in entries):
            if str(directory.relative_to(root)) not in known:
                yield directory
            continue
        left += [
            (Path(entry.path), depth + 1)
            for entry in entries
            if depth < _DEPTH
            and entry.name not in EXCLUDED_DIRECTORIES
            and entry.is_dir(follow_symlinks=False)
        ]


def _submodules(root: Path) -> list[str]:
    listed = _git(root, "ls-files", "-s", "-z").split("\0")
    return [line for line in listed if line.startswith("160000 ")]


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
