"""What one look of `ralph doctor` found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What one look found; `needed` things must be right for a run.

    What `is_next` is not there yet: nothing is wrong, and the advice is the next step.
    """

    name: str
    ok: bool
    text: str
    advice: str = ""
    needed: bool = True
    is_next: bool = False
