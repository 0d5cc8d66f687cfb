"""Commits a task's work: stages the project, refuses secrets, runs the hooks, and moves the branch atomically."""

import os
import re
import tempfile
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.formatting import plural, shortlist
from ralph_tui.domain.redaction import contains_key
from ralph_tui.domain.sanitize import inert, one_line
from ralph_tui.vcs.branches import Head, read_head, require_branch, require_unprotected
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


MAX_SUBJECT = 120
MAX_MESSAGE = 16_000

_PLACEHOLDER = re.compile(r"\{([^{}]*)\}")
_TRAILER = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*[ \t]*[:=#]|\(cherry picked from commit")
_OWN = re.compile(r"(?im)^[ \t]*Ralph-[A-Za-z]+[ \t]*:.*\n?")
_GITLINK = "160000"
_NO_COMMIT = "0" * 40
_PIECE_BYTES = 1_000_000
_OVERLAP = 4_096
_SECRET_NAME = re.compile(
    r"(?:.*/)?(?:\.env(?:\..+)?|\.netrc|\.pypirc|id_(?:rsa|dsa|ecdsa|ed25519))"
)
_HARMLESS_NAME = re.compile(r".*\.(?:example|sample|template|dist)")


class CommitRefusedError(SetupError):
    """The staged changes must not be committed."""


@dataclass(frozen=True)
class MadeCommit:
    """A commit that ralph made.

    Attributes:
        subject: The first line of its message.
        files: How many paths differ from its parent.
        staged: These and the paths that were staged differently before, relative to the top of the work tree,
            each with `mode,object`, or empty if it is deleted.
    """

    commit: str
    branch: str
    subject: str
    files: int
    staged: Mapping[str, str]
    additions: int
    deletions: int


@dataclass(frozen=True)
class CommitRequest:
    """A commit to make.

    Attributes:
        message: Subject and body.
        trailers: The trailers of the message, by name.
        protected: Branches that must not receive commits.
        paths: The only paths to commit, relative to the project; empty for everything in it.
        left_out: New files that do not belong to the commit, relative to the project.
        intend: Records the new commit before the branch moves to it.
    """

    message: str
    trailers: Mapping[str, str] = field(default_factory=dict)
    protected: Sequence[str] = ()
    paths: tuple[str, ...] = ()
    left_out: Collection[str] = ()
    intend: Callable[[str], object] = lambda _: None


class Committer:
    """Makes commits in one repository. Every method blocks."""

    def __init__(
        self, root: Path, run_hook: RunHook | None, settings: Callable[[], tuple[str, ...]] = tuple
    ) -> None:
        """Commit the project at `root`.

        Args:
            run_hook: Runs a hook in the sandbox; None to skip hooks.
            settings: Returns git's settings for a commit, each as `name=value`.
        """
        self.git = Git(root)
        self._run_hook = run_hook
        self._settings = settings

    def commit(self, wanted: CommitRequest) -> MadeCommit | None:
        """Commit the changes in the project; return None if there are none.

        The branch moves atomically from the commit read at the start. If anything fails, it does not move.
        """
        head = read_head(self.git)
        require_branch(head)
        require_unprotected(head.branch, wanted.protected)
        self.git = Git(self.git.root, self._settings())
        with self._unstaged_on_failure():
            return self._commit(head, wanted)

    def _commit(self, head: Head, wanted: CommitRequest) -> MadeCommit | None:
        index = self.git.text("write-tree")
        self._stage(wanted.paths, wanted.left_out)
        tree = self.git.text("write-tree")
        base = head.commit or self.git.text("hash-object", "-t", "tree", os.devnull)
        changed = dict(self._changed_paths(base, tree))
        if not changed:
            return None
        self._require_no_secret(base, tree, changed)
        message = self._message(wanted, tree)
        staged = {**dict(self._changed_paths(index, tree)), **changed}
        parent = ("-p", head.commit) if head.commit else ()
        commit = self.git.text("commit-tree", tree, *parent, "-F", "-", stdin=message.encode())
        counted = self.git.text("diff-tree", "-r", "--shortstat", "--no-renames", base, tree)
        wanted.intend(commit)
        subject = message.partition("\n")[0]
        reason = f"commit (ralph): {subject}"
        self.git.text("update-ref", "-m", reason, "HEAD", commit, head.commit or _NO_COMMIT)
        return MadeCommit(
            commit=commit,
            branch=head.branch,
            subject=subject,
            files=len(changed),
            staged=staged,
            additions=_line_count(counted, "insertion"),
            deletions=_line_count(counted, "deletion"),
        )

    @contextmanager
    def _unstaged_on_failure(self) -> Iterator[None]:
        """Put the index back if the commit fails, so that what ralph staged is not taken for the person's."""
        path = self.git.root / self.git.text("rev-parse", "--git-path", "index")
        before = path.read_bytes() if path.exists() else None
        try:
            yield
        except BaseException:
            if before is None:
                path.unlink(missing_ok=True)
            else:
                temp = path.with_name(f"index.ralph-{os.getpid()}")
                temp.write_bytes(before)
                temp.replace(path)
            raise

    def is_made(self, commit: str) -> bool:
        return bool(re.fullmatch(r"[0-9a-f]{40,64}", commit)) and self.git.succeeds(
            "merge-base", "--is-ancestor", commit, "HEAD"
        )

    def hooks(self) -> tuple[str, ...]:
        return tuple(found_hooks(self.git))

    def _stage(self, paths: tuple[str, ...], left_out: Collection[str]) -> None:
        # Name every path: git refuses what it ignores, and `:(exclude).ralph` where `.ralph` itself is ignored.
        which = ("--cached",) if paths else ("--modified", "--deleted")
        what = (*which, "--others", "--exclude-standard", "--", ".", ":(exclude).ralph")
        found = self.git.output("ls-files", "-z", *what).split(b"\0")
        there = set(filter(None, found)).difference(map(os.fsencode, left_out))
        names = [name for name in map(os.fsencode, paths) if name in there] if paths else there
        if names:
            listed = ("--pathspec-from-file=-", "--pathspec-file-nul")
            self.git.text(
                *("--literal-pathspecs", "add", "-A", *listed), stdin=b"\0".join(sorted(names))
            )

    def _changed_paths(self, base: str, tree: str) -> Iterator[tuple[str, str]]:
        raw = self.git.output(
            "diff-tree", "-r", "-z", "--raw", "--no-renames", "--full-index", base, tree
        )
        words = [os.fsdecode(word) for word in raw.split(b"\0") if word]
        for about, path in zip(words[::2], words[1::2], strict=True):
            old, mode, _, found, status = about.removeprefix(":").split()
            if mode == _GITLINK and old != _GITLINK:
                raise CommitRefusedError(
                    f"{one_line(path, 80)} is a separate git repository, so a commit would not include its files",
                    "Add it to .gitignore, or remove its .git directory. Then run again.",
                )
            yield path, "" if status == "D" else f"{mode},{found}"

    def _require_no_secret(self, base: str, tree: str, changed: Mapping[str, str]) -> None:
        known = self.git.output("ls-tree", "-r", "-z", "--name-only", "--full-tree", base)
        before = {os.fsdecode(path) for path in known.split(b"\0")}
        named = [
            path
            for path, held in changed.items()
            if held and path not in before
            if _SECRET_NAME.fullmatch(path) and not _HARMLESS_NAME.fullmatch(path)
        ]
        if not named:
            lines = self._added_lines(base, tree)
            named = list(dict.fromkeys(path for path, text in lines if contains_key(text)))
        if named:
            shown = shortlist([one_line(path, 80) for path in named], 3)
            raise CommitRefusedError(
                f"{plural(len(named), 'file')} to be committed {'contains' if len(named) == 1 else 'contain'} "
                f"a secret ({shown})",
                "Remove the secret, or add the file to .gitignore. Then run again. Ralph commits first.",
            )

    def _added_lines(self, base: str, tree: str) -> Iterator[tuple[str, str]]:
        form = ("--no-ext-diff", "--no-textconv", "--no-color", "--no-renames", "--text")
        path, piece, is_header = "", bytearray(), False
        for line in self.git.lines("diff", *form, "--unified=0", "--no-prefix", base, tree):
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
                if len(piece) > _PIECE_BYTES:
                    yield path, piece.decode("utf-8", "replace")
                    del piece[:-_OVERLAP]
        if piece:
            yield path, piece.decode("utf-8", "replace")

    def _message(self, wanted: CommitRequest, tree: str) -> str:
        message = with_trailers(wanted.message, wanted.trailers)
        if self._run_hook is None:
            return message
        with tempfile.TemporaryDirectory(prefix="ralph-commit-") as directory:
            left = run_hooks(self.git, self._run_hook, message, Path(directory), tree)
        return message if left == message else after_hooks(left, wanted.trailers)


def _line_count(text: str, what: str) -> int:
    found = re.search(rf"(\d+) {what}", text)
    return int(found[1]) if found else 0


def filled(template: str, values: Mapping[str, str]) -> str:
    """Fill in a template; each value becomes one inert line and cannot start a trailer.

    Args:
        values: The value of each name; an unknown placeholder is left unchanged.
    """
    lines = []
    for number, line in enumerate(template.strip().splitlines()):
        made = _PLACEHOLDER.sub(lambda m: one_line(inert(values.get(m[1], m[0]))), line).rstrip()
        if number and made != line and _TRAILER.match(made):
            made = f"  {made}"  # git does not read an indented line as a trailer
        lines.append(made)
    subject = one_line(lines[0], MAX_SUBJECT) if lines else ""
    return "\n".join([subject or "Work by ralph", *lines[1:]]).strip()


def with_trailers(message: str, trailers: Mapping[str, str]) -> str:
    lines = [f"{name}: {one_line(value)}" for name, value in trailers.items() if value.strip()]
    return "\n\n".join([message.strip(), "\n".join(lines)] if lines else [message.strip()]) + "\n"


def after_hooks(message: str, trailers: Mapping[str, str]) -> str:
    """Return a message from a hook as inert text, with exactly these of ralph's trailers."""
    text = _OWN.sub("", inert(message)[:MAX_MESSAGE]).strip()
    subject, _, body = text.partition("\n")
    made = one_line(subject, MAX_SUBJECT) or "Work by ralph"
    return with_trailers(f"{made}\n{body}", trailers)
