"""The names of what an agent may not write, in a path, a pattern, or a command that prints them."""

import fnmatch
import re

from ralph_tui.guard.names import names
from ralph_tui.guard.paths import GUARDED
from ralph_tui.guard.syntax import Simple, Word

_GUARDED_NAME = re.compile(r"\.(?:ralph|git|claude)(?![\w-])", re.IGNORECASE)
_GIT_PLACES = names("--git-dir --git-common-dir --absolute-git-dir --git-path")


def names_guarded(text: str) -> bool:
    """Whether a text names a guarded directory."""
    return bool(_GUARDED_NAME.search(text))


def asks_for_git_directory(word: Word) -> bool:
    """Whether the word is `$(git rev-parse --git-dir)` or the like."""
    simples = (c for s in word.scripts for c in s.commands() if isinstance(c, Simple))
    return any(v in _GIT_PLACES for c in simples for v in c.values)


def matched_guarded(parts: tuple[str, ...], *, hidden: bool) -> str | None:
    """The guarded name that a pattern such as `.g*` matches; `*` only if it matches `hidden` files."""
    for at, part in enumerate(parts):
        if (part.startswith(".") or (hidden and at == 0)) and any(char in part for char in "*?["):
            for name in sorted(GUARDED):
                if fnmatch.fnmatchcase(name, part):
                    return name
    return None
