"""Reads an issue of GitHub with the person's own `gh`: no shell, no question, no longer than half a minute."""

import contextlib
import json
import os
import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.sanitize import one_line

SECONDS = 30.0
"""The longest that `gh` may take."""

_NUMBER = re.compile(r"#?(\d{1,9})")
_URL = re.compile(r"https://[\w.-]+(?::\d+)?/[\w.-]+/[\w.-]+/issues/(\d{1,9})(?:[?#]\S*)?")
_FIELDS = "number,title,body,url"
_QUIET = {
    "GH_PROMPT_DISABLED": "1",
    "GH_NO_UPDATE_NOTIFIER": "1",
    "GH_PAGER": "cat",
    "GH_FORCE_TTY": "",
    "NO_COLOR": "1",
    "GIT_TERMINAL_PROMPT": "0",
}
_NEEDS_LOGIN = 4
"""The exit status of `gh` for a person who is not logged in."""

_SAVE = "Or save its text into a file and name that file."


@dataclass(frozen=True)
class Issue:
    """An issue as `gh` gave it."""

    number: int
    title: str
    body: str
    url: str

    @property
    def text(self) -> str:
        """Its title and text as one Markdown document."""
        return f"# {self.title}\n\n{self.body.strip()}\n"

    @property
    def name(self) -> str:
        """What a person calls it."""
        return f"issue #{self.number}"


def is_issue(given: str) -> bool:
    """Return whether a word names an issue: its number, `#12` or its address."""
    return (_NUMBER.fullmatch(given) or _URL.fullmatch(given)) is not None


def fetch_issue(root: Path, given: str) -> Issue:
    """Return an issue; a number is looked up in the repository at `root`. Blocks.

    Raises:
        RalphError: `gh` is missing, not logged in or too slow, or there is no such issue.
    """
    number = _NUMBER.fullmatch(given)
    wanted = number[1] if number else given
    command = ["gh", "issue", "view", wanted, "--json", _FIELDS]
    status, output, said = _run(command, root, given)
    if status == 0:
        return _issue(output, given)
    if status == _NEEDS_LOGIN or "gh auth login" in said:
        raise RalphError(
            f"The issue {given} cannot be read, because gh is not logged in.",
            f"Log in with `gh auth login`. {_SAVE}",
        )
    if "Could not resolve to" in said or "HTTP 404" in said:
        raise RalphError(
            f"There is no issue {given}, or your login may not see it.",
            "Check its number and the repository.",
        )
    why = one_line(said, 200) or f"it ended with status {status}"
    raise RalphError(f"gh could not read the issue {given}: {why}", _SAVE)


def _run(command: list[str], root: Path, given: str) -> tuple[int, bytes, str]:
    """Run `gh` in a process group of its own, so that whatever it started ends with it."""
    try:
        process = subprocess.Popen(
            command,
            cwd=root if root.is_dir() else None,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**os.environ, **_QUIET},
            start_new_session=True,
        )
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        why = "is not installed" if missing else f"cannot be started ({error.strerror or error})"
        raise RalphError(
            f"The issue {given} cannot be read: the program gh {why}.",
            f"Install it from https://cli.github.com. {_SAVE}",
        ) from error
    try:
        output, said = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise RalphError(
            f"gh did not answer about the issue {given} within {SECONDS:g} seconds.",
            f"Check the network and try again. {_SAVE}",
        ) from None
    finally:
        _end(process)
    return process.returncode, output, said.decode("utf-8", "replace")


def _end(process: "subprocess.Popen[bytes]") -> None:
    """End the process with everything it has started."""
    # macOS refuses where only what has ended is left of the group.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def _issue(output: bytes, given: str) -> Issue:
    try:
        found = json.loads(output.decode("utf-8"))
        number, title, body, url = (found[name] for name in _FIELDS.split(","))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise _no_issue(given) from error
    texts = all(isinstance(text, str) for text in (title, body, url))
    if not texts or type(number) is not int:
        raise _no_issue(given)
    return Issue(number, one_line(title, 300), body, url)


def _no_issue(given: str) -> RalphError:
    return RalphError(f"What gh says about {given} is no issue.", f"Update gh. {_SAVE}")
