"""The documentation speaks as the product does: none of the phrases of `tests/voice_phrases.txt`."""

import re
from pathlib import Path

import pytest

from tests.tools.voice import old_voice, patterns

ROOT = Path(__file__).resolve().parents[1]
FROM_THE_PRODUCT = ("docs/commands.md",)
"""Pages made of the product's own words, as the tables between comments are."""

PAGES = sorted(
    {path.relative_to(ROOT).as_posix() for path in (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"))}
    - set(FROM_THE_PRODUCT)
)
GENERATED = re.compile(r"<!-- (\w+) -->.*?(?:<!-- /\1 -->|\n\n)", re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_phrase_of_the_old_voice(page: str) -> None:
    text = GENERATED.sub("", (ROOT / page).read_text(encoding="utf-8"))
    assert old_voice(text) == []


@pytest.mark.parametrize(
    ("text", "old"),
    [
        ("It goes on by itself.", True),
        ("The loop\ngoes on.", True),
        ("The task was worked twice.", True),
        ("The agent worked on the task.", False),
        ("Three attempts. Retries and entries.", False),
        ("Standing orders", False),
        ("tries at zero", True),
    ],
)
def test_a_phrase_is_found_wherever_the_line_breaks(text: str, old: bool) -> None:
    assert bool(old_voice(text)) is old


def test_the_list_is_read() -> None:
    assert len(patterns()) > 40
