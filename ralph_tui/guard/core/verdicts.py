"""Makes denials, and the exception with which a rule ends the reading at once."""

from collections.abc import Mapping
from typing import NoReturn

from ralph_tui.domain.permissions import ASK_FIRST
from ralph_tui.domain.tool_calls import Verdict

SPLIT = "Split the command into simpler ones."
_PART_LIMIT = 200


class DeniedError(Exception):
    """A rule forbids the command."""

    def __init__(self, verdict: Verdict) -> None:
        """Carry the verdict up to `judge_command`."""
        super().__init__(verdict.message)
        self.verdict = verdict


def denial(rule: str, part: str, reason: str, instead: str) -> Verdict:
    """Make a denial.

    Args:
        rule: The rule's name, such as `git-read-only`.
        part: The part of the command that is refused; cut to what a line can show.
        reason: Why, as a sentence without a full stop.
        instead: What to do instead, as a sentence.
    """
    return Verdict(decision="deny", rule=rule, part=_shown(part), reason=reason, instead=instead)


def _shown(part: str) -> str:
    # Half a character cannot be sent on.
    part = part[: _PART_LIMIT + 1].encode("utf-8", "replace").decode()
    return part if len(part) <= _PART_LIMIT else part[: _PART_LIMIT - 1] + "…"


def asking(verdict: Verdict, asks: Mapping[str, str]) -> Verdict:
    """Make the verdict on a harmless call that the person wants to be asked about.

    `asks` maps each entry of the person's list to the command that matches it.
    """
    listed = " and ".join(f"`{entry}`" for entry in asks)
    return Verdict(
        decision="ask",
        rule=ASK_FIRST,
        part=_shown("; ".join(dict.fromkeys(asks.values()))),
        reason=f"The person wants to be asked about {listed}",
        instead="Where nobody can be asked, it is denied.",
        command=verdict.command,
        asks=tuple(asks),
    )


def deny(rule: str, part: str, reason: str, instead: str) -> NoReturn:
    """Raise a denial, whose arguments are those of `denial`.

    Raises:
        DeniedError: Always.
    """
    raise DeniedError(denial(rule, part, reason, instead))


def unreadable(part: str, reason: str = "The command cannot be read with certainty") -> Verdict:
    """Make the denial for what cannot be understood: fail closed."""
    return denial("unreadable-command", part, reason, SPLIT)


EMPTY = denial(
    "unreadable-command", "", "The command is empty or not a text", "Say which command to run."
)
"""Nothing to run is a mistake of the caller, and no reason to start a shell."""
