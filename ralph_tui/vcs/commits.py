"""Commits a task's work: stages the project, refuses secrets, has the hooks run, and moves the branch in one step."""

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.redaction import holds_key
from ralph_tui.domain.sanitize import one_line
from ralph_tui.vcs.branches import Head, read_head, require_unprotected
from ralph_tui.vcs.commit_hooks import RunHook, found_hooks, run_hooks
from ralph_tui.vcs.commit_message import after_hooks, with_trailers
from ralph_tui.vcs.git import Git

PROJECT = ("--", ".", ":(exclude).ralph")
"""What a commit may hold: the project without ralph's own directory."""

_GITLINK = "160000"
_NOTHING = "0" * 40
_SCANNED_BYTES = 1_000_000
_OVERLAP = 4_096
_SECRET_NAME = re.compile(
    r"(?:.*/)?(?:\.env(?:\..+)?|\.netrc|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519))"
)
_HARMLESS_NAME = re.compile(r".*\.(?:example|sample|template|dist)")


class CommitRefusedError(SetupError):
    """What is staged must not be committed."""


@dataclass(frozen=True)
class ChangedPath:
    """A path as a commit has it; mode and object are empty when it is deleted there."""

    path: str
    mode: str = ""
    object: str = ""


@dataclass(frozen=True)
class CommitMade:
    """A commit that ralph made.

    Attributes:
        commit: Its hash.
        branch: The branch it is on.
        parent: The commit before it; empty for the first of a branch.
        subject: The first line of its message.
        entries: Each path that differs from its parent, from the top of the work tree.
        staged: The same, and each path of the index that was staged as something else before.
        additions: Lines added.
        deletions: Lines removed.
    """

    commit: str
    branch: str
    parent: str
    subject: str
    entries: tuple[ChangedPath, ...]
    staged: tuple[ChangedPath, ...]
    additions: int
    deletions: int


@dataclass(frozen=True)
class CommitWanted:
    """A commit to make.

    Attributes:
        message: Subject and body.
        trailers: Its last paragraph, by name.
        protected: Branches that must not be committed to.
        paths: The only paths to commit, from the project; empty for everything in it.
        intend: Writes down which commit is about to be made, before the branch moves.
    """

    message: str
    trailers: Mapping[str, str] = field(default_factory=dict)
    protected: Sequence[str] = ()
    paths: tuple[str, ...] = ()
    intend: Callable[[str], None] = lambda _: None


class Committer:
    """Commits in one repository. Every method blocks."""

    def __init__(self, root: Path, run_hook: RunHook | None) -> None:
        """Commit the project at `root`.

        Args:
            root: The project's directory, which may be below the repository's top.
            run_hook: Runs a hook in the sandbox; None when hooks are skipped.
        """
        self.git = Git(root)
        self._run_hook = run_hook

    def commit(self, wanted: CommitWanted) -> CommitMade | None:
        """Commit what is changed in the project; None when nothing is.

        The branch moves in one step from the commit that was looked at. Whatever fails before leaves it alone.

        Raises:
            CommitRefusedError: The change holds a secret or a repository of its own.
            HookError: A hook failed or changed files.
            SetupError: The branch is protected or HEAD is detached, or git cannot commit.
        """
        head = read_head(self.git)
        if not head.branch:
            raise SetupError(
                "HEAD is detached, so a commit would belong to no branch.",
                "Check out a branch with `git switch BRANCH`, then run again.",
            )
        require_unprotected(head.branch, wanted.protected)
        index = self.git.text("write-tree")
        self._stage(wanted.paths)
        tree = self.git.text("write-tree")
        base = head.commit or self.git.text("hash-object", "-t", "tree", os.devnull)
        entries = tuple(self._entries(base, tree))
        if not entries:
            return None
        self._require_no_secret(base, tree, entries)
        message = self._message(wanted, tree)
        staged = {one.path: one for one in (*self._entries(index, tree), *entries)}
        made = self._made(head, message, tree, entries, base)
        made = replace(made, staged=tuple(staged.values()))
        wanted.intend(made.commit)
        reason = f"commit (ralph): {made.subject}"
        self.git.text("update-ref", "-m", reason, "HEAD", made.commit, head.commit or _NOTHING)
        return made

    def is_made(self, commit: str) -> bool:
        """Return whether the checked out branch holds this commit."""
        return bool(re.fullmatch(r"[0-9a-f]{40,64}", commit)) and self.git.succeeds(
            "merge-base", "--is-ancestor", commit, "HEAD"
        )

    def hooks(self) -> tuple[str, ...]:
        """Return the names of the hooks that a commit would run."""
        return tuple(found_hooks(self.git))

    def _stage(self, paths: tuple[str, ...]) -> None:
        if not paths:
            self.git.text("add", "-A", *PROJECT)
            return
        # What was never committed and is gone has nothing to stage, and what is ignored stays so.
        known = self.git.output("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        there = set(known.split(b"\0"))
        names = [name for name in map(os.fsencode, paths) if name in there]
        if names:
            self.git.text(
                *(
                    "--literal-pathspecs",
                    "add",
                    "-A",
                    "--pathspec-from-file=-",
                    "--pathspec-file-nul",
                ),
                stdin=b"\0".join(names),
            )

    def _entries(self, base: str, tree: str) -> Iterator[ChangedPath]:
        """Yield each path that differs between two trees.

        Raises:
            CommitRefusedError: One is a repository of its own, whose files no commit would hold.
        """
        raw = self.git.output(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", base, tree
        )
        words = [os.fsdecode(word) for word in raw.split(b"\0") if word]
        for about, path in zip(words[::2], words[1::2], strict=True):
            old, mode, _, found, status = about.removeprefix(":").split()
            if mode == _GITLINK and old != _GITLINK:
                raise CommitRefusedError(
                    f"{one_line(path, 80)} is a git repository of its own: a commit would not hold its files",
                    "Add it to .gitignore, or remove its .git directory. Then run again.",
                )
            yield ChangedPath(path) if status == "D" else ChangedPath(path, mode, found)

    def _require_no_secret(self, base: str, tree: str, entries: Sequence[ChangedPath]) -> None:
        """Look for keys in the names of new files and in every line that is added.

        Raises:
            CommitRefusedError: There is one; its value is not said.
        """
        known = self.git.output("ls-tree", "-r", "-z", "--name-only", "--full-tree", base)
        before = {os.fsdecode(path) for path in known.split(b"\0")}
        named = [e.path for e in entries if e.mode and e.path not in before and _is_secret(e.path)]
        named = named or self._paths_with_keys(base, tree)
        if named:
            shown = shortlist([one_line(path, 80) for path in named], 3)
            raise CommitRefusedError(
                f"{plural(len(named), 'file')} to be committed {'holds' if len(named) == 1 else 'hold'} "
                f"a secret ({shown})",
                "Take it out, or add the file to .gitignore. Then run again, and ralph commits first.",
            )

    def _paths_with_keys(self, base: str, tree: str) -> list[str]:
        found: list[str] = []
        for path, text in self._added(base, tree):
            if path not in found and holds_key(text):
                found.append(path)
        return found

    def _added(self, base: str, tree: str) -> Iterator[tuple[str, str]]:
        """Yield the lines that are added, in pieces that overlap, each with its file."""
        form = (
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            "--no-renames",
            "--text",
            "--unified=0",
        )
        path, piece, is_header = "", bytearray(), False
        for line in self.git.lines("diff", *form, "--no-prefix", base, tree):
            if line.startswith(b"diff --git "):
                if piece:
                    yield path, piece.decode("utf-8", "replace")
                piece.clear()
                is_header = True
            elif is_header and line.startswith((b"+++ ", b"--- ")):
                name = os.fsdecode(line[4:].rstrip(b"\t\r\n"))
                path = path if name == "/dev/null" else name.strip('"')
            elif line.startswith(b"@@"):
                is_header = False
            elif line.startswith(b"+") and not is_header:
                piece += line[1:]
                if len(piece) > _SCANNED_BYTES:
                    yield path, piece.decode("utf-8", "replace")
                    del piece[:-_OVERLAP]
        if piece:
            yield path, piece.decode("utf-8", "replace")

    def _message(self, wanted: CommitWanted, tree: str) -> str:
        message = with_trailers(wanted.message, wanted.trailers)
        if self._run_hook is None:
            return message
        with tempfile.TemporaryDirectory(prefix="ralph-commit-") as directory:
            left = run_hooks(self.git, self._run_hook, message, Path(directory), tree)
        return message if left == message else after_hooks(left, wanted.trailers)

    def _made(
        self, head: Head, message: str, tree: str, entries: tuple[ChangedPath, ...], base: str
    ) -> CommitMade:
        """Write the commit without moving anything to it."""
        parent = ("-p", head.commit) if head.commit else ()
        commit = self.git.text("commit-tree", tree, *parent, "-F", "-", stdin=message.encode())
        counted = self.git.text("diff-tree", "-r", "--shortstat", "--no-renames", base, tree)
        return CommitMade(
            commit=commit,
            branch=head.branch,
            parent=head.commit,
            subject=message.partition("\n")[0],
            entries=entries,
            staged=entries,
            additions=_counted(counted, "insertion"),
            deletions=_counted(counted, "deletion"),
        )


def _counted(text: str, what: str) -> int:
    found = re.search(rf"(\d+) {what}", text)
    return int(found[1]) if found else 0


def _is_secret(path: str) -> bool:
    return bool(_SECRET_NAME.fullmatch(path)) and not _HARMLESS_NAME.fullmatch(path)
