"""`ralph lint`, `typecheck`, `test` and where commands work that need no project."""

import shutil
from pathlib import Path

import pytest

from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Project
from tests.cli.processes import inside

FAKE_UV = """#!/bin/sh
shift  # "run"
case "$1" in
  ruff) echo "linted $PWD"; exit 5;;
  *) exec "$@";;
esac
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project, a directory for programs that is first in PATH, and no ruff but there."""
    root, programs = tmp_path / "sample", tmp_path / "bin"
    root.mkdir()
    programs.mkdir()
    Project(root).create()
    (root / "pyproject.toml").write_text('[tool.uv]\n[project]\nname = "sample"\nversion = "1"\n')
    for name in ("sh", "bash"):
        (programs / name).symlink_to(shutil.which(name) or "")
    monkeypatch.setenv("PATH", str(programs))
    return root


def program(project: Path, name: str, text: str) -> None:
    path = project.parent / "bin" / name
    path.write_text(text)
    path.chmod(0o755)


def test_a_tool_the_project_lacks_is_one_sentence(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program(project, "uv", FAKE_UV)
    done = inside("lint", cwd=project)
    assert done.returncode == 3
    assert done.stderr.splitlines() == [
        "ralph: This project has no linter that ralph knows how to run.",
        "  Run `ralph deps add --dev ruff`, or name the command: ralph config set build.lint_command COMMAND",
    ]
    assert capfd.readouterr() == ("", "")


DECLARES = '[dependency-groups]\ndev = ["ruff", "mypy", "pytest"]\n'


def declare(project: Path) -> None:
    manifest = project / "pyproject.toml"
    manifest.write_text(manifest.read_text() + DECLARES)


def test_a_tool_of_the_project_runs_in_the_project(
    project: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program(project, "uv", FAKE_UV)
    declare(project)
    below = project / "src" / "deep"
    below.mkdir(parents=True)
    assert inside("lint", cwd=below).returncode == 5
    assert capfd.readouterr().out == f"linted {project}\n"


@pytest.mark.parametrize("command", ["lint", "test", "typecheck"])
def test_without_uv_it_says_so(project: Path, command: str) -> None:
    declare(project)
    done = inside(command, cwd=project)
    assert (done.returncode, done.stderr.splitlines()[0]) == (3, "ralph: uv is not installed.")


def test_the_settings_are_those_of_the_project_around(project: Path) -> None:
    Layout(project).config.write_text("limits:\n  rate_limit_per_hour: 7\n", encoding="utf-8")
    below = project / "src"
    below.mkdir()
    shown = inside("config", "show", cwd=below).stdout
    (row,) = [line for line in shown.splitlines() if line.startswith("limits.rate_limit_per_hour")]
    assert row.split()[1] == "7"


def test_the_settings_of_a_person_make_no_project_of_their_home(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".ralph").mkdir()
    (tmp_path / ".ralph" / "config.yaml").write_text("limits:\n  rate_limit_per_hour: 7\n")
    work = tmp_path / "code" / "thing"
    work.mkdir(parents=True)
    done = inside("inject", "Use sqlite.", cwd=work)
    assert done.returncode == 3
    assert f"No ralph project in {work}" in done.stderr
    assert [path.name for path in (tmp_path / ".ralph").iterdir()] == ["config.yaml"]


def test_a_loop_that_runs_is_what_a_second_one_is_told_of(project: Path) -> None:
    lock = LoopLock(Layout(project))
    lock.acquire("run-1")
    try:
        done = inside("build", "--headless", cwd=project)  # its plan is empty, too
    finally:
        lock.release()
    assert done.returncode == 3
    assert "is already running" in done.stderr
