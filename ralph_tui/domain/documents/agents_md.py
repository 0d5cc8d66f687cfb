"""Keep AGENTS.md short, because it is part of every prompt."""

from collections.abc import Sequence

MAX_LINES = 60


def lines_of(text: str) -> int:
    return len(text.splitlines())


def shown(text: str) -> str:
    """Return the part of the file that goes into a prompt."""
    count = lines_of(text)
    if count <= MAX_LINES:
        return text
    kept = "\n".join(text.splitlines()[:MAX_LINES])
    return (
        f"{kept}\n(These are the first {MAX_LINES} of {count} lines. The whole file is AGENTS.md in the"
        " project's directory: read the rest there when it matters.)"
    )


LEARNED = "## Learned patterns"
"""The section for recurring learnings (seeds, "AGENTS.md template")."""

_PLACEHOLDER = "[Ralph will append discoveries here]"


def add_learnings(text: str, patterns: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """Return the file with `patterns` added to their section, and the patterns for which there is no room."""
    lines = [line for line in text.rstrip().splitlines() if line.strip() != _PLACEHOLDER]
    if not any(map(_is_learned, lines)):
        lines += [*([""] if lines else []), LEARNED]
    start = next(number for number, line in enumerate(lines) if _is_learned(line)) + 1
    following = (n for n in range(start, len(lines)) if lines[n].startswith("#"))
    end = next(following, len(lines))
    while end > start and not lines[end - 1].strip():
        end -= 1
    room = max(0, MAX_LINES - len(lines))
    fitting = [f"- {pattern}" for pattern in patterns[:room]]
    return "\n".join([*lines[:end], *fitting, *lines[end:]]) + "\n", tuple(patterns[room:])


def _is_learned(line: str) -> bool:
    return line.strip().casefold() == LEARNED.casefold()
