"""The documentation site has every page, and its links are right in the copy it is built from."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tools.docs_site import (
    CONFIG,
    DOCS,
    FROM_THE_ROOT,
    loads_from_elsewhere,
    with_places_to_break,
    with_staged_links,
)


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


def test_a_table_below_a_line_of_text_is_found() -> None:
    assert GLUED.findall("Use these:\n| A | B |\n") == ["Use these:\n| A | B |"]
    assert GLUED.findall("Use these:\n\n- a\n  b\n- c\n") == []


@pytest.mark.parametrize(
    ("origin", "staged", "link", "moved"),
    [
        ("docs/index.md", "index.md", "../screenshots/a.svg", "screenshots/a.svg"),
        ("docs/index.md", "index.md", "keys.md", "keys.md"),
        ("docs/keys.md", "keys.md", "../README.md#start", "index.md#start"),
        ("CHANGELOG.md", "CHANGELOG.md", "docs/keys.md#keys", "keys.md#keys"),
        ("docs/decisions/1.md", "decisions/1.md", "../safety.md", "../safety.md"),
        ("docs/decisions/1.md", "decisions/1.md", "../../SECURITY.md", "../SECURITY.md"),
        ("docs/index.md", "index.md", "https://host/a.md", "https://host/a.md"),
        ("docs/index.md", "index.md", "#here", "#here"),
    ],
)
def test_links_are_right_where_the_site_is_built(
    origin: str, staged: str, link: str, moved: str
) -> None:
    assert with_staged_links(f"see [it]({link}).", origin, staged) == f"see [it]({moved})."


@pytest.mark.parametrize(
    ("markup", "loads"),
    [
        ('<script src="https://host/a.js"></script>', True),
        ("<img alt=x src=//host/a.png>", True),
        ('<link rel="stylesheet" href="https://host/a.css">', True),
        ('<link href="https://host/a.css" rel="stylesheet">', True),
        ("<style>@import url(https://host/a.css)</style>", True),
        ("<style>p{background:url('https://host/a.png')}</style>", True),
        ('<script src="assets/a.js"></script>', False),
        ('<a href="https://host/">there</a>', False),
        ('<link rel="canonical" href="https://host/page">', False),
        ("<code>url</code> https://host/", False),
    ],
)
def test_a_page_that_loads_from_another_host_is_named(
    tmp_path: Path, markup: str, loads: bool
) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in/page.html").write_text(markup, encoding="utf-8")
    assert loads_from_elsewhere(tmp_path) == (["in/page.html"] if loads else [])


def test_a_long_name_in_a_table_breaks_between_its_words_only() -> None:
    cell = "<td><code>RALPH_CIRCUIT_BREAKER_FAILURES</code></td>"
    broken = "<td><code>RALPH_<wbr>CIRCUIT_<wbr>BREAKER_<wbr>FAILURES</code></td>"
    assert with_places_to_break(cell) == broken
    for whole in ("<td><code>project.name</code></td>", cell.replace("td>", "p>")):
        assert with_places_to_break(whole) == whole
