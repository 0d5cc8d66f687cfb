"""The person's keys in the home directory: the guard refuses to read what the sandbox hides."""

import os.path
import re
from collections.abc import Mapping, Sequence
from functools import cache
from types import MappingProxyType

from ralph_tui.domain.tool_calls import Verdict
from ralph_tui.guard.names import names
from ralph_tui.guard.places import NOWHERE, Places
from ralph_tui.guard.policy import SECRETS, Policy
from ralph_tui.guard.syntax import Simple, Word
from ralph_tui.guard.verdicts import DeniedError, denial
from ralph_tui.guard.walk import Invocation

RULE = "secret-files"
_FILES = (*SECRETS, ".claude/.credentials.json")
_HOMES = re.compile(rf"(?:/root|/home/[^/]+|/Users/[^/]+|{NOWHERE})/")
_PUBLIC = re.compile(r".*\.pub|known_hosts.*|config|authorized_keys")
"""Files in .ssh that hold no private key."""
_LOOKS = names(
    "ls ll dir stat test [ [[ du file realpath readlink dirname basename echo printf cd pushd which"
    " ssh ssh-add ssh-copy-id ssh-keygen sftp kubectl helm aws az gcloud gh docker git terraform"
    " ansible ansible-playbook export declare typeset local readonly"
)
"""Programs that show only names, or that log in with a key instead of printing it."""
_BEFORE_PATH = re.compile(r"(?:[\w.-]*=)?@?(?:file://)?(?=[/~\0$.\w])")
_JOINTS = re.compile(r"['\"\s,+()]+(?:/['\"\s,+()]*)?|/+")
_HOME_IN_CODE = r"(?:[Hh]ome|HOME|~|/root|/Users)[^\n;]{0,40}?(?<![\w.])"
_READS = re.compile(r"open|read|slurp|load|File\b|copy|cat\b", re.IGNORECASE)


@cache
def _mentioned() -> re.Pattern[str]:
    return re.compile("|".join(re.escape(name.partition("/")[0]) for name in _FILES))


def mentions_secrets(source: str) -> bool:
    """Tell quickly whether a text mentions such files. Most do not."""
    return bool(_mentioned().search(source))


def is_secret(path: str, policy: Policy) -> bool:
    """Tell whether a path is one of these files or directories."""
    home = _HOMES.match(path)
    if policy.home is not None and path.startswith(f"{policy.home}/"):
        below = path[len(f"{policy.home}/") :]
    elif home is not None:
        below = path[home.end() :]
    else:
        return False
    if below.startswith(".ssh/") and _PUBLIC.fullmatch(below[5:]):
        return False
    return any(below == name or below.startswith(f"{name}/") for name in _FILES)


def judge_secret_words(command: Simple, places: Places) -> None:
    """Refuse a command that opens such a file, unless to use it.

    Raises:
        DeniedError: It does.
    """
    program = command.words[0].text.rpartition("/")[2] if command.words else ""
    searches = program == "find" and not any(
        w.text.startswith(("-exec", "-ok")) for w in command.words
    )
    words: Sequence[Word] = () if searches or program in _LOOKS else command.words[1:]
    for at, word in enumerate(words):
        if not (at and words[at - 1].text in ("-i", "--identity")):
            judge_secret_paths([word], places, command.raw)


_PRINTS_KEYS: Mapping[str, re.Pattern[str]] = MappingProxyType(
    {
        "gpg": re.compile(r"--export-secret-.*"),
        "security": re.compile(r"find-(?:generic|internet)-password|dump-keychain"),
    }
)


def judge_key_printer(given: Invocation) -> None:
    """Refuse the options and verbs with which a program prints keys.

    Raises:
        DeniedError: One of them is given.
    """
    if any(_PRINTS_KEYS[given.program].fullmatch(word.text) for word in given.arguments):
        raise DeniedError(secret_denial(given.shown))


def judge_secret_paths(words: Sequence[Word], places: Places, shown: str) -> None:
    """Refuse words that name such a file.

    Raises:
        DeniedError: One does.
    """
    for word in words:
        begin = _BEFORE_PATH.match(word.text)
        # A variable may stand behind `@`, where the word's own text no longer says which.
        path = word.cut(begin.end()) if begin and begin.end() else word
        found = places.resolve(path) or places.resolve(word) or ()
        if any(is_secret(one, places.policy) for one in (*found, *_at_home(word, places.policy))):
            raise DeniedError(secret_denial(shown))


def _at_home(word: Word, policy: Policy) -> Sequence[str]:
    """Find the path in a word such as `k=@$HOME/.ssh/x`."""
    if " " in word.text:
        return ()
    _, mark, rest = word.raw.replace("${HOME}", "$HOME").partition("$HOME/")
    return (os.path.normpath(f"{policy.home}/{rest}".rstrip("\"'")),) if mark else ()


def judge_secrets_in_code(code: str, shown: str) -> None:
    """Refuse code in any language that reads such a file.

    Raises:
        DeniedError: It does.
    """
    if not (mentions_secrets(code) and _READS.search(code)):
        return
    plain = _JOINTS.sub("/", code)
    for name in _FILES:
        found = re.search(rf"{_HOME_IN_CODE}{re.escape(name)}(?:/([\w.-]+))?(?![\w-])", plain)
        if found and not (name == ".ssh" and _PUBLIC.fullmatch(found[1] or "config")):
            raise DeniedError(secret_denial(shown))


def secret_denial(shown: str) -> Verdict:
    """Make the denial for reading such a file."""
    reason = "This reads the person's keys"
    return denial(RULE, shown, reason, "Leave them to the programs that use them.")
