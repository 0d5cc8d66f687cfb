"""The rules of CI, tried on small suites: what fails runs once more, and which skips are red."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.suite import ALLOWED, allowed_skips
from tests.tools.house import ROOT

COMMON = """
import os, time
from pathlib import Path
import pytest

def first_time(name):
    try:
        Path(name).touch(exist_ok=False)
    except FileExistsError:
        return False
    return True
"""

FLAKY = """
@pytest.fixture
def broken_once():
    assert not first_time("fixture")

def test_fails_once():
    assert not first_time("assertion")

def test_has_an_error_once(broken_once):
    pass

@pytest.mark.timeout(1)
def test_hangs_once():
    if first_time("hang"):
        time.sleep(60)

def test_crashes_once():
    if first_time("crash"):
        os._exit(1)
"""

RED = """
def test_is_wrong():
    assert 1 + 1 == 3, "sums"

def test_is_listed():
    pytest.skip("of the machine")

def test_is_not_listed():
    pytest.skip("of the author")

@pytest.mark.needs("nonesuch")
def test_misses_a_program():
    pass

@pytest.mark.needs("another")
def test_misses_what_could_be_installed():
    pass
"""

PARTS = """
def test_is_quick():
    pass

@pytest.mark.costly
def test_costs_seconds():
    pass

@pytest.mark.serial
def test_needs_a_terminal():
    pass

@pytest.mark.long
def test_is_for_a_release():
    pass
"""

ASKING = {
    "PYTHONPATH": str(ROOT),
    "CI": "true",
    "RALPH_MISSING": "nonesuch",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTEST_PLUGINS": "xdist.plugin,pytest_timeout",
}


def asked(at: Path, tests: str, *options: str, **told: str) -> tuple[int, list[str]]:
    """Ask a suite twice as CI does; return the status and the lines printed."""
    (at / "tests").mkdir()
    (at / "conftest.py").write_text('pytest_plugins = ["tests.harness.suite"]\n')
    (at / "pytest.ini").write_text("[pytest]\nmarkers =\n  serial\n  needs\n  costly\n  long\n")
    (at / ALLOWED).write_text("test_it.py::test_is_listed: of the machine\n")
    (at / "test_it.py").write_text(COMMON + tests)
    done = subprocess.run(
        [sys.executable, "-m", "tests.tools.ask_twice", "-q", *options],
        cwd=at,
        env={**os.environ, **ASKING, **told},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout.splitlines()


@pytest.mark.long
def test_what_passes_alone_is_flaky_and_green(tmp_path: Path) -> None:
    status, lines = asked(tmp_path, FLAKY, "-n", "2")
    assert status == 0, lines
    names = ["crashes_once", "fails_once", "hangs_once", "has_an_error_once"]
    assert lines[-2] == "FLAKY: " + " ".join(f"test_it.py::test_{name}" for name in names)
    assert lines[-1].startswith("4 passed in "), "each once"


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "left_out"), [(["-n", "2"], 3), (["-n", "0", "test_it.py"], 1)]
)
def test_what_costs_is_left_out_of_a_whole_run_by_hand(
    tmp_path: Path, options: list[str], left_out: int
) -> None:
    status, lines = asked(tmp_path, PARTS, *options, CI="")
    assert status == 0, lines
    assert lines[-1].startswith(f"{4 - left_out} passed"), lines


def test_a_session_with_workers_says_what_it_leaves_out(tmp_path: Path) -> None:
    _, lines = asked(tmp_path, PARTS, "-n", "2", "test_it.py", CI="")
    assert "Left out: 1 serial test, which `-n 0` plays." in lines


@pytest.mark.costly
def test_what_fails_twice_and_a_skip_that_is_not_listed_are_red(tmp_path: Path) -> None:
    status, lines = asked(tmp_path, RED, "-n", "0")
    assert status == 1
    red = ["is_not_listed", "is_wrong", "misses_what_could_be_installed"]
    told = lines.index("Failed twice. To run one alone:")
    assert lines[told + 1 :] == [f"  uv run pytest -n 0 test_it.py::test_{name}" for name in red]
    said = "\n".join(lines[:told])
    assert said.count("def test_is_wrong") == 2, "both outputs"
    assert "FAILED test_it.py::test_is_wrong - AssertionError: sums" in said
    assert f"skipped, and {ALLOWED} does not list it: of the author" in said
    assert f"skipped, and {ALLOWED} does not list it: another: not installed" in said


def test_a_file_that_cannot_be_collected_is_red_at_once(tmp_path: Path) -> None:
    status, lines = asked(tmp_path, "def test_it():\n    pass\nimport nonesuch\n", "-n", "0")
    assert status == 2
    assert sum(line.startswith("ERROR test_it.py") for line in lines) == 1


def test_each_listed_skip_is_of_a_test_that_is_here() -> None:
    for line in allowed_skips(ROOT):
        path, _, name = line.partition(": ")[0].partition("::")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8"), line
