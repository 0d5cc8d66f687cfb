"""Refuses to read the person's keys, in files of the home directory and in the memory of processes."""

import fnmatch
import os.path
import re
from collections.abc import Sequence
from functools import cache

from ralph_tui.domain.tool_calls import Verdict
from ralph_tui.guard.core.policy import SECRETS, Policy
from ralph_tui.guard.core.programs import listed_words
from ralph_tui.guard.core.verdicts import DeniedError, denial
from ralph_tui.guard.core.working_dirs import UNKNOWN_HOME, WorkingDirs
from ralph_tui.guard.shell.nodes import Simple, Word

RULE = "secret-files"
_LOGINS = (".netrc", ".cargo/credentials.toml", ".claude/.credentials.json")
"""Files that programs log in with, so that only looking at them is refused."""
_SECRET_FILES = (*SECRETS, *_LOGINS)
_HOMES = re.compile(rf"(?:/root|/home/[^/]+|/Users/[^/]+|{UNKNOWN_HOME})/")
_PUBLIC = re.compile(r".*\.pub|known_hosts.*|config|authorized_keys")
_BEFORE_PATH = re.compile(r"(?:[\w.-]*=)?@?(?:file://)?(?=[/~\0$.\w])")


@cache
def _secret_names() -> re.Pattern[str]:
    return re.compile("/proc|" + "|".join(re.escape(n.partition("/")[0]) for n in _SECRET_FILES))


def mentions_secrets(source: str) -> bool:
    return bool(_secret_names().search(source))


def is_secret(path: str, policy: Policy) -> bool:
    home = _HOMES.match(path)
    if policy.home is not None and path.startswith(f"{policy.home}/"):
        below = path[len(f"{policy.home}/") :]
    elif home is not None:
        below = path[home.end() :]
    else:
        return False
    if below.startswith(".ssh/") and _PUBLIC.fullmatch(below[5:]):
        return False
    return any(below == name or below.startswith(f"{name}/") for name in _SECRET_FILES)


def judge_secret_words(command: Simple, dirs: WorkingDirs) -> None:
    program = command.words[0].text.rpartition("/")[2] if command.words else ""
    searches = program == "find" and not any(
        w.text.startswith(("-exec", "-ok")) for w in command.words
    )
    words: Sequence[Word] = (
        () if searches or program in listed_words("use-keys") else command.words[1:]
    )
    if program in listed_words("pattern-first") and not any(
        w.text[:2] in ("-e", "-f") for w in words
    ):
        at = next((at for at, w in enumerate(words) if not w.text.startswith("-")), len(words))
        words = (*words[:at], *words[at + 1 :])
    for at, word in enumerate(words):
        if not (at and words[at - 1].text in ("-i", "--identity")):
            judge_secret_paths([word], dirs, command.raw)


def judge_secret_paths(words: Sequence[Word], dirs: WorkingDirs, shown: str) -> None:
    for word in words:
        begin = _BEFORE_PATH.match(word.text)
        # After `@` there may be a variable, whose name is missing from the word's text.
        path = word.cut(begin.end()) if begin and begin.end() else word
        found = dirs.resolve(path) or dirs.resolve(word) or ()
        if any(is_secret(one, dirs.policy) for one in (*found, *_home_path(word, dirs.policy))):
            raise DeniedError(secret_denial(shown))
        if any(map(_is_memory, found)):
            raise DeniedError(memory_denial(shown))


def _home_path(word: Word, policy: Policy) -> Sequence[str]:
    if " " in word.text:
        return ()
    _, mark, rest = word.raw.replace("${HOME}", "$HOME").partition("$HOME/")
    return (os.path.normpath(f"{policy.home}/{rest}".rstrip("\"'")),) if mark else ()


def secret_denial(shown: str) -> Verdict:
    reason = "This reads the person's keys"
    return denial(RULE, shown, reason, "Let only the programs that need the keys read them.")


_MEMORY_FILES = ("environ", "mem", "kcore")
_PROCESS = re.compile(r"/proc(?:/(?:\d+|x|self|thread-self|[^/]*[*?\[][^/]*))?")
"""The directory of all processes or of one; `x` represents an unknown ID."""


def _is_memory(path: str) -> bool:
    last = path.rpartition("/")[2]
    return path.startswith("/proc/") and any(fnmatch.fnmatch(f, last) for f in _MEMORY_FILES)


def reads_memory(path: str) -> bool:
    plain = os.path.normpath(path).replace("//", "/")
    return _is_memory(plain) or bool(_PROCESS.fullmatch(plain))


def memory_denial(shown: str) -> Verdict:
    reason = "This reads the environment or memory of a process, which can contain keys,"
    return denial("process-memory", shown, reason, "Read your own settings with printenv NAME.")
