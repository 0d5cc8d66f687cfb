"""What a claim is held against beside its checks: the files and the tests there were when the task began."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from ralph_tui.domain.plan.plan import Begun, Task
from ralph_tui.domain.verification.verification import Receipt, ReceiptStatus
from ralph_tui.engine.verification import work_done
from ralph_tui.engine.verification.work_done import look, objections

TESTS = "def test_one():\n    pass\n\n\nclass TestIt:\n    async def test_two(self): ...\n"
Change = Callable[[Path], object]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name, text in {"tests/test_a.py": TESTS, "app.py": "x = 1\n", "uv.lock": "a"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def against(project: Path, change: Change, task: Task | None = None, source: str = "") -> list[str]:
    begun = look(project)
    change(project)
    receipt = Receipt(
        command="x",
        source="criterion" if source == "criterion" else "backpressure",
        status=ReceiptStatus.PASSED,
    )
    claimed = (task or Task(id="a", description="Add it")).model_copy(update={"begun": begun})
    return [r.command for r in objections(claimed, look(project), [receipt])]


def make(name: str) -> Change:
    def change(root: Path) -> None:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("made")

    return change


@pytest.mark.parametrize(
    "change",
    [
        lambda _: None,
        *map(make, (".git/index", ".ralph/state.json", ".venv/x", "tests/__pycache__/a.pyc")),
        *map(make, (".coverage", "MEMORY.md", "progress.txt", ".pytest_cache/v/x")),
    ],
)
def test_a_claim_for_which_nothing_was_done_is_no_success(project: Path, change: Change) -> None:
    assert against(project, change) == ["a change was made"]


@pytest.mark.parametrize(
    "change",
    [
        *map(make, ("app.py", "new.py", ".github/workflows/ci.yml", "uv.lock", "docs/a/b.md")),
        lambda root: (root / "app.py").unlink(),
        lambda root: (root / "app.py").rename(root / "moved.py"),
        lambda root: os.mkfifo(root / "test_pipe.py"),  # nobody writes into it: to read is to hang
    ],
)
def test_any_change_of_the_project_is_something(project: Path, change: Change) -> None:
    assert against(project, change) == []


def test_a_lock_that_uv_makes_is_nothing_of_the_agents(project: Path) -> None:
    (project / "uv.lock").unlink()
    assert against(project, make("uv.lock")) == ["a change was made"]


def test_a_criterion_that_was_run_shows_that_it_was_done_before(project: Path) -> None:
    assert against(project, lambda _: None, source="criterion") == []


@pytest.mark.parametrize(
    "change",
    [
        lambda root: (root / "tests/test_a.py").unlink(),
        lambda root: (root / "tests/test_a.py").rename(root / "tests/old.py"),
        lambda root: (root / "tests/test_a.py").write_text(TESTS.replace("test_two", "two")),
    ],
)
@pytest.mark.parametrize("source", ["", "criterion"])
def test_tests_that_are_gone_are_no_success(project: Path, change: Change, source: str) -> None:
    assert against(project, change, source=source) == ["every test is kept"]


def test_tests_may_move_and_go_where_the_task_says_so(project: Path) -> None:
    def moved(root: Path) -> None:
        (root / "tests/test_a.py").rename(root / "tests/test_b.py")

    def gone(root: Path) -> None:
        (root / "tests/test_b.py").unlink()

    assert against(project, moved) == []
    removing = Task(id="a", description="Remove the old exporter")
    assert against(project, gone, removing) == []


def test_a_project_too_large_to_look_at_is_believed(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_done, "MOST_FILES", 2)
    assert look(project) == Begun()
    assert against(project, lambda _: None) == []


def test_of_a_huge_file_of_tests_only_the_beginning_is_read(
    project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_done, "MOST_BYTES", 1_000)
    with (project / "tests/test_huge.py").open("wb") as file:
        file.write(b"def test_x(): ...\n")
        file.truncate(1 << 40)  # a terabyte of nothing, which a program makes in no time
    assert look(project).tests == 3
