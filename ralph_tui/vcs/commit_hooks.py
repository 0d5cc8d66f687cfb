"""Finds a repository's commit hooks and runs them in the sandbox, as an agent may have written them."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.sanitize import one_line
from ralph_tui.vcs.git import Git

HOOKS = ("pre-commit", "prepare-commit-msg", "commit-msg")
"""The hooks that `git commit -F -` runs, in this order; `post-commit` is too late to refuse anything."""


RunHook = Callable[[tuple[str, ...], Path, Mapping[str, str], Path], tuple[int | None, str]]
"""Runs a hook in the sandbox, by its words, its directory, variables in addition to the sandbox's and the one writable
directory outside the project; blocks. Returns its status, which is None after a timeout, and its output."""


class HookError(SetupError):
    """A hook failed or changed files."""

    def __init__(self, message: str, hint: str, output: str) -> None:
        super().__init__(message, hint)
        self.output = output


def found_hooks(git: Git) -> dict[str, Path]:
    asked = git.ask("rev-parse", "--git-path", "hooks", shows_hooks=True)
    directory = git.root / os.fsdecode(asked.stdout).removesuffix("\n")
    found = {name: directory / name for name in HOOKS}
    return {n: path for n, path in found.items() if path.is_file() and os.access(path, os.X_OK)}


def run_hooks(git: Git, run: RunHook, message: str, directory: Path, tree: str) -> str:
    """Run the hooks on the staged tree and return the message as they leave it."""
    hooks = found_hooks(git)
    if not hooks:
        return message
    top = Path(git.text("rev-parse", "--show-toplevel"))
    file = directory / "COMMIT_EDITMSG"
    file.write_text(message, encoding="utf-8")
    arguments: Mapping[str, tuple[str, ...]] = {
        "pre-commit": (),
        "prepare-commit-msg": (str(file), "message"),
        "commit-msg": (str(file),),
    }
    environment = {
        "GIT_INDEX_FILE": git.text("rev-parse", "--path-format=absolute", "--git-path", "index"),
        "GIT_EDITOR": ":",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_OPTIONAL_LOCKS": "0",
    }
    untracked = _untracked(git)  # such as what checks made, which no commit takes
    for name, path in hooks.items():
        status, output = run((str(path), *arguments[name]), top, environment, directory)
        if status != 0:
            how = "took too long" if status is None else f"failed (status {status})"
            raise HookError(
                f"the repository's hook {name} {how}",
                "Fix what the hook reports, or set git.hooks to skip. Then run again. Ralph commits first.",
                output,
            )
        _require_unchanged(git, name, tree, output, untracked)
    return file.read_bytes().decode("utf-8", "replace")


def _untracked(git: Git) -> frozenset[bytes]:
    what = ("--others", "--exclude-standard", "-z", "--", ".", ":(exclude).ralph")
    return frozenset(git.output("ls-files", *what).split(b"\0"))


def _require_unchanged(
    git: Git, hook: str, tree: str, output: str, untracked: frozenset[bytes]
) -> None:
    """Make sure that files and index still match the staged tree, because only that was verified."""
    # Unlike diff-files, this does not list a file that was rewritten with the same content.
    listed = git.output("diff", "--name-only", "-z", "--relative", "--no-ext-diff").split(b"\0")
    edited = sorted(os.fsdecode(one) for one in {*listed, *(_untracked(git) - untracked)} if one)
    if not edited and git.text("write-tree") == tree:
        return
    named = shortlist([one_line(path, 60) for path in edited], 3) or "the index"
    what = f"{plural(len(edited), 'file')} ({named})" if edited else named
    raise HookError(
        f"the repository's hook {hook} changed {what}, which no check has verified",
        "Review the changes with `git diff`. Then commit them yourself, or run again to let ralph commit them.",
        output,
    )
