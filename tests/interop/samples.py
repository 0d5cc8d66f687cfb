"""Generated files: values written as JSON in the odd forms in which people and tools write it."""

import json
from typing import Any

from hypothesis import strategies as st

SPACES = st.text(" \t\r\n", max_size=3)


def words() -> st.SearchStrategy[str]:
    """Text that may be in a file: any letter, no lone surrogate."""
    return st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def values() -> st.SearchStrategy[Any]:
    scalars = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | words()
    return st.recursive(
        scalars,
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(words(), inner, max_size=4),
        max_leaves=12,
    )


@st.composite
def json_texts(draw: st.DrawFn, value: Any) -> str:
    """Return the value as JSON with odd spaces, line ends and escapes."""
    return draw(SPACES) + _written(draw, value) + draw(SPACES)


def _written(draw: st.DrawFn, value: Any) -> str:
    def spaced(text: str) -> str:
        return draw(SPACES) + text + draw(SPACES)

    if isinstance(value, dict):
        parts = [
            spaced(_string(draw, key)) + ":" + spaced(_written(draw, item))
            for key, item in value.items()
        ]
        return "{" + ",".join(parts) + (draw(SPACES) if not parts else "") + "}"
    if isinstance(value, list):
        parts = [spaced(_written(draw, item)) for item in value]
        return "[" + ",".join(parts) + (draw(SPACES) if not parts else "") + "]"
    return _string(draw, value) if isinstance(value, str) else json.dumps(value)


def _string(draw: st.DrawFn, text: str) -> str:
    return json.dumps(text, ensure_ascii=draw(st.booleans()))
