"""Report unusual states of the person's repository before a run spends money."""

from pathlib import Path

from ralph_tui.domain.events import Notice
from ralph_tui.domain.formatting import plural
from ralph_tui.vcs.branches import in_progress
from ralph_tui.vcs.git import Git, GitError


def repository_notices(root: Path) -> tuple[Notice, ...]:
    """Return notices about the repository that contains `root`; empty without one. Blocks."""
    git = Git(root)
    try:
        status = git.text("status", "--porcelain=v2", "--branch", "--untracked-files=no")
        directory = Path(git.text("rev-parse", "--absolute-git-dir"))
    except GitError:
        return ()
    lines = status.splitlines()
    found = [_unfinished(directory, conflicts=sum(line.startswith("u ") for line in lines))]
    if "# branch.head (detached)" in lines and not found[0]:
        found.append("HEAD is detached: new commits belong to no branch.")
    if (lock := directory / "index.lock").exists():
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
    name, _ = in_progress(directory)
    if not name and not conflicts:
        return ""
    what = f"{name} is not finished" if name else "a conflict is not resolved"
    files = f" ({plural(conflicts, 'file')} in conflict)" if conflicts else ""
    return f"{what}{files}, so the agent would work on an unfinished state. Run `git status` to see how to finish it."
