"""Try the second table of cheats and honest ways against the gate's evidence with real runners."""

import asyncio
import base64
import hashlib
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.verification.evidence.projects import Tried, write
from tests.scenario.cheat_table import MORE_CHEATS, MORE_HONEST, MORE_KINDS, OUT_OF_REACH, Way
from tests.scenario.test_cheats import require


def rows(table: dict[str, Way]) -> list[object]:
    return [n if w.quick else pytest.param(n, marks=pytest.mark.long) for n, w in table.items()]


async def made(tmp_path: Path, way: Way) -> Tried:
    """Make the project and do to it what the way does."""
    files, command = MORE_KINDS[way.kind]
    require(command)
    if way.kind in {"venv", "makevenv"}:
        make_venv(tmp_path / "project")
    if way.kind == "linked":
        write(tmp_path / "project", {"tests/__init__.py": ""})
        (tmp_path / "project" / "tests" / "data").symlink_to("../shared")
    tried = Tried(tmp_path / "project", files, command)
    if way.baseline:
        await tried.take_baseline()
    write(tried.root, way.changes)
    if way.shell:
        shell = ["bash", "-c", way.shell]
        await asyncio.to_thread(subprocess.run, shell, cwd=tried.root, check=True)
    return tried


def make_venv(root: Path) -> None:
    """Make a virtual environment in which pytest is that of the tests, as a package manager leaves it."""
    record = ".venv/lib/python3/site-packages/pytest-9.dist-info/RECORD"
    program = '#!/bin/sh\nexec "${0%pytest}python" -m pytest "$@"\n'
    digest = base64.urlsafe_b64encode(hashlib.sha256(program.encode()).digest()).rstrip(b"=")
    row = f"../../../bin/pytest,sha256={digest.decode()},1\n"
    write(root, {"+x .venv/bin/pytest": program, record: row})
    (root / ".venv" / "bin" / "python").symlink_to(sys.executable)


@pytest.mark.parametrize("name", rows(MORE_CHEATS))
async def test_a_cheat_is_no_pass(tmp_path: Path, name: str) -> None:
    cheat = MORE_CHEATS[name]
    examined = await (await made(tmp_path, cheat)).claim()
    assert not examined.passed, f"accepted: {examined}"
    if cheat.said == "red":
        assert examined.result.exit_code
    else:
        assert cheat.said in "; ".join(examined.faults)


@pytest.mark.parametrize("name", rows(MORE_HONEST))
async def test_an_honest_way_passes(tmp_path: Path, name: str) -> None:
    way = MORE_HONEST[name]
    tried = await made(tmp_path, way)
    for _ in range(way.claims - 1):
        early = await tried.claim()
        assert early.result.exit_code == 1
        assert not early.faults, "red, and no more than that"
    examined = await tried.claim()
    assert examined.passed, f"{examined.faults}\n{examined.result.tail}"


@pytest.mark.parametrize("name", rows(OUT_OF_REACH))
async def test_what_is_out_of_reach_is_accepted(tmp_path: Path, name: str) -> None:
    """The docs say so; move the row to the cheats once the gate refuses it."""
    assert (await (await made(tmp_path, OUT_OF_REACH[name])).claim()).passed
