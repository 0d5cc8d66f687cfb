"""The documentation site has every page, and loads nothing from another host."""

import re
import tomllib
from collections.abc import Iterator

import pytest

from tests.tools.docs_site import CONFIG, DOCS, FROM_THE_ROOT


def pages_of(nav: object) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    elif isinstance(nav, dict):
        for inner in nav.values():
            yield from pages_of(inner)
    elif isinstance(nav, list):
        for inner in nav:
            yield from pages_of(inner)


def test_the_menu_leads_to_every_page_once() -> None:
    nav = list(pages_of(tomllib.loads(CONFIG.read_text(encoding="utf-8"))["project"]["nav"]))
    pages = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    pages -= {page for page in pages if page.startswith("examples/")}
    assert sorted(nav) == sorted(pages.union(FROM_THE_ROOT))


FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
GLUED = re.compile(r"^(?![-*|#>\s\d<]).+\n(?:\||[-*] |1\. ).*", re.MULTILINE)
"""A table or list right below a line of text, which GitHub shows as such and the site does not."""


@pytest.mark.parametrize(
    "page", [*(p.relative_to(DOCS.parent).as_posix() for p in DOCS.rglob("*.md")), *FROM_THE_ROOT]
)
def test_tables_and_lists_begin_after_an_empty_line(page: str) -> None:
    text = FENCED.sub("", (DOCS.parent / page).read_text(encoding="utf-8"))
    assert GLUED.findall(text) == []
