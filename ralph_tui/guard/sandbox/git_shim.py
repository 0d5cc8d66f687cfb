"""Judges git calls from scripts: the shim `git` runs `python -m ralph_tui.guard.sandbox.git_shim ARGUMENTS`.

The project's repository is subject to the same rule as in commands. In any other repository, such as a
test's temporary one or uv's cache, git is unrestricted.
"""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from ralph_tui.guard.core.policy import Policy
from ralph_tui.guard.core.verdicts import DeniedError
from ralph_tui.guard.core.working_dirs import WorkingDirs
from ralph_tui.guard.rules.git import RULE, judge_git
from ralph_tui.guard.shell.nodes import literal

_CLI_SETTINGS = re.compile(
    r"core\.(?:hooksPath=/dev/null|fsmonitor=|askPass=|alternateRefsCommand=f\(\) \{ git --git-dir=\"\$1\""
    r" for-each-ref --format='%\(objectname\)'; \}; f)|safe\.bareRepository=explicit"
    r"|protocol\.(?:file|ext)\.allow=never|submodule\.recurse=false|log\.showSignature=false"
    r"|format\.pretty=medium|gc\.auto=0|maintenance\.auto=false|diff\.autoRefreshIndex=false"
    r"|hook\.[a-z0-9-]+\.enabled=false"
)
"""Settings that the CLI passes in its own calls; none makes a reading command start a program."""
_WITH_VALUE = ("-C", "--git-dir", "--work-tree", "--namespace", "-c")


def main(arguments: Sequence[str]) -> int:
    git = os.environ.get("RALPH_GUARD_GIT", "git")
    refusal = refused(arguments) if _touches_project(git, arguments) else ""
    if not refusal:
        os.execv(git, [git, *arguments])  # noqa: S606 - becoming git is the point
    sys.stderr.write(f"git: {refusal}\n")
    return 1


def refused(arguments: Sequence[str]) -> str:
    policy = Policy(root=Path(os.environ.get("RALPH_GUARD_ROOT", ".")))
    dirs = WorkingDirs(policy, frozenset({str(Path.cwd())}))
    try:
        for written in judge_git([literal(word) for word in _without_settings(arguments)], policy):
            dirs.check_write(written, f"git {' '.join(arguments)}")
    except DeniedError as denied:
        return f"{denied.verdict.message} ({RULE})"
    return ""


def _without_settings(arguments: Sequence[str]) -> Sequence[str]:
    at = 0
    while arguments[at : at + 1] == ["-c"] and _CLI_SETTINGS.fullmatch(
        "".join(arguments[at + 1 : at + 2])
    ):
        at += 2
    return arguments[at:]


def _touches_project(git: str, arguments: Sequence[str]) -> bool:
    where = _repository_options(arguments)
    asked = subprocess.run(
        [git, *where, "rev-parse", "--git-common-dir"], capture_output=True, text=True, check=False
    )
    root = os.path.realpath(os.environ.get("RALPH_GUARD_ROOT", "."))
    if asked.returncode != 0:
        return Path.cwd().is_relative_to(root)
    base = Path.cwd().joinpath(*(where[at + 1] for at, word in enumerate(where) if word == "-C"))
    common = os.path.realpath(base / asked.stdout.strip())
    return common == os.environ.get("RALPH_GUARD_REPOSITORY") or Path(common).is_relative_to(root)


def _repository_options(arguments: Sequence[str]) -> list[str]:
    chosen: list[str] = []
    words = iter(arguments)
    for word in words:
        if not word.startswith("-"):
            break
        value = next(words, "") if word in _WITH_VALUE else None
        if word in ("-C", "--git-dir"):
            chosen += [word, value or ""]
        elif word.startswith("--git-dir="):
            chosen.append(word)
    return chosen


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
