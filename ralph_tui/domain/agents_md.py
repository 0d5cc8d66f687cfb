"""AGENTS.md goes into every prompt, so it is kept short."""

MAX_LINES = 60


def lines_of(text: str) -> int:
    """How many lines it has."""
    return len(text.splitlines())


def shown(text: str) -> str:
    """What of it goes into a prompt."""
    count = lines_of(text)
    if count <= MAX_LINES:
        return text
    kept = "\n".join(text.splitlines()[:MAX_LINES])
    return (
        f"{kept}\n(These are the first {MAX_LINES} of {count} lines. The whole file is AGENTS.md in the"
        " project's directory: read the rest there when it matters.)"
    )


def complaint(before: str, after: str) -> str:
    """Why a change is refused; empty when it is short enough or makes it no longer."""
    count = lines_of(after)
    if count <= MAX_LINES or count <= lines_of(before):
        return ""
    return (
        f"AGENTS.md would have {count} lines; it goes into every prompt and has at most {MAX_LINES}"
    )
