"""The product and its documentation have none of the phrases of `tests/voice_phrases.txt`."""

import ast
import re
from pathlib import Path

import pytest

from tests.tools.voice import old_voice

ROOT = Path(__file__).resolve().parents[1]
FROM_THE_PRODUCT = ("docs/commands.md",)
"""Pages made of the product's own words, as the tables between comments are."""

PAGES = sorted(
    {path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))}
    - set(FROM_THE_PRODUCT)
)
COMMENT = re.compile(r"#[ :](.*)")
GENERATED = re.compile(r"<!-- (\w+) -->.*?(?:<!-- /\1 -->|\n\n)", re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_phrase_of_the_old_voice(page: str) -> None:
    text = GENERATED.sub("", (ROOT / page).read_text(encoding="utf-8"))
    assert old_voice(text) == []


PRODUCT = sorted(
    path
    for folder in ("ralph_tui", "styles")
    for kind in ("*.py", "*.md", "*.yaml", "*.tcss")
    for path in (ROOT / folder).rglob(kind)
)


def said_in(path: Path) -> str:
    """Return every text of a file: strings, docstrings and comments of a module, or the whole."""
    source = path.read_text(encoding="utf-8")
    if path.suffix != ".py":
        return source
    strings = (
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
    return " | ".join((*strings, " ".join(COMMENT.findall(source))))


def test_nothing_in_the_product_has_a_phrase_of_the_old_voice() -> None:
    found = {path.relative_to(ROOT).as_posix(): old_voice(said_in(path)) for path in PRODUCT}
    assert {name: phrases for name, phrases in found.items() if phrases} == {}
