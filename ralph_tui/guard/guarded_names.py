"""The names of what an agent may not write, in a path, a pattern, or a command that prints them."""

import fnmatch
import re
from collections.abc import Iterator

from ralph_tui.guard.names import names
from ralph_tui.guard.paths import GUARDED
from ralph_tui.guard.syntax import Simple, Word

_GUARDED_NAME = re.compile(r"\.(?:ralph|git|claude)(?![\w-])", re.IGNORECASE)
_PRINTS_CONTENT = names("cat jq yq git wc")
"""What is printed of these files is what is in them, not their names."""
_FILTERS = names("grep egrep fgrep rg")
_PATH_TESTS = names("-path -ipath -wholename -name -iname -regex")
EXCLUDES = ("exclude", "ignore", "omit", "skip", "not", "prune", "filter")
"""Parts of the names of options that say what is left alone."""
_GIT_PLACES = names("--git-dir --git-common-dir --absolute-git-dir --git-path")


def names_guarded(text: str) -> bool:
    """Whether a text names a guarded directory."""
    return bool(_GUARDED_NAME.search(text))


def asks_for_git_directory(word: Word) -> bool:
    """Whether the word is `$(git rev-parse --git-dir)` or the like."""
    simples = (c for s in word.scripts for c in s.commands() if isinstance(c, Simple))
    return any(v in _GIT_PLACES for c in simples for v in c.values)


def printed_names(command: Simple) -> Iterator[Word]:
    """The words of a command that may be, or lead to, the names it prints."""
    program = command.words[0].text.rpartition("/")[2] if command.words else ""
    words = command.words[1:]
    leaves_out = program in _FILTERS and any(_INVERTS.fullmatch(w.text) for w in words)
    if leaves_out or (program in _PRINTS_CONTENT and not any(map(_asks, words))):
        return
    for at, word in enumerate(words):
        before = [w.text for w in words[max(0, at - 2) : at]]
        after = words[at + 1].text if at + 1 < len(words) else ""
        tested = bool(before) and before[-1] in _PATH_TESTS
        if tested and (after == "-prune" or before[0] in ("!", "-not")):
            continue
        if not (before and before[-1].startswith("-") and any(e in before[-1] for e in EXCLUDES)):
            yield word


_INVERTS = re.compile(r"-[a-zA-Z]*v[a-zA-Z]*|--invert-match")


def _asks(word: Word) -> bool:
    return word.text in _GIT_PLACES


def matched_guarded(parts: tuple[str, ...], *, hidden: bool) -> str | None:
    """The guarded name that a pattern such as `.g*` matches; `*` only if it matches `hidden` files."""
    for at, part in enumerate(parts):
        if (part.startswith(".") or (hidden and at == 0)) and any(char in part for char in "*?["):
            for name in sorted(GUARDED):
                if fnmatch.fnmatchcase(name, part):
                    return name
    return None
