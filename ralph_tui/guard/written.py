"""What rules for writing programs share: to check the words that name what is written."""

from collections.abc import Sequence

from ralph_tui.guard.syntax import UNKNOWN, Word
from ralph_tui.guard.walk import Invocation


def check_all(words: Sequence[Word], given: Invocation, *, into: bool = False) -> None:
    """Refuse to write any of these; with `into` they may be directories that something is put into.

    Raises:
        DeniedError: One of them is guarded or outside the project.
    """
    for word in words:
        if word.text:  # as in BSD's `sed -i ''`
            given.places.check_write(word, given.shown, into=into)


def last_operand(operands: Sequence[Word]) -> list[Word]:
    """The last operand; one that may vanish leaves its place to the one before it."""
    at = max(len(operands) - 1, 0)
    while at > 0 and operands[at].text == UNKNOWN and operands[at].may_split:
        at -= 1
    return list(operands[at:])
