"""Creates verdicts, and the exception by which a rule stops the analysis."""

from collections.abc import Mapping
from typing import NoReturn

from ralph_tui.domain.tool_calls import ASK_FIRST, Verdict

SPLIT = "Split the command into simpler ones."
_PART_LIMIT = 200


class DeniedError(Exception):
    """A rule forbids the command; every function that judges, checks or refuses raises it."""

    def __init__(self, verdict: Verdict) -> None:
        super().__init__(verdict.message)
        self.verdict = verdict


def denial(rule: str, part: str, reason: str, instead: str) -> Verdict:
    """Return a denial; `reason` and `instead` are sentences, the first without a full stop."""
    return Verdict(
        decision="deny", rule=rule, part=_shortened(part), reason=reason, instead=instead
    )


def _shortened(part: str) -> str:
    # A lone surrogate cannot be encoded.
    part = part[: _PART_LIMIT + 1].encode("utf-8", "replace").decode()
    return part if len(part) <= _PART_LIMIT else part[: _PART_LIMIT - 1] + "…"


def ask_verdict(verdict: Verdict, asks: Mapping[str, str]) -> Verdict:
    """Return the verdict on a harmless call that needs the person's permission.

    `asks` maps each matching entry of the person's list to the command it matches.
    """
    listed = " and ".join(f"`{entry}`" for entry in asks)
    return Verdict(
        decision="ask",
        rule=ASK_FIRST,
        part=_shortened("; ".join(dict.fromkeys(asks.values()))),
        reason=f"The person must be asked about {listed}",
        instead="If nobody can be asked, it is denied.",
        command=verdict.command,
        asks=tuple(asks),
    )


def deny(rule: str, part: str, reason: str, instead: str) -> NoReturn:
    raise DeniedError(denial(rule, part, reason, instead))


def unreadable(part: str, reason: str = "The command cannot be read with certainty") -> Verdict:
    return denial("unreadable-command", part, reason, SPLIT)


EMPTY = denial(
    "unreadable-command", "", "The command is empty or is not text", "Give a command to run."
)
