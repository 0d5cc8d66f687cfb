"""Finds the phrases that ralph does not use; `tests/voice_phrases.txt` lists them."""

import re
from functools import cache
from pathlib import Path

PHRASES = Path(__file__).resolve().parents[1] / "voice_phrases.txt"


@cache
def patterns() -> tuple[re.Pattern[str], ...]:
    """Read the list; a comment begins with `#` after a blank."""
    lines = PHRASES.read_text(encoding="utf-8").splitlines()
    texts = (re.split(r"(?:^|\s+)#", line, maxsplit=1)[0].rstrip() for line in lines)
    return tuple(re.compile(text, re.IGNORECASE) for text in texts if text)


def old_voice(text: str) -> list[str]:
    """List each forbidden phrase of a text with the words around it."""
    plain = " ".join(text.split())
    return [
        plain[max(0, found.start() - 30) : found.end() + 30]
        for pattern in patterns()
        for found in pattern.finditer(plain)
    ]
