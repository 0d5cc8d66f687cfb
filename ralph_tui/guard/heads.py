"""What is not known of a command: whether its first word, or a text for a shell, still says enough."""

import re

from ralph_tui.guard.known import only_given
from ralph_tui.guard.syntax import UNKNOWN, Word

_BY_PATH = re.compile(r"\$\{?(HOME|PWD)\}?/", re.ASCII)
_HIDING = re.compile(
    r"git|pip|conda|poetry|venv|\brm\b|docker|eval|\.ralph|base64|\brev\b|xxd|printf|\btr\b|\\x"
)


def says_what_starts(head: Word, source: str) -> bool:
    """Whether the word is a program's name, or a path whose last part is, wherever it leads."""
    if head.text.startswith("=") and head.kinds.startswith("u"):  # a program's path, to zsh
        return False
    if head.known:
        return "{" not in head.raw.partition("/")[0]
    path, _, name = head.text.rpartition("/")
    if not name or UNKNOWN in name or head.has_glob or "{" in path + name:
        return False
    begins = _BY_PATH.match(head.raw)
    return "s" not in head.kinds or (
        begins is not None and head.kinds.count("s") == 1 and only_given(begins[1], source, r"(?!)")
    )


def may_hide(text: Word, source: str) -> bool:
    """Whether what is not known of a text for a shell may be what the guard refuses."""
    pairs = zip(text.text, text.kinds, strict=True)
    if not any(char == UNKNOWN and kind in "xs" for char, kind in pairs):
        return False
    return text.text.strip() == UNKNOWN or bool(_HIDING.search(source))
