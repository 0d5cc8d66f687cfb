"""Sets of names, written as text so that they can be read."""


def names(text: str) -> frozenset[str]:
    """The words of a text."""
    return frozenset(text.split())
