"""`ralph init`: makes or adopts a project and never overwrites."""

import json
import os
import shutil
import sys
from pathlib import Path

import pexpect
import pytest

from ralph_tui.cli.doctor.checks import examine
from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.waiting import PATIENCE


def test_an_empty_directory_becomes_a_uv_project(tmp_path: Path) -> None:
    done = inside("init", "-C", "new project/sample", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith(
        "language Python, in a new project  (for another one: ralph init --no-python)"
    )
    root = tmp_path / "new project" / "sample"
    assert (root / "pyproject.toml").is_file()
    guide = (root / "AGENTS.md").read_text(encoding="utf-8")
    assert "This project uses `uv` for all Python operations." in guide
    assert "uv add --dev <package>" in guide
    assert "pytest" not in guide, "there is none"
    assert load_settings(root, environ={}) == Settings()
    assert not (root / "PROMPT_build.md").exists()
    assert Project.find(root).load().plan.tasks == ()
    assert ".ralph/implementation_plan.json" in done.stdout


@pytest.mark.parametrize(
    ("words", "typed"), [(("init",), "\n"), (("init",), "Rust\n"), (("init", "--no-python"), "")]
)
def test_an_empty_directory_has_the_language_that_the_person_chooses(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...], typed: str
) -> None:
    monkeypatch.setattr("ralph_tui.cli.commands.init.is_at_terminal", lambda: True)
    done = inside(*words, cwd=tmp_path, stdin=typed)
    assert ("Language of the project" in done.stdout) == bool(typed)
    assert (tmp_path / "pyproject.toml").exists() == (typed == "\n")
    guide = (tmp_path / "AGENTS.md").read_text(encoding="utf-8")
    assert ("The language of this project is Rust." in guide) == ("Rust" in typed)


@pytest.mark.parametrize(("name", "iterations", "per_task"), [("hybrid", 20, 10), ("go", 100, 10)])
def test_the_settings_may_begin_with_the_limits_of_another_loop(
    tmp_path: Path, name: str, iterations: int, per_task: int
) -> None:
    (tmp_path / "notes.txt").touch()
    assert inside("init", "--template", name, cwd=tmp_path).returncode == 0
    settings = load_settings(tmp_path, environ={})
    assert settings.phases.building.max_iterations == iterations
    assert settings.limits.max_iterations_per_task == per_task
    assert settings.limits.rate_limit_per_hour == (100 if name == "hybrid" else 0)
    assert list(settings.steps) == ([] if name == "hybrid" else ["work", "update-docs"])
    assert "# Settings of this project." in (tmp_path / ".ralph" / "config.yaml").read_text()
    assert inside("init", "--template", "other", cwd=tmp_path).returncode == 3


NPM = json.dumps({"scripts": {"test": "jest", "lint": "eslint ."}})
FOREIGN = {
    "setup.py": {"setup.py": "from setuptools import setup\nsetup()\n", "slug/__init__.py": ""},
    "setup.cfg": {"setup.cfg": "[metadata]\nname = x\n"},
    "npm": {"package.json": NPM, "package-lock.json": "{}"},
    "cargo": {"Cargo.toml": '[package]\nname = "x"\n', "src/main.rs": "fn main() {}\n"},
    "go": {"go.mod": "module x\n", "main.go": "package main\n"},
    "a readme": {"README.md": "# Something\n"},
}


def snapshot(root: Path) -> dict[str, bytes]:
    files = (path for path in root.rglob("*") if path.is_file())
    return {str(path.relative_to(root)): path.read_bytes() for path in files}


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def test_the_workspace_around_is_left_alone(tmp_path: Path) -> None:
    root = '[project]\nname = "root"\nversion = "1"\n[tool.uv.workspace]\nmembers = ["libs/*"]\n'
    write(tmp_path, {"pyproject.toml": root, "libs/a/notes.txt": ""})
    (tmp_path / "libs" / "b").mkdir()
    for name in ("a", "b"):
        assert inside("init", cwd=tmp_path / "libs" / name).returncode == 0
        assert not (tmp_path / "libs" / name / "pyproject.toml").exists()
    assert inside("init", "--python", cwd=tmp_path / "libs" / "b").returncode == 0
    assert (tmp_path / "libs" / "b" / "pyproject.toml").is_file()
    assert (tmp_path / "pyproject.toml").read_text() == root


def test_python_beside_others_is_one_file(tmp_path: Path) -> None:
    write(tmp_path, FOREIGN["npm"])
    done = inside("init", "--python", cwd=tmp_path)
    assert "created  pyproject.toml (uv init)" in done.stdout.splitlines()
    made = {path.name for path in tmp_path.iterdir()} - set(FOREIGN["npm"])
    assert made == {"pyproject.toml", "uv.lock", ".ralph", "AGENTS.md"}
    write(tmp_path / "old", FOREIGN["setup.py"])
    refused = inside("init", "--python", cwd=tmp_path / "old")
    assert (refused.returncode, "it has setup.py" in refused.stderr) == (3, True)


def test_a_link_that_leads_out_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    (tmp_path / "AGENTS.md").symlink_to(tmp_path / "elsewhere")
    assert inside("init", cwd=tmp_path).returncode == 0
    assert not (tmp_path / "elsewhere").exists()


def test_uv_must_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    done = inside("init", cwd=tmp_path)
    assert done.returncode == 3
    assert done.stderr.startswith("ralph: uv is not installed")
    assert list(tmp_path.iterdir()) == []


def test_what_uv_says_is_passed_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tools = tmp_path / "tools"
    tools.mkdir()
    fake = tools / "uv"
    fake.write_text(
        '#!/bin/sh\n[ "$1" = --version ] && echo uv 1 && exit 0\necho no name >&2\nexit 2\n',
        encoding="utf-8",
    )
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{Path(shutil.which('sh') or '').parent}")
    done = inside("init", "-C", "x", cwd=tmp_path)
    assert done.returncode == 3
    assert "`uv init` failed in" in done.stderr
    assert "no name" in done.stderr


@pytest.mark.long
def test_a_python_that_cannot_be_had_is_a_warning(tmp_path: Path, isolated: Path) -> None:
    """The person's own settings ask for a Python that no machine has."""
    (isolated / ".ralph").mkdir()
    text = "project:\n  python_version: '3.99'\n"
    (isolated / ".ralph" / "config.yaml").write_text(text, encoding="utf-8")
    root = tmp_path / "sample"
    environ = {**os.environ, "UV_OFFLINE": "1"}
    done = inside("init", "-C", str(root), cwd=tmp_path, environ=environ)
    assert done.returncode == 0
    assert "Python 3.99 cannot be installed" in done.stderr
    assert (root / "pyproject.toml").is_file()


@pytest.mark.usefixtures("no_layers")
def test_a_long_agents_md_is_kept_and_remarked_on(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'x'\nversion = '1'\n")
    (tmp_path / "AGENTS.md").write_text("line\n" * 83)
    done = inside("init", cwd=tmp_path)
    assert done.stderr == (
        "ralph: AGENTS.md has 83 lines; only the first 60 go into prompts, which say where the rest is.\n"
    )
    assert (tmp_path / "AGENTS.md").read_text() == "line\n" * 83
    found = next(f for f in examine(tmp_path) if f.name == "AGENTS.md")
    assert (found.ok, found.needed, found.text) == (False, False, "83 lines of at most 60")


def test_a_home_is_a_project_only_when_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    done = inside("init", cwd=tmp_path)
    assert done.returncode == 3
    assert f"{tmp_path} is your home" in done.stderr
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "pyproject.toml").write_text("[project]\n", encoding="utf-8")
    assert inside("init", cwd=tmp_path).returncode == 0


@pytest.mark.parametrize(("answer", "writes"), [("n", False), ("", True)])
def test_a_person_sees_what_is_written_before_it_is(
    tmp_path: Path, answer: str, writes: bool
) -> None:
    write(tmp_path, FOREIGN["npm"])
    command = [sys.executable, "-m", "ralph_tui", "init"]
    terminal: pexpect.spawn[str] = pexpect.spawn(
        command[0], command[1:], cwd=str(tmp_path), encoding="utf-8", timeout=PATIENCE
    )
    try:
        terminal.expect_exact("create   AGENTS.md")
        terminal.expect_exact("Write this?")
        assert not (tmp_path / "AGENTS.md").exists()
        terminal.sendline(answer)
        if writes:
            terminal.expect_exact("Run the checks once now, in the sandbox?")
            terminal.sendline("")
            terminal.expect_exact("tried")
        terminal.expect(pexpect.EOF)
    finally:
        terminal.close(force=True)
    assert (tmp_path / "AGENTS.md").exists() is writes
    assert (tmp_path / ".ralph").exists() is writes
