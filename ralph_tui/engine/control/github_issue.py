"""Read a GitHub issue with the person's own `gh`, without a shell or prompts, within half a minute."""

import contextlib
import os
import re
import signal
import subprocess
from pathlib import Path

from pydantic import ValidationError

from ralph_tui.domain.base import Model
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.sanitize import one_line

SECONDS = 30.0

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
"""The exit status of `gh` if the person is not logged in."""

_SAVE = "Or save the issue text to a file and give its path."


class Issue(Model):
    """An issue as returned by `gh`."""

    number: int
    title: str
    body: str
    url: str

    @property
    def text(self) -> str:
        return f"# {self.title}\n\n{self.body.strip()}\n"

    @property
    def name(self) -> str:
        return f"issue #{self.number}"


def is_issue(given: str) -> bool:
    return (_NUMBER.fullmatch(given) or _URL.fullmatch(given)) is not None


def fetch_issue(root: Path, given: str) -> Issue:
    """Fetch an issue; a number refers to the repository at `root`. Blocks."""
    number = _NUMBER.fullmatch(given)
    wanted = number[1] if number else given
    command = ["gh", "issue", "view", wanted, "--json", _FIELDS]
    status, output, errors = _run(command, root, given)
    if status == 0:
        try:
            found = Issue.model_validate_json(output, strict=True)
        except ValidationError as error:
            message = f"The output of gh for {given} is not an issue."
            raise RalphError(message, f"Update gh. {_SAVE}") from error
        return found.model_copy(update={"title": one_line(found.title, 300)})
    if status == _NEEDS_LOGIN or "gh auth login" in errors:
        raise RalphError(
            f"Cannot read issue {given}: gh is not logged in.",
            f"Log in with `gh auth login`. {_SAVE}",
        )
    if "Could not resolve to" in errors or "HTTP 404" in errors:
        raise RalphError(
            f"Issue {given} does not exist, or you have no access to it.",
            "Check the issue number and the repository.",
        )
    why = one_line(errors, 200) or f"exit status {status}"
    raise RalphError(f"gh could not read issue {given}: {why}", _SAVE)


def _run(command: list[str], root: Path, given: str) -> tuple[int, bytes, str]:
    """Run `gh` in its own process group, so that its child processes end with it."""
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
            f"Cannot read issue {given}: gh {why}.",
            f"Install it from https://cli.github.com. {_SAVE}",
        ) from error
    try:
        output, errors = process.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        raise RalphError(
            f"gh did not return issue {given} within {SECONDS:g} seconds.",
            f"Check the network and try again. {_SAVE}",
        ) from None
    finally:
        _end(process)
    return process.returncode, output, errors.decode("utf-8", "replace")


def _end(process: "subprocess.Popen[bytes]") -> None:
    # macOS raises PermissionError if all processes of the group have ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()
