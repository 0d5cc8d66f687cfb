"""Whether a variable is a directory that the same command has just made: then removing it does no harm."""

import re
from collections.abc import Iterator, Sequence

from ralph_tui.guard.names import names
from ralph_tui.guard.reader import read_shell
from ralph_tui.guard.syntax import Compound, Script, Word

_MADE = re.compile(
    r"\s*(?:set -[a-zA-Z]+(?: pipefail)?\s*(?:;|&&|\n)\s*)*"
    r"(\w*(?:tmp|temp|scratch|work)\w*|d|dir)=\"?\$\(mktemp -d\)\"?[ \t]*(?:;(?!;)|&&|\n)",
    re.IGNORECASE | re.ASCII,
)
"""At the very beginning, so that nothing can keep it from being assigned or give `mktemp` a meaning."""
_ASSIGNERS = names(
    "eval source read mapfile readarray getopts export readonly declare typeset local"
)
_QUOTING = re.compile(r"['\"\\]")
_BETWEEN = "\x01"
_DOT = re.compile(rf"(?:^|[;&|({{\n]|^(?:command|builtin){_BETWEEN})\s*\.[\s{_BETWEEN}]")
"""The builtin that reads a script, not the directory."""


def just_made(word: Word, source: str) -> bool:
    """Whether `word` is the quoted variable that holds a directory fresh from `mktemp -d`.

    The name must occur nowhere else in the source but as a plain expansion, and nothing may put it
    together from parts.
    """
    made = _MADE.match(source)
    if made is None or word.raw not in (f'"${made[1]}"', f'"${{{made[1]}}}"'):
        return False
    rest = re.sub(rf"\$(?:{made[1]}\b|\{{{made[1]}\}})", "", source[made.end() :])
    if re.search(rf"\b{made[1]}\b|\$'", rest):
        return False
    return not any(_may_assign(words) for words in _words(read_shell(source)))


def _may_assign(words: Sequence[Word]) -> bool:
    """Whether a command, or a text among its words that a shell may run, gives a variable a value."""
    text = _BETWEEN.join(_QUOTING.sub("", word.text) for word in words)
    found = set(re.findall(r"[\w-]+", text))
    sets = "printf" in found and any(name.startswith("-v") for name in found)
    return sets or bool(found & _ASSIGNERS) or bool(_DOT.search(text))


def _words(script: Script) -> Iterator[Sequence[Word]]:
    """The words of every command, however deep, and what its redirections hold."""
    for command in script.commands():
        held = [word for r in command.redirects for word in (r.target, r.body) if word is not None]
        yield command.words
        yield from ((word,) for word in held)
        inner = [s for word in (*command.words, *held) for s in word.scripts]
        for nested in (*inner, *(command.bodies if isinstance(command, Compound) else ())):
            yield from _words(nested)
