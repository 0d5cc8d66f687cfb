"""Lets programs that only read name guarded files, and refuses this to others."""

import re
from collections.abc import Sequence
from itertools import pairwise

from ralph_tui.guard.core.paths import EXCLUDES, names_guarded
from ralph_tui.guard.core.programs import listed_words
from ralph_tui.guard.core.rule_context import Invocation
from ralph_tui.guard.shell.nodes import Word, literal

_LEFT_OUT = re.compile(r"\.\w+")
"""A bare directory name, several of which may follow an option that excludes files."""
_PIECES = re.compile(r"[=:,]")
_NAMES_FILE = re.compile(r"[a-z_]*(?:out|file|dir|report|path)\w*=")
_NAMES_FORMAT = re.compile(r"\w+:")
_INPUT = re.compile(
    r"--?(?:.*-)?(?:config|config-file|input|source|git-dir|repo|repository|from|baseline|env-file)"
)
_OUTPUT = re.compile(r"-[oO]|--out.*")


def check_unless_reader(call: Invocation) -> None:
    if call.program in listed_words("readers"):
        return
    call.dirs.check_current_directory(call.shown)
    check_named_files(call.arguments, call)


def check_guarded_operands(call: Invocation) -> None:
    spelled = [w for w in call.arguments if w.text[:1] == "-" or names_guarded(w.text)]
    check_named_files(spelled, call)


def check_named_files(words: Sequence[Word], call: Invocation) -> None:
    """Refuse operands and option values that name a guarded file, unless to exclude it."""
    excluded = reports = False
    for word in words:
        text = word.text
        if text.startswith("-"):
            reports = "report" in text
            excluded = any(part in text.casefold() for part in EXCLUDES)
            if not excluded:
                _check_option(word, call)
        elif excluded and names_guarded(text):
            excluded = bool(_LEFT_OUT.fullmatch(text))
        elif not excluded and "\n" not in text and " " not in text:
            named = (reports and _NAMES_FORMAT.match(text)) or _NAMES_FILE.match(text)
            _check_path(word.cut(named.end()) if named else word, call)
        else:
            excluded = False


def check_outputs(words: Sequence[Word], call: Invocation) -> None:
    for before, word in pairwise([literal(""), *words]):
        if word.text.startswith("-"):
            _check_option(word, call)
        elif _OUTPUT.fullmatch(before.text):
            _check_path(word, call)


def _check_option(word: Word, call: Invocation) -> None:
    name, equals, value = word.text.partition("=")
    if equals and (_INPUT.fullmatch(name) or any(e in name.casefold() for e in EXCLUDES)):
        return
    if equals and name.startswith("--out"):
        call.dirs.check_write(word.cut(len(name) + 1), call.shown)
    if not equals:
        name = word.text[:2]
        if name == "--" or "/" in call.program:
            return
    for piece in _PIECES.split(word.text[len(name) + len(equals) :]):
        _check_path(
            word.cut(len(word.text) - len(piece)) if value == piece else literal(piece), call
        )


def _check_path(word: Word, call: Invocation) -> None:
    if not any(mark in word.text for mark in ("://", "*", "=", ":", "!")):
        call.dirs.check_guarded(word, call.shown)
