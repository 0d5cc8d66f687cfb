"""Runs git in the person's repository without prompts, hooks, editors or signatures."""

import os
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.sanitize import one_line

SECONDS = 60.0
"""The timeout of a git command."""

LOCKED_SECONDS = 5.0
"""How long to wait for another git, such as an editor's, that locks the index."""

_QUIET = (
    "core.fsmonitor=false", "commit.gpgSign=false", "core.editor=:", "core.pager=cat", "gc.auto=0",
    "maintenance.auto=false", "submodule.recurse=false", "advice.addEmbeddedRepo=false", "core.quotePath=false",
    "rerere.enabled=false", "core.askPass=",
)  # fmt: skip
_NO_HOOKS = "core.hooksPath=/dev/null"
_NO_QUESTIONS = {
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": ":",
    "GIT_SEQUENCE_EDITOR": ":",
    "GIT_ASKPASS": "",
    "SSH_ASKPASS_REQUIRE": "never",
    "LC_ALL": "C",
}
_IDENTITY = ("GIT_AUTHOR_", "GIT_COMMITTER_")
"""Variables with the person's identity; other git variables could select another repository."""


class GitError(SetupError):
    """A git command failed; the message contains git's reason."""


class Git:
    """Runs git commands in one directory. Every method blocks."""

    def __init__(self, root: Path, settings: tuple[str, ...] = ()) -> None:
        """Run git at `root`; `settings` override the repository's, each as `name=value`."""
        self.root = root
        self._settings = (*_QUIET, *settings)

    def text(self, *arguments: str, stdin: bytes = b"", place: Path | None = None) -> str:
        """Return the output of a command, without the final line break."""
        done = self.output(*arguments, stdin=stdin, place=place)
        return os.fsdecode(done).removesuffix("\n")

    def output(self, *arguments: str, stdin: bytes = b"", place: Path | None = None) -> bytes:
        """Return the raw output of a command; wait briefly for a locked index."""
        deadline = time.monotonic() + LOCKED_SECONDS
        while True:
            done = self.ask(*arguments, stdin=stdin, place=place)
            if done.returncode == 0:
                return done.stdout
            stderr = done.stderr.decode("utf-8", "replace")
            if "index.lock" not in stderr or time.monotonic() > deadline:
                raise GitError(f"`git {arguments[0]}` failed: {_reason(stderr)}", _hint(stderr))
            time.sleep(0.1)

    def succeeds(self, *arguments: str) -> bool:
        return self.ask(*arguments).returncode == 0

    def ask(
        self,
        *arguments: str,
        stdin: bytes = b"",
        place: Path | None = None,
        shows_hooks: bool = False,
    ) -> "subprocess.CompletedProcess[bytes]":
        """Run a command and return its result, whatever its status.

        Args:
            place: The directory to run in; by default the project.
            shows_hooks: Whether the command sees the repository's hooks; only for commands that run none.
        """
        settings = self._settings if shows_hooks else (*self._settings, _NO_HOOKS)
        words = (*(word for setting in settings for word in ("-c", setting)), *arguments)
        return run_git(words, place or self.root, quiet_environment(os.environ), stdin)

    def lines(self, *arguments: str) -> Iterator[bytes]:
        """Yield the output of a command line by line as it arrives, for output of any size."""
        settings = (word for setting in (*self._settings, _NO_HOOKS) for word in ("-c", setting))
        with subprocess.Popen(
            ["git", *settings, *arguments],
            cwd=self.root,
            env=quiet_environment(os.environ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as running:
            assert running.stdout is not None
            yield from running.stdout
        if running.returncode:
            raise GitError(f"`git {arguments[0]}` failed.", "Run `git status` in the project.")


def run_git(
    words: Sequence[str], cwd: Path, environment: Mapping[str, str], stdin: bytes, *kept: int
) -> "subprocess.CompletedProcess[bytes]":
    """Run git and return its result, whatever its status; it keeps the descriptors `kept`."""
    try:
        return subprocess.run(
            ["git", *words],
            cwd=cwd,
            env=environment,
            input=stdin,
            capture_output=True,
            timeout=SECONDS,
            check=False,
            pass_fds=kept,
        )
    except FileNotFoundError as error:
        raise GitError("Git is not installed.", "Install it, then run again.") from error
    except subprocess.TimeoutExpired as error:
        message = f"Git timed out after {SECONDS:.0f} seconds in {cwd}."
        raise GitError(message, "Run `git status` there to see why.") from error


def quiet_environment(base: Mapping[str, str]) -> dict[str, str]:
    """Return an environment in which git never prompts and uses no other repository."""
    kept = {n: v for n, v in base.items() if not n.startswith("GIT_") or n.startswith(_IDENTITY)}
    return kept | _NO_QUESTIONS


def _reason(stderr: str) -> str:
    lines = [line for line in stderr.splitlines() if line.strip()]
    fatal = next((line for line in lines if line.startswith(("fatal:", "error:"))), "")
    chosen = fatal or (lines[-1] if lines else "git gave no reason")
    return one_line(chosen.removeprefix("fatal: ").removeprefix("error: "), 300).rstrip(".") + "."


def _hint(stderr: str) -> str:
    if "index.lock" in stderr:
        return "If no other git command is running, remove .git/index.lock."
    return "Run `git status` in the project for details."
