"""The environments and the memory of other processes: keys stand there, so agents do not read them."""

import fnmatch
import os.path
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import NoReturn

from ralph_tui.domain.tools import Verdict
from ralph_tui.guard.names import names
from ralph_tui.guard.places import Places
from ralph_tui.guard.syntax import UNKNOWN, Simple, Word
from ralph_tui.guard.verdicts import DeniedError, denial
from ralph_tui.guard.walk import Invocation

RULE = "process-memory"
_FILES = ("environ", "mem")
_MEMORY = re.compile(r"/proc/(?:.*/)?(?:environ|mem)|/proc/kcore")
_PROCESS = re.compile(r"/proc(?:/(?:\d+|x|self|thread-self|[^/]*[*?\[][^/]*))?")
"""All processes, or the directory of one; `x` stands for a number that is not known."""
_BEFORE_PATH = re.compile(r"(?:[\w.-]*=)?@?(?:file://)?(?=/|\0|\.|\*|\w)")
"""What stands before a path in a word: `if=`, `f=@`, `file://`."""
_PRINTS = names("echo printf")
_PATTERN_FIRST = names("grep egrep fgrep rg ag ack sed awk gawk mawk")
_GREPS = names("grep egrep fgrep")
_DEEP = names("rg ag ack tar bsdtar cp rsync zip scp 7z")
"""Programs that read all that is below a directory."""
_PS_VALUE = re.compile(r"-[a-zA-Z]*[oOpCgGstuUqNk]|[a-zA-Z]*[oOptUkN]")
"""What takes the next word as its value: options with a dash, and letters without."""
_PS_DARWIN = re.compile(r"-[a-zA-Z]*E[a-zA-Z]*")
_IN_CODE = re.compile(r"/proc/[^'\"\s]{0,80}(?:environ|/mem)\b|\.environ\(\)")
_DIRECTORY_IN_CODE = re.compile(r"['\"]/proc/?['\"]")
_FILE_IN_CODE = re.compile(r"environ['\"]")
"""The two halves of a path that code puts together."""


def mentions_memory(source: str) -> bool:
    """Whether a text may have to do with any of this; most have not, and need no second look."""
    return "/proc" in source or "environ" in source


def is_memory(path: str) -> bool:
    """Whether a path, or a pattern for paths, leads to a process's environment or memory."""
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
    """The words without the first operand, which is a pattern or a program."""
    if any(word.text in ("-e", "-f", "--regexp", "--file") for word in words):
        return words
    first = next((at for at, w in enumerate(words) if not w.text.startswith("-")), len(words))
    return (*words[:first], *words[first + 1 :])


def _recursive(word: Word) -> bool:
    return bool(re.fullmatch(r"-[a-zA-Z]*[rR][a-zA-Z]*|--(?:dereference-)?recursive", word.text))


def _below_proc(word: Word, places: Places) -> bool:
    return any(_PROCESS.fullmatch(path) for path in places.resolve(word) or ())


def reads_memory(path: str) -> bool:
    """Whether a tool that is given this path, or looks below it, may read such a file."""
    plain = os.path.normpath(path).replace("//", "/")
    return is_memory(plain) or bool(_PROCESS.fullmatch(plain))


def memory_denial(shown: str) -> Verdict:
    """The denial for whoever reads them."""
    reason = "This reads the environment or the memory of a process, where keys are"
    return denial(RULE, shown, reason, "Read your own settings with printenv NAME.")


def _refuse(shown: str) -> NoReturn:
    raise DeniedError(memory_denial(shown))
