"""What one look of `ralph doctor` found."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Finding:
    """What one look found; `needed` things must be right for a run."""

    name: str
    ok: bool
    text: str
    advice: str = ""
    needed: bool = True
