"""Play the field: published packages on the real engine, from `ralph init` to `ralph undo`, some in many surroundings.

A package that does not end as it should says so in `packages.yaml`, with the reason. The table stands in the documentation.
"""

from pathlib import Path

import pytest

from tests.field.player import SURROUNDED, packages, played, surroundings
from tests.field.registry import RegistryError, fetched
from tests.harness.suite import need

UNREACHABLE = "a package registry is not reached"


def listed() -> list[object]:
    """Every package; the normal run plays those of `SURROUNDED` only in surroundings."""
    return [
        pytest.param(
            name, marks=() if package.quick and name not in SURROUNDED else pytest.mark.long
        )
        for name, package in packages().items()
    ]


def require(name: str) -> None:
    """Skip a package whose tools are missing, or whose registry is not reached."""
    need(*packages()[name].needs)
    try:
        fetched(packages()[name].source)
    except RegistryError:
        pytest.skip(UNREACHABLE)


@pytest.mark.costly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", listed())
async def test_a_package_ends_as_the_table_says(tmp_path: Path, name: str) -> None:
    require(name)
    package = packages()[name]
    result = await played(tmp_path, package, sandbox=not package.quick)
    assert result.ends == package.expected, result.reasons
    assert result.found == (package.tests if package.found is None else package.found)


def surrounded() -> list[object]:
    return [
        pytest.param(around, name, marks=() if quick and name == "abstract-logging" else pytest.mark.long)
        for around, quick in ((one.name, one.quick) for one in surroundings().values())
        for name in SURROUNDED
    ]  # fmt: skip


@pytest.mark.costly
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("around", "name"), surrounded())
async def test_a_package_ends_the_same_in_other_surroundings(
    tmp_path: Path, around: str, name: str
) -> None:
    require(name)
    package, place = packages()[name], surroundings()[around]
    result = await played(tmp_path, package, place, sandbox=False)
    none = {} if place.commits else {"commit": "0 commits"}
    assert result.ends == {**package.expected, **none, **place.ends.get(name, {})}, result.reasons
    assert result.found == package.tests


def test_the_page_tells_this_field() -> None:
    from tests.tools.field_table import PAGE, page

    again = "run `uv run python -m tests.tools.field_table`"
    assert PAGE.read_text(encoding="utf-8") == page(), again
