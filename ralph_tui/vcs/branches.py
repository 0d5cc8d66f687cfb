"""Looks whether ralph may commit in a repository, and checks out the branch that it works on."""

import os
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.vcs.commit_message import branch_slug
from ralph_tui.vcs.git import Git, GitError

HEADS = "refs/heads/"

RALPHS_OWN = ("MEMORY.md", "progress.txt", "progress.txt.1", "AGENTS.md")
"""Files that ralph writes beside `.ralph`; changed, they do not keep a run from starting."""

RALPHS_DIRECTORIES = (".ralph/", "specs/")

_UNDER_WAY = {
    "MERGE_HEAD": ("a merge", "git merge --continue` or `git merge --abort"),
    "rebase-merge": ("a rebase", "git rebase --continue` or `git rebase --abort"),
    "rebase-apply": ("a rebase", "git rebase --continue` or `git rebase --abort"),
    "CHERRY_PICK_HEAD": ("a cherry-pick", "git cherry-pick --continue` or `git cherry-pick --abort"),
    "REVERT_HEAD": ("a revert", "git revert --continue` or `git revert --abort"),
    "BISECT_LOG": ("a bisection", "git bisect reset"),
}  # fmt: skip


@dataclass(frozen=True)
class Head:
    """What is checked out.

    Attributes:
        branch: The branch's name; empty when HEAD is detached.
        commit: The commit; empty on a branch without any.
    """

    branch: str
    commit: str


@dataclass(frozen=True)
class WorkedOn:
    """The branch of an earlier run whose task is not finished; what is changed there is that task's.

    Attributes:
        branch: The branch's name.
        commit: The last commit that ralph knows on it; empty when there was none.
    """

    branch: str
    commit: str


def read_head(git: Git) -> Head:
    """Return what is checked out.

    Raises:
        GitError: There is no repository, or git cannot read it.
    """
    found = git.ask("rev-parse", "--is-inside-work-tree")
    if found.returncode or found.stdout.strip() != b"true":
        raise GitError(
            f"{git.root} is in no git repository, so ralph cannot commit there.",
            "Run `git init` and make a first commit, or set git.commit and git.branch to off.",
        )
    symbolic = git.ask("symbolic-ref", "-q", "HEAD").stdout.decode("utf-8", "replace").strip()
    commit = git.ask("rev-parse", "-q", "--verify", "HEAD^{commit}").stdout.decode().strip()
    branch = symbolic.removeprefix(HEADS) if symbolic.startswith(HEADS) else ""
    return Head(branch, commit)


def require_settled(git: Git) -> Head:
    """Return what is checked out, where somebody may commit: a branch, and nothing half done.

    Raises:
        SetupError: HEAD is detached, a merge or the like is under way, or another git holds the index.
    """
    head = read_head(git)
    directory = Path(git.text("rev-parse", "--absolute-git-dir"))
    for name, (what, ways) in _UNDER_WAY.items():
        if os.path.lexists(directory / name):
            raise SetupError(
                f"{what.capitalize()} is not finished in this repository, so ralph cannot commit.",
                f"End it with `{ways}`, then run again.",
            )
    if os.path.lexists(directory / "index.lock"):
        raise SetupError(
            f"{directory / 'index.lock'} is there: another git is working, or one died.",
            "If no git runs here, remove that file, then run again.",
        )
    if not head.branch:
        raise SetupError(
            "HEAD is detached, so a commit would belong to no branch.",
            "Check out a branch with `git switch BRANCH` (`git switch -c BRANCH` makes one), then run again.",
        )
    return head


def require_identity(git: Git) -> None:
    """Make sure that git knows whose commits these are.

    Raises:
        SetupError: It does not.
    """
    for role in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        if not git.succeeds("-c", "user.useConfigOnly=true", "var", role):
            raise SetupError(
                "Git does not know who you are, so ralph cannot commit.",
                'Run `git config user.name "Your Name"` and `git config user.email you@example.org`, then run again.',
            )


def require_unprotected(branch: str, protected: Sequence[str]) -> None:
    """Refuse to commit to a branch that is protected.

    Raises:
        SetupError: It is.
    """
    if branch in protected:
        raise SetupError(
            f"Ralph does not commit to the protected branch {one_line(branch, 80)}.",
            "Set git.branch to feature, check out another branch, or change git.protected_branches.",
        )


def require_clean(
    git: Git, head: Head, worked_on: WorkedOn | None, setting: str, kept: Collection[str] = ()
) -> None:
    """Make sure that a commit holds ralph's work only: nothing is changed, or an earlier run's task has changed it.

    Args:
        git: The repository.
        head: What is checked out.
        worked_on: The branch of an unfinished task; None when no task is.
        setting: What asks for commits, to be named.
        kept: Paths in the project whose content is ralph's own; they go with its next commit.

    Raises:
        SetupError: Something is changed and not committed.
    """
    changed = changed_paths(git, kept)
    if not changed or (worked_on is not None and _is_continued(git, head, worked_on)):
        return
    is_one = len(changed) == 1
    named = shortlist([one_line(path, 60) for path in changed], 3)
    raise SetupError(
        f"{setting} needs a clean start, and {plural(len(changed), 'file')} {'is' if is_one else 'are'} "
        f"changed and not committed ({named}).",
        "Commit them, or put them aside with `git stash -u`, then run again.",
    )


def _is_continued(git: Git, head: Head, worked_on: WorkedOn) -> bool:
    """Return whether the checked out branch is the one of the unfinished task, with no commit taken away."""
    if head.branch != worked_on.branch:
        return False
    return not worked_on.commit or git.succeeds(
        "merge-base", "--is-ancestor", worked_on.commit, "HEAD"
    )


def changed_paths(git: Git, kept: Collection[str] = ()) -> list[str]:
    """List what is changed or new anywhere in the repository, without what ralph writes itself."""
    prefix = git.text("rev-parse", "--show-prefix")
    listed = git.output(
        "status", "--porcelain=v1", "-z", "--untracked-files=normal", "--no-renames"
    )
    paths = [os.fsdecode(entry)[3:] for entry in listed.split(b"\0") if entry]
    own = tuple(f"{prefix}{name}" for name in (*RALPHS_OWN, *kept))
    places = tuple(f"{prefix}{name}" for name in RALPHS_DIRECTORIES)
    return [path for path in paths if path not in own and not path.startswith(places)]


@dataclass(frozen=True)
class Prepared:
    """The branch that ralph works on, checked out.

    Attributes:
        head: The branch and its commit.
        made: Whether the branch is new.
        left: The branch that was checked out before, when it is another one.
    """

    head: Head
    made: bool = False
    left: str = ""


def branch_name(git: Git, prefix: str, *texts: str) -> str:
    """Return the name of the branch for the first of these texts that leads to one.

    Raises:
        SetupError: Git takes no such name.
    """
    slug = next((found for text in texts if (found := branch_slug(text))), "work")
    return valid_branch(git, f"{prefix}{slug}")


def valid_branch(git: Git, name: str) -> str:
    """Return the name of a branch.

    Raises:
        SetupError: Git takes no such name.
    """
    if name.startswith("-") or not git.succeeds("check-ref-format", "--branch", name):
        raise SetupError(
            f"Git takes no branch named {one_line(name, 80)!r}.",
            "Change git.branch_prefix: letters, digits, - and / are safe, such as feature/.",
        )
    return name


def check_out(git: Git, name: str, before: Head, require: Callable[[], None]) -> Prepared:
    """Check out a branch, or make it here when there is none; an existing one is never moved.

    Args:
        git: The repository.
        name: A name that git takes.
        before: What is checked out.
        require: Called before anything changes, to refuse it.

    Raises:
        SetupError: Git refuses, for instance because another worktree has it.
    """
    if before.branch == name:
        return Prepared(before)
    require()
    exists = git.succeeds("show-ref", "--verify", "--quiet", f"{HEADS}{name}")
    git.text("switch", "--no-guess", *(() if exists else ("-c",)), name)
    return Prepared(read_head(git), made=not exists, left=before.branch)


def push_line(git: Git, branch: str) -> str:
    """Return the command by which a person pushes a branch; empty when there is nowhere to push to."""
    remotes = git.text("remote").splitlines()
    if not remotes:
        return ""
    upstream = git.ask("config", "--get", f"branch.{branch}.remote").stdout.decode().strip()
    if upstream in remotes:
        return f"git push {upstream} {branch}"
    remote = "origin" if "origin" in remotes else remotes[0]
    return f"git push -u {remote} {branch}"
