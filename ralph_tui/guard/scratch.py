"""Whether a variable is a directory that the same command has just made: then removing it does no harm."""

import re

from ralph_tui.guard.known import only_given
from ralph_tui.guard.syntax import Word

_MADE = re.compile(
    r"\s*(?:set -[a-zA-Z]+(?: pipefail)?\s*(?:;|&&|\n)\s*)*"
    r"(\w*(?:tmp|temp|scratch|work)\w*|d|dir)=\"?\$\(mktemp -d\)\"?[ \t]*(?:;(?!;)|&&|\n)",
    re.IGNORECASE | re.ASCII,
)
"""At the very beginning, so that nothing can keep it from being assigned or give `mktemp` a meaning."""


def just_made(word: Word, source: str) -> bool:
    """Whether `word` is the quoted variable that holds a directory fresh from `mktemp -d`.

    The name must occur nowhere else in the source but as a plain expansion, and nothing may put it
    together from parts.
    """
    made = _MADE.match(source)
    if made is None or word.raw not in (f'"${made[1]}"', f'"${{{made[1]}}}"'):
        return False
    return only_given(made[1], source, rf"^{re.escape(made[0])}")
