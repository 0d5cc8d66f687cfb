"""Play the field: published packages on the real engine, from `ralph init` to `ralph undo`, some in many surroundings.

A package that does not end as it should says so in `packages.yaml`, with the reason. The table stands in the documentation.
"""

import json
import os
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.field.player import SURROUNDED, Result, make, packages, played, surroundings
from tests.field.registry import RegistryError, fetched
from tests.harness.suite import LONG, need

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


@pytest.fixture
def place() -> Iterator[Path]:
    """A directory for a project that no pytest of its checks removes, as it does with older ones of its own."""
    with tempfile.TemporaryDirectory(prefix="ralph-field-", ignore_cleanup_errors=True) as made:
        yield Path(made)


@pytest.mark.costly
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", listed())
async def test_a_package_ends_as_the_table_says(place: Path, name: str) -> None:
    require(name)
    package = packages()[name]
    result = await played(place, package, sandbox=LONG)
    assert result.ends == package.expected, result.reasons
    assert result.found == (package.tests if package.found is None else package.found)


def surrounded() -> list[object]:
    return [
        pytest.param(around, name, marks=() if quick and name == "abstract-logging" else pytest.mark.long)
        for around, quick in ((one.name, one.quick) for one in surroundings().values())
        for name in SURROUNDED
    ]  # fmt: skip


ALONE = """\
import asyncio, json, sys
from dataclasses import asdict
from pathlib import Path
from tests.field.player import packages, played_at, surroundings

root, project, name, around = sys.argv[1:]
parts = (Path(project), Path(root), packages()[name], surroundings()[around])
print(json.dumps(asdict(asyncio.run(played_at(*parts, sandbox=False)))))
"""


def played_as(uid: int, name: str, around: str) -> Result:
    """Play a package as another user, outside of pytest's directory, which is closed to others."""
    own = Path(sys.base_prefix)
    is_open = all(place.stat().st_mode & stat.S_IXOTH for place in (own, *own.parents))
    major, minor, *_ = sys.version_info
    python = sys.executable if is_open else f"/usr/bin/python{major}.{minor}"
    if not Path(python).exists():
        pytest.skip("Python is closed to other users")
    kept = {n: v for n, v in os.environ.items() if not n.startswith("XDG_")}
    paths = [place for place in sys.path if is_open or not Path(place).is_relative_to(own)]
    with tempfile.TemporaryDirectory() as directory:
        root = Path(directory)
        project = make(root, packages()[name], surroundings()[around])
        for path in (root, *root.rglob("*")):
            if path.name != "home":
                os.chown(path, uid, uid, follow_symlinks=False)
        done = subprocess.run(
            [python, "-c", ALONE, directory, str(project), name, around],
            cwd=directory, user=uid, group=uid, extra_groups=(), capture_output=True, text=True, check=False,
            env={**kept, "HOME": directory, "PYTHONPATH": os.pathsep.join(paths)},
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return Result(**json.loads(done.stdout.splitlines()[-1]))


@pytest.mark.costly
@pytest.mark.timeout(900)
@pytest.mark.parametrize(("around", "name"), surrounded())
async def test_a_package_ends_the_same_in_other_surroundings(
    tmp_path: Path, around: str, name: str
) -> None:
    require(name)
    package, place = packages()[name], surroundings()[around]
    if place.uid is None or os.getuid() != 0:
        result = await played(tmp_path, package, place, sandbox=False)
    else:
        result = played_as(place.uid, name, around)
    none = {} if place.commits else {"commit": "0 commits"}
    assert result.ends == {**package.expected, **none, **place.ends.get(name, {})}, result.reasons
    assert result.found == package.tests


def test_the_page_tells_this_field() -> None:
    from tests.tools.field_table import PAGE, page

    again = "run `uv run python -m tests.tools.field_table`"
    assert PAGE.read_text(encoding="utf-8") == page(), again
