"""The result of one check of `ralph doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        needed: Whether a run cannot start while this is wrong.
        is_next: Whether nothing is wrong: something is not set up yet, and the advice is the next step.
    """

    name: str
    ok: bool
    text: str
    advice: str = ""
    needed: bool = True
    is_next: bool = False
