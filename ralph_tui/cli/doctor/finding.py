"""The result of one check of `ralph doctor`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """The result of one check.

    Attributes:
        needed: A run cannot start without it.
        is_next: It is not there yet; nothing is wrong, and the advice is the next step.
    """

    name: str
    ok: bool
    text: str
    advice: str = ""
    needed: bool = True
    is_next: bool = False
