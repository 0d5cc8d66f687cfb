"""Environments and memory of processes, which hold keys: agents do not read them."""

import fnmatch
import os.path
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

from ralph_tui.domain.tool_calls import Verdict
from ralph_tui.guard.names import names
from ralph_tui.guard.places import Places
from ralph_tui.guard.syntax import UNKNOWN, Simple, Word
from ralph_tui.guard.verdicts import DeniedError, denial
from ralph_tui.guard.walk import Invocation

RULE = "process-memory"
_FILES = ("environ", "mem")
_MEMORY = re.compile(r"/proc/(?:.*/)?(?:environ|mem)|/proc/kcore")
_PROCESS = re.compile(r"/proc(?:/(?:\d+|x|self|thread-self|[^/]*[*?\[][^/]*))?")
"""The directory of all processes or of one. `x` stands for an unknown ID."""
_BEFORE_PATH = re.compile(r"(?:[\w.-]*=)?@?(?:file://)?(?=/|\0|\.|\*|\w)")
"""What stands before a path in a word: `if=`, `f=@`, `file://`."""
_PRINTS = names("echo printf")
_PATTERN_FIRST = names("grep egrep fgrep rg ag ack sed awk gawk mawk")
_GREPS = names("grep egrep fgrep")
_DEEP = names("rg ag ack tar bsdtar cp rsync zip scp 7z")
"""Programs that read all that is below a directory."""
_PS_VALUE = re.compile(r"-[a-zA-Z]*[oOpCgGstuUqNk]|[a-zA-Z]*[oOptUkN]")
"""Options of `ps` that take the next word as their value, with and without a dash."""
_PS_DARWIN = re.compile(r"-[a-zA-Z]*E[a-zA-Z]*")
_IN_CODE = re.compile(r"/proc/[^'\"\s]{0,80}(?:environ|/mem)\b|\.environ\(\)")
_DIRECTORY_IN_CODE = re.compile(r"['\"]/proc/?['\"]")
_FILE_IN_CODE = re.compile(r"environ['\"]")
"""The two halves of a path that code puts together."""


def mentions_memory(source: str) -> bool:
    """Tell quickly whether a text mentions such files. Most do not."""
    return "/proc" in source or "environ" in source


def is_memory(path: str) -> bool:
    """Tell whether a path or pattern leads to the environment or memory of a process."""
    directory, _, last = path.rpartition("/")
    if not path.startswith("/proc/"):
        return False
    wild = any(char in last for char in "*?[") and any(fnmatch.fnmatch(f, last) for f in _FILES)
    return bool(_MEMORY.fullmatch(path)) or (wild and directory.count("/") >= 2)


def judge_reading(command: Simple, places: Places, source: str) -> None:
    """Refuse a command that opens such a file.

    Raises:
        DeniedError: It does.
    """
    program = command.words[0].text.rpartition("/")[2] if command.words else ""
    words: Sequence[Word] = () if program in _PRINTS else command.words[1:]
    if program in _PATTERN_FIRST:
        words = _after_pattern(words)
    judge_paths(words, places, source, command.raw)
    deep = program in _DEEP or (program in _GREPS and any(map(_recursive, words)))
    if program == "find":
        deep = any(is_memory(f"/proc/1/{word.text}") for word in words if word.text)
    if deep and any(_below_proc(word, places) for word in words):
        _refuse(command.raw)


def judge_paths(words: Sequence[Word], places: Places, source: str, shown: str) -> None:
    """Refuse words that name such a file.

    Raises:
        DeniedError: One does.
    """
    for word in words:
        found = _BEFORE_PATH.match(word.text)
        path = word.cut(found.end()) if found and found.end() else word
        if any(map(is_memory, places.resolve(path) or ())):
            _refuse(shown)
        if path.text.startswith(UNKNOWN) and "/proc" in source and is_memory("/proc/" + path.text):
            _refuse(shown)


def judge_ps(given: Invocation) -> None:
    """Refuse `ps e`, which shows environments: an `e` without a dash, or `-E` on macOS.

    Raises:
        DeniedError: It shows them.
    """
    texts = [word.text for word in given.arguments]
    for before, text in pairwise(["", *texts]):
        if _PS_VALUE.fullmatch(before):
            shows = "environ" in text
        else:
            shows = bool(_PS_DARWIN.fullmatch(text)) or (text.isalpha() and "e" in text)
        if shows:
            _refuse(given.shown)


def judge_memory_in_code(code: str, shown: str) -> None:
    """Refuse code in any language that reads them.

    Raises:
        DeniedError: It does.
    """
    if not mentions_memory(code):
        return
    in_parts = _DIRECTORY_IN_CODE.search(code) and _FILE_IN_CODE.search(code)
    if in_parts or _IN_CODE.search(code):
        _refuse(shown)


def _after_pattern(words: Sequence[Word]) -> Sequence[Word]:
    """Drop the first operand, which is a pattern or a program."""
    if any(word.text in ("-e", "-f", "--regexp", "--file") for word in words):
        return words
    first = next((at for at, w in enumerate(words) if not w.text.startswith("-")), len(words))
    return (*words[:first], *words[first + 1 :])


def _recursive(word: Word) -> bool:
    return bool(re.fullmatch(r"-[a-zA-Z]*[rR][a-zA-Z]*|--(?:dereference-)?recursive", word.text))


def _below_proc(word: Word, places: Places) -> bool:
    return any(_PROCESS.fullmatch(path) for path in places.resolve(word) or ())


def reads_memory(path: str) -> bool:
    """Tell whether a tool that opens or searches this path may read such a file."""
    plain = os.path.normpath(path).replace("//", "/")
    return is_memory(plain) or bool(_PROCESS.fullmatch(plain))


def memory_denial(shown: str) -> Verdict:
    """Make the denial for reading such a file."""
    reason = "This reads the environment or memory of a process, which holds keys,"
    return denial(RULE, shown, reason, "Read your own settings with printenv NAME.")


def _refuse(shown: str) -> NoReturn:
    raise DeniedError(memory_denial(shown))
