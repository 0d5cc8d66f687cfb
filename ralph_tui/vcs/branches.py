"""Checks whether ralph may commit in a repository, and checks out its working branch."""

import os
import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.vcs.git import Git, GitError

HEADS = "refs/heads/"

RALPH_FILES = ("MEMORY.md", "progress.txt", "AGENTS.md")
"""Files that ralph writes outside `.ralph`; changes to them do not keep a run from starting."""

RALPH_DIRECTORY = ".ralph/"

MAX_SLUG = 50

_IN_PROGRESS = {
    "MERGE_HEAD": ("a merge", "git merge --continue` or `git merge --abort"),
    "rebase-merge": ("a rebase", "git rebase --continue` or `git rebase --abort"),
    "rebase-apply": ("a rebase", "git rebase --continue` or `git rebase --abort"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --continue` or `git cherry-pick --abort"),
    "REVERT_HEAD": ("a revert", "git revert --continue` or `git revert --abort"),
    "BISECT_LOG": ("a bisection", "git bisect reset"),
}  # fmt: skip


@dataclass(frozen=True)
class Head:
    """The current HEAD.

    Attributes:
        branch: The branch's name; empty if HEAD is detached.
        commit: The commit; empty on a branch without commits.
    """

    branch: str
    commit: str


def read_head(git: Git) -> Head:
    found = git.ask("rev-parse", "--is-inside-work-tree")
    if found.returncode or found.stdout.strip() != b"true":
        raise GitError(
            f"{git.root} is not in a git repository, so ralph cannot commit there.",
            "Run `git init` and make a first commit, or set git.commit and git.branch to off.",
        )
    symbolic = git.ask("symbolic-ref", "-q", "HEAD").stdout.decode("utf-8", "replace").strip()
    commit = git.ask("rev-parse", "-q", "--verify", "HEAD^{commit}").stdout.decode().strip()
    branch = symbolic.removeprefix(HEADS) if symbolic.startswith(HEADS) else ""
    return Head(branch, commit)


def require_committable(git: Git) -> Head:
    head = read_head(git)
    directory = Path(git.text("rev-parse", "--absolute-git-dir"))
    what, ways = in_progress(directory)
    if what:
        raise SetupError(
            f"{what.capitalize()} is not finished in this repository, so ralph cannot commit.",
            f"Finish it with `{ways}`, then run again.",
        )
    if os.path.lexists(directory / "index.lock"):
        raise SetupError(
            f"{directory / 'index.lock'} exists, so another git command is running or one crashed.",
            "If no git command is running, remove that file. Then run again.",
        )
    require_branch(head)
    return head


def require_branch(head: Head) -> None:
    if not head.branch:
        raise SetupError(
            "HEAD is detached, so a commit would belong to no branch.",
            "Check out a branch with `git switch BRANCH` (`git switch -c BRANCH` creates one), then run again.",
        )


def in_progress(directory: Path) -> tuple[str, str]:
    """Return what is not finished, by the files in git's directory, and how to finish it; empty if nothing is."""
    found = (told for name, told in _IN_PROGRESS.items() if os.path.lexists(directory / name))
    return next(found, ("", ""))


def require_identity(git: Git) -> None:
    for role in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if not git.succeeds("-c", "user.useConfigOnly=true", "var", role):
            raise SetupError(
                "Git does not know who you are, so ralph cannot commit.",
                'Run `git config user.name "Your Name"` and `git config user.email you@example.org`, then run again.',
            )


def require_unprotected(branch: str, protected: Sequence[str]) -> None:
    if branch in protected:
        raise SetupError(
            f"Ralph does not commit to the protected branch {one_line(branch, 80)}.",
            "Set git.branch to feature, check out another branch, or change git.protected_branches.",
        )


def require_clean(
    git: Git,
    head: Head,
    worked_on: Head | None,
    setting: str,
    kept: Collection[str] = (),
) -> None:
    """Make sure that a commit holds only ralph's work.

    Uncommitted changes are accepted only if they belong to an unfinished task of an earlier run.

    Args:
        worked_on: The branch of an unfinished task from an earlier run, with the last commit that ralph knows
            on it; None if there is none.
        kept: Paths in the project that ralph changed itself; its next commit includes them.
    """
    changed = changed_paths(git, kept)
    if not changed:
        return
    if worked_on is not None and head.branch == worked_on.branch:
        last = worked_on.commit
        if not last or git.succeeds("merge-base", "--is-ancestor", last, "HEAD"):
            return
    is_one = len(changed) == 1
    named = shortlist([one_line(path, 60) for path in changed], 3)
    raise SetupError(
        f"{setting} needs a clean start, but {plural(len(changed), 'file')} {'has' if is_one else 'have'} "
        f"uncommitted changes ({named}).",
        "Commit them, or stash them with `git stash -u`, then run again.",
    )


def changed_paths(git: Git, kept: Collection[str] = ()) -> list[str]:
    """Return the changed and untracked paths in the repository, except those that ralph itself writes."""
    prefix = git.text("rev-parse", "--show-prefix")
    listed = git.output("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
    paths = [os.fsdecode(entry)[3:] for entry in listed.split(b"\0") if entry]
    own = tuple(f"{prefix}{name}" for name in (*RALPH_FILES, *kept))
    own_place = f"{prefix}{RALPH_DIRECTORY}"
    return [path for path in paths if path not in own and not path.startswith(own_place)]


def branch_name(git: Git, prefix: str, *texts: str) -> str:
    slug = next((found for text in texts if (found := branch_slug(text))), "work")
    return valid_branch(git, f"{prefix}{slug}")


def valid_branch(git: Git, name: str) -> str:
    if name.startswith("-") or not git.succeeds("check-ref-format", "--branch", name):
        raise SetupError(
            f"{one_line(name, 80)!r} is not a valid git branch name.",
            "Change git.branch_prefix. Letters, digits, - and / are safe, for example feature/.",
        )
    return name


def check_out(git: Git, name: str, before: Head, require: Callable[[], None]) -> bool:
    """Check out a branch, and create it at HEAD if it does not exist; an existing branch never moves.

    Args:
        require: Called before anything changes; raises to refuse.

    Returns:
        Whether the branch is new.
    """
    if before.branch == name:
        return False
    require()
    exists = git.succeeds("show-ref", "--verify", "--quiet", f"{HEADS}{name}")
    git.text("switch", "--no-guess", *(() if exists else ("-c",)), name)
    return not exists


def push_line(git: Git, branch: str) -> str:
    """Return the command to push a branch, or an empty string if there is no remote."""
    remotes = git.text("remote").splitlines()
    if not remotes:
        return ""
    upstream = git.ask("config", "--get", f"branch.{branch}.remote").stdout.decode().strip()
    if upstream in remotes:
        return f"git push {upstream} {branch}"
    remote = "origin" if "origin" in remotes else remotes[0]
    return f"git push -u {remote} {branch}"


def branch_slug(text: str) -> str:
    """Return a slug of this text for a branch name, or an empty string if no letters or digits remain."""
    words = re.findall(r"[a-z0-9]+", one_line(text, 200).lower())
    slug = ""
    for word in words:
        if len(slug) + len(word) >= MAX_SLUG:
            break
        slug = f"{slug}-{word}" if slug else word
    return slug or (words[0][:MAX_SLUG] if words else "")
