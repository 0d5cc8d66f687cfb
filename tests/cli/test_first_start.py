"""A bare `ralph` in a folder that is no project yet: what follows each answer, and what stops it."""

from pathlib import Path

import pytest

from ralph_tui.cli.project_lookup import start_directory
from ralph_tui.cli.run import mode
from ralph_tui.store.project import Project
from tests.cli.processes import inside
from tests.harness.projects import make_project, task


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """Collect the projects that were opened instead of opening them."""
    found: list[Path] = []

    def open_project() -> int:
        found.append(start_directory())
        return 0

    monkeypatch.setattr(mode, "open_project", open_project)
    monkeypatch.setattr(mode, "no_screen", lambda: None)
    monkeypatch.setattr("ralph_tui.cli.commands.init.is_at_terminal", lambda: True)
    return found


@pytest.mark.parametrize(
    ("typed", "status", "made"),
    [
        ("\ny\n", 0, {".ralph", "AGENTS.md", "pyproject.toml"}),
        ("Rust\n\n", 0, {".ralph", "AGENTS.md"}),
        ("Go\nn\n", 0, set()),
        ("", 130, set()),
    ],
    ids=["python", "another language", "no", "ctrl+d"],
)
def test_an_empty_folder_becomes_a_project_once_the_person_agrees(
    tmp_path: Path, opened: list[Path], typed: str, status: int, made: set[str]
) -> None:
    done = inside(cwd=tmp_path, stdin=typed)
    assert done.returncode == status
    names = {path.name for path in tmp_path.iterdir()}
    assert made <= names if made else not names
    assert "pyproject.toml" in made or "pyproject.toml" not in names
    assert opened == ([tmp_path] if made else [])
    assert ("nothing was changed" in done.stderr) == (status == 0 and not made)


def test_what_is_found_is_said_before_the_question(tmp_path: Path, opened: list[Path]) -> None:
    (tmp_path / "go.mod").write_text("module habits\n\ngo 1.22\n", encoding="utf-8")
    shown = inside(cwd=tmp_path, stdin="\n").stdout
    assert "go test ./..." in shown.partition("Set up ralph here?")[0]
    assert "Language of the project" not in shown
    assert opened == [tmp_path]


@pytest.mark.parametrize("words", [(), ("init",)])
def test_a_file_named_like_ralphs_directory_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setattr(mode, "no_screen", lambda: None)
    (tmp_path / ".ralph").write_text("mine", encoding="utf-8")
    done = inside(*words, cwd=tmp_path)
    assert done.returncode == 3
    assert ".ralph is not a directory" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == [".ralph"]


@pytest.mark.parametrize("words", [(), ("-C", ".")])
def test_a_copy_of_a_state_that_is_gone_is_said_before_the_screen_opens(
    tmp_path: Path, opened: list[Path], words: tuple[str, ...]
) -> None:
    project = Project(make_project(tmp_path, [task("a")]))
    project.transact(lambda docs: docs.with_state(request="x"))
    for path in (project.layout.plan, project.layout.state):
        path.unlink()
    done = inside(*words, cwd=project.root)
    assert (done.returncode, "`ralph restore`" in done.stderr, opened) == (3, True, [])
