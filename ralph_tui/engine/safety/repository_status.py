"""Report how the person left the repository, before anything is spent: it decides what a change means."""

import os
import subprocess
from collections import deque
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from ralph_tui.domain.events import Notice
from ralph_tui.domain.formatting import plural
from ralph_tui.engine.core.project_tree import NOT_THE_PROJECT

_SECONDS = 20

_DEEP, _LOOKED_AT, _NAMED = 3, 500, 3
"""How far repositories inside the project are looked for, and how many of them are named."""

_UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "BISECT_LOG": "a bisection",
}
"""What git leaves in its directory while something is not finished."""


def repository_notices(root: Path) -> tuple[Notice, ...]:
    """Return what to know of the repository that `root` is in; empty without one. Blocks."""
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
    told += [Notice(text=text) for text in _where(root)]
    if "# branch.oid (initial)" in lines:
        text = "The repository has no commit yet: what the agent changes cannot be told from yours."
        told.append(Notice(text=text))
    if changed := sum(line.startswith(("1 ", "2 ")) for line in lines):
        files = "1 file is" if changed == 1 else f"{changed} files are"
        text = f"{files} changed and not committed: what the agent changes is among them."
        told.append(Notice(text=text))
    return tuple(told)


def _where(root: Path) -> Iterator[str]:
    """Describe where the project is in its repository, and what of it no fingerprint covers."""
    asked = _git(root, "rev-parse", "--show-toplevel", "--show-superproject-working-tree")
    top, _, above = asked.rstrip("\n").partition("\n")
    if above:
        yield f"The project is a submodule of {above}: what changes in that repository itself goes unseen."
    elif top and Path(top) != root.resolve():
        yield f"The project is a part of the repository {top}: what is committed there is seen here too."
    inner = list(islice(_inner(root), _NAMED + 1))
    if inner:
        names = ", ".join(str(path.relative_to(root)) for path in inner[:_NAMED])
        more = " and others" if len(inner) > _NAMED else ""
        one = len(inner) == 1
        yield (
            f"{names}{more} {'is a repository of its own' if one else 'are repositories of their own'}: "
            f"what changes in {'its' if one else 'their'} git state goes unseen."
        )


def _inner(root: Path) -> Iterator[Path]:
    """Yield repositories below the project that are not its submodules, as far as a short look finds them."""
    known = {line.split("\t", 1)[-1] for line in _links(root)}
    left = deque([(root, 0)])
    for _ in range(_LOOKED_AT):
        if not left:
            return
        directory, depth = left.popleft()
        try:
            entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
        except OSError:
            continue
        # Where it is a file the repository is elsewhere: a linked worktree or a submodule.
        if depth and any(e.name == ".git" and e.is_dir(follow_symlinks=False) for e in entries):
            if str(directory.relative_to(root)) not in known:
                yield directory
            continue
        left += [
            (Path(entry.path), depth + 1)
            for entry in entries
            if depth < _DEEP
            and entry.name not in NOT_THE_PROJECT
            and entry.is_dir(follow_symlinks=False)
        ]


def _links(root: Path) -> list[str]:
    """Return the lines of the index that are submodules, with paths relative to the project."""
    listed = _git(root, "ls-files", "-s", "-z").split("\0")
    return [line for line in listed if line.startswith("160000 ")]


def _unfinished(directory: Path, *, conflicts: int) -> str:
    names = dict.fromkeys(word for name, word in _UNDER_WAY.items() if (directory / name).exists())
    if not names and not conflicts:
        return ""
    what = f"{' and '.join(names)} is not finished" if names else "a conflict is not resolved"
    files = f" ({plural(conflicts, 'file')} in conflict)" if conflicts else ""
    return f"{what}{files}: the agent would work on half of it. `git status` says how to end it."


def _git(root: Path, *arguments: str) -> str:
    """Return git's output; empty when git is missing, slow or refuses."""
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
