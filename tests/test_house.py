"""The house stays in order: folders, doors, circles, names, and pages that name real places."""

import ast
import re

import pytest

from tests.tools.house import ROOT, lines_of, read_house
from tests.tools.where_is_what import PAGE, page

MOST_MODULES = 22
"""In one folder, without its door: about 20, and a command of its own is found sooner than one in a neighbor."""

MOST_LINES = {
    "ralph_tui/agent": 2_157,
    "ralph_tui/cli": 6_724,
    "ralph_tui/config": 1_585,
    "ralph_tui/demo": 1_510,
    "ralph_tui/domain": 6_425,
    "ralph_tui/engine": 19_597,
    "ralph_tui/guard": 6_372,
    "ralph_tui/interop": 3_188,
    "ralph_tui/present": 6_584,
    "ralph_tui/store": 5_109,
    "ralph_tui/tui": 11_722,
    "ralph_tui/vcs": 1_136,
    "tests": 46_239,
}
"""Lines of Python, everything counted. A number goes down with each merge that makes less; only an issue that names the number
puts it up. What is added is paid for in the same package."""

MOST_PROSE = 9.0
"""Percent of the product's lines: docstrings and comments."""

MOST_REPEATED_CLASSES = 6

DOOR = re.compile(r"^\S[^\n]*\n\n.*^May not: .*^Callers: ", re.DOTALL | re.MULTILINE)
"""What lives in a package, what may not, and who calls it."""

TELL_OF_OTHERS = (
    "README.md",
    "docs/how-hard-is-it-to-fool.md",
    "docs/real-projects.md",
    "docs/safety.md",
    "docs/your-project.md",
)
"""Pages whose tests and documents are those of somebody's project."""

WAYS = "docs/contributing/three-ways.md"
TELL_OF_THE_PAST = ("CHANGELOG.md", WAYS)

OURS = re.compile(r"\b(?:ralph_tui|styles)/[\w./-]*[\w/]")
ON_THE_WAY = re.compile(r"`([\w/]+/\w+\.py)`")
OF_THE_REPOSITORY = re.compile(r"\b(?:ralph_tui|styles|tests|docs|screenshots)/[\w./-]*[\w/]")
OF_A_DOCUMENT = re.compile(r"\b[A-Z][A-Z-]{2,}(?:\.md)? (?:sections?|law) ?\d")
"""A part of a document by its number; the documents of the repository have none."""


def pages() -> list[str]:
    found = (*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob(".github/**/*.md"))
    names = {path.relative_to(ROOT).as_posix() for path in found}
    return sorted(names.difference(TELL_OF_THE_PAST))


def test_modules_are_in_order() -> None:
    """One test, because reading the house takes a second."""
    house = read_house()
    crowded = {n: count for n, count in house.modules_per_folder().items() if count > MOST_MODULES}
    assert crowded == {}, "more modules than a person can oversee"
    assert house.circles() == [], "modules import each other"
    assert house.room_circles() == [], "sub-packages import each other"
    doors = [module for module in house.modules if module.is_door]
    mute = [
        module.name
        for module in doors
        if module.name != "ralph_tui" and not DOOR.match(ast.get_docstring(module.tree) or "")
    ]
    assert len(doors) > 30
    assert mute == [], "a package says what lives there, what may not, and who calls it"
    prose = house.prose()
    assert prose <= MOST_PROSE, (
        f"{prose:.2f} % of ralph_tui are docstrings and comments, more than {MOST_PROSE} %. Remove those that repeat names and types."
    )
    repeated = house.repeated_classes()
    assert len(repeated) <= MOST_REPEATED_CLASSES, repeated


@pytest.mark.parametrize("package", MOST_LINES)
def test_a_package_does_not_grow(package: str) -> None:
    lines, most = lines_of(ROOT / package), MOST_LINES[package]
    assert lines <= most, (
        f"{package} has {lines:,} lines, {lines - most:,} more than its {most:,}. Remove as many in the same package: what nobody "
        "calls, a helper with one caller, a second mechanism for one purpose, a docstring that repeats its signature."
    )


def test_each_package_has_its_number() -> None:
    packages = {
        path.parent.relative_to(ROOT).as_posix() for path in ROOT.glob("ralph_tui/*/__init__.py")
    }
    assert packages == MOST_LINES.keys() - {"tests"}


def test_every_question_of_a_newcomer_has_its_answer_where_the_page_says() -> None:
    stale = "Run `uv run python -m tests.tools.where_is_what`."
    assert PAGE.read_text(encoding="utf-8") == page(), stale


@pytest.mark.parametrize("name", pages())
def test_a_page_names_only_places_that_exist(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    named = (OURS if name in TELL_OF_OTHERS else OF_THE_REPOSITORY).findall(text)
    assert {place for place in named if not (ROOT / place).exists()} == set()


def test_the_code_states_facts_instead_of_naming_a_document_that_is_not_here() -> None:
    every = (*ROOT.glob("ralph_tui/**/*.py"), *ROOT.glob("tests/**/*.py"))
    named = {path.name: OF_A_DOCUMENT.findall(path.read_text(encoding="utf-8")) for path in every}
    assert {name: found for name, found in named.items() if found} == {}


def test_the_three_ways_lead_through_files_that_exist() -> None:
    passed = ON_THE_WAY.findall((ROOT / WAYS).read_text(encoding="utf-8"))
    assert len(passed) > 20
    assert [name for name in passed if not (ROOT / "ralph_tui" / name).is_file()] == []
