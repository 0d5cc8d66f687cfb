"""A bare `ralph` in a folder that is no project yet: what follows each answer, and what stops it."""

import json
import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_tui.cli.commands.init import begin_here
from ralph_tui.cli.run import mode
from ralph_tui.domain.errors import RalphError, SetupError
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.store.project import Project
from ralph_tui.tui.app.start_screen import StartChoice, StartFacts, StartScreen
from tests.cli.processes import inside
from tests.cli.test_killed_commands import dies
from tests.harness.projects import make_project, task

STORIES = [
    {"id": "US-001", "title": "Add", "acceptanceCriteria": ["`npm test`"], "passes": False},
    {"id": "US-002", "title": "Mark", "acceptanceCriteria": ["It is marked"], "passes": True},
]
PRD = json.dumps({"project": "habits", "userStories": STORIES}, indent=2)

Answer = Callable[[StartFacts], StartChoice | None]


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Path, str]]:
    """Collect the projects that were opened instead of opening them."""
    found: list[tuple[Path, str]] = []

    def open_project(directory: Path, request: str) -> int:
        found.append((directory, request))
        return 0

    monkeypatch.setattr(mode, "open_project", open_project)
    return found


@pytest.fixture
def answer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Answer], None]:
    def takes(answer: Answer) -> None:
        monkeypatch.setattr(StartScreen, "run", lambda screen: answer(screen._found))

    return takes


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a package.json, which makes no Python project of it."""
    folder = tmp_path / "habits"
    folder.mkdir()
    (folder / "package.json").write_text("{}", encoding="utf-8")
    return folder


def test_a_command_that_checks_two_things_is_named_once(
    folder: Path, answer: Callable[[Answer], None]
) -> None:
    (folder / "package.json").unlink()
    (folder / "go.mod").write_text("module habits\n\ngo 1.22\n", encoding="utf-8")
    seen: list[StartFacts] = []
    answer(seen.append)
    begin_here(folder)
    assert seen[0].facts["Checks"].count("go vet") == 1
    assert seen[0].root == folder


def looked_at(found: StartFacts) -> StartChoice:
    assert found.plan
    return StartChoice(plan=found.plan.look(), makes_git=True)


def tasks(folder: Path) -> dict[str, TaskStatus]:
    return {task.id: task.status for task in Project(folder).load().plan.tasks}


def test_a_plan_found_here_is_imported_with_a_repository(
    folder: Path, opened: list[tuple[Path, str]], answer: Callable[[Answer], None]
) -> None:
    (folder / "prd.json").write_text(PRD, encoding="utf-8")
    answer(looked_at)
    assert begin_here(folder) == 0
    assert tasks(folder) == {"US-001": TaskStatus.PENDING, "US-002": TaskStatus.COMPLETE}
    assert (folder / ".git").is_dir()
    assert (folder / "prd.json").read_text(encoding="utf-8") == PRD
    assert opened == [(folder, "")]


def test_a_look_at_a_plan_writes_nothing(folder: Path, answer: Callable[[Answer], None]) -> None:
    (folder / "prd.json").write_text(PRD, encoding="utf-8")
    before = sorted(folder.rglob("*"))

    def looks(found: StartFacts) -> None:
        looked_at(found)

    answer(looks)
    assert begin_here(folder) == 0
    assert sorted(folder.rglob("*")) == before


def test_a_plan_that_changed_meanwhile_is_not_imported(
    folder: Path, opened: list[tuple[Path, str]], answer: Callable[[Answer], None]
) -> None:
    (folder / "prd.json").write_text(PRD, encoding="utf-8")

    def changes(found: StartFacts) -> StartChoice:
        choice = looked_at(found)
        (folder / "prd.json").write_text(PRD.replace("npm test", "rm -rf x"), encoding="utf-8")
        return choice

    answer(changes)
    with pytest.raises(RalphError, match=r"prd\.json changed while you were looking"):
        begin_here(folder)
    assert tasks(folder) == {}
    assert opened == []


@pytest.mark.parametrize(
    ("makes_git", "makes_python"), [(True, True), (False, True), (True, False)]
)
def test_an_empty_folder_gets_a_repository_and_a_language_only_when_wanted(
    tmp_path: Path,
    opened: list[tuple[Path, str]],
    answer: Callable[[Answer], None],
    makes_git: bool,
    makes_python: bool,
) -> None:
    answer(
        lambda found: StartChoice(
            "go", None, found.offers_git and makes_git, found.offers_python and makes_python
        )
    )
    assert begin_here(tmp_path) == 0
    assert (tmp_path / ".git").exists() is makes_git
    assert (tmp_path / "pyproject.toml").exists() is makes_python
    assert opened == [(tmp_path, "go")]


@pytest.mark.parametrize("of", ["git", ".hg"])
def test_no_repository_is_offered_inside_one(
    folder: Path, answer: Callable[[Answer], None], of: str
) -> None:
    if of == "git":
        subprocess.run(["git", "init", "-q", folder.parent], check=True)
    else:
        (folder.parent / of).mkdir()
    offered: list[bool] = []
    answer(lambda found: offered.append(found.offers_git))
    begin_here(folder)
    assert offered == [False]


def test_a_folder_that_cannot_be_written_is_said_before_anything_is_asked(
    folder: Path, answer: Callable[[Answer], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda *_: False)  # root may write everywhere
    asked: list[StartFacts] = []
    answer(asked.append)
    with pytest.raises(SetupError, match="you may not write there"):
        begin_here(folder)
    assert asked == []


def test_a_request_is_printed_when_the_set_up_fails(
    folder: Path,
    answer: Callable[[Answer], None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def full(_: Project) -> None:
        raise SetupError("The disk is full.", "Make room.")

    monkeypatch.setattr(Project, "create", full)
    answer(lambda _: StartChoice("A habit tracker"))
    with pytest.raises(SetupError, match="full"):
        begin_here(folder)
    assert "A habit tracker" in capsys.readouterr().err


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
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    opened: list[tuple[Path, str]],
    words: tuple[str, ...],
) -> None:
    monkeypatch.setattr(mode, "no_screen", lambda: None)
    project = Project(make_project(tmp_path, [task("a")]))
    project.transact(lambda docs: docs.with_state(request="x"))
    for path in (project.layout.plan, project.layout.state):
        path.unlink()
    done = inside(*words, cwd=project.root)
    assert (done.returncode, "`ralph restore`" in done.stderr, opened) == (3, True, [])


@pytest.mark.long
@pytest.mark.usefixtures("opened")
def test_a_start_after_a_killed_set_up_is_fine(
    folder: Path, answer: Callable[[Answer], None], tmp_path: Path
) -> None:
    """Wherever the first start dies: the next finds a project or asks again, and no file is half written."""
    (folder / "prd.json").write_text(PRD, encoding="utf-8")
    answer(looked_at)
    shutil.copytree(folder, tmp_path / "before")
    nth = 1
    while dies(lambda: begin_here(folder), nth):
        if not (folder / ".ralph").is_dir():
            assert begin_here(folder) == 0
        assert set(tasks(folder)) in (set(), {"US-001", "US-002"})
        assert inside("init", "--yes", cwd=folder).returncode == 0
        for name in ("AGENTS.md", ".ralph/config.yaml"):
            assert (folder / name).read_text(encoding="utf-8").strip()
        assert inside("import", "prd.json", "--yes", cwd=folder).returncode == 0
        assert set(tasks(folder)) == {"US-001", "US-002"}
        assert (folder / "prd.json").read_text(encoding="utf-8") == PRD
        shutil.rmtree(folder)
        shutil.copytree(tmp_path / "before", folder)
        nth += 9
    assert nth > 1
