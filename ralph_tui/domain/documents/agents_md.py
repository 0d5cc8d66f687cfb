"""Keep AGENTS.md short, because it is part of every prompt."""

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
