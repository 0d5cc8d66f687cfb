"""`ralph limits`: what may be changed of a run, and what is refused."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from ralph_tui.domain.costs import CostLimits
from ralph_tui.domain.events import LoopStarted
from ralph_tui.domain.project_state import Adjusted, Phase
from ralph_tui.store.journal.journal import JournalWriter
from ralph_tui.store.layout import Layout
from ralph_tui.store.lock import LoopLock
from ralph_tui.store.project import Documents, Project
from tests.cli.processes import inside


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.create()
    return project


@pytest.fixture
def running(project: Project) -> Iterator[Project]:
    """A loop that was started with `--max-cost 3 --max-iterations 9 --model haiku`."""
    lock = LoopLock(Layout(project.root))
    lock.acquire("run-1")
    writer = JournalWriter(project.layout.events)
    limits = CostLimits(per_session=3)
    begun = LoopStarted(
        run_id="run-1", project="p", phase=Phase.BUILDING, max_iterations=9, limits=limits
    ).model_copy(update={"model": "haiku"})
    writer.write([writer.stamp(begun)])
    yield project
    writer.close()
    lock.release()


def shown(project: Project) -> dict[str, str]:
    rows = map(str.split, inside("limits", cwd=project.root).stdout.splitlines())
    return {row[0]: row[1] for row in rows}


def test_limits_of_the_run_are_shown_and_changed(running: Project) -> None:
    before = shown(running)
    chosen = ("--max-cost", "--max-iterations", "--model", "--total-cost")
    assert [before[name] for name in chosen] == ["$3.00", "9", "haiku", "$200.00"]
    words = ("--max-cost", "5", "--max-iterations", "20", "--model", "opus")
    done = inside("limits", *words, cwd=running.root)
    assert done.stdout == "For this run: at most 20 iterations, $5.00 this run, model opus.\n"
    wanted = Adjusted(max_iterations=20, per_session=5, model="opus")
    assert running.load().state.adjusted == wanted
    after = shown(running)
    assert [after[name] for name in chosen] == ["$5.00", "20", "opus", "$200.00"]


def test_without_a_loop_the_settings_are_shown_and_nothing_changes(project: Project) -> None:
    def left_over(docs: Documents) -> Documents:
        state = docs.state.model_copy(update={"adjusted": Adjusted(max_iterations=3)})
        return docs.model_copy(update={"state": state})

    project.transact(left_over)
    assert shown(project)["--max-iterations"] == "100", "the run it was meant for is over"
    done = inside("limits", "--max-cost", "5", cwd=project.root)
    assert done.returncode == 3
    assert "No loop is running" in done.stderr
    assert "ralph config set" in done.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("--max-cost", "0"),
        ("--max-cost", "nan"),
        ("--total-cost", "inf"),
        ("--iteration-cost", "-1"),
        ("--max-iterations", "0"),
        ("--max-iterations", "many"),
        ("--model", "two words"),
        ("--planning-model", ""),
    ],
)
def test_a_wrong_limit_is_refused_in_a_sentence(running: Project, words: tuple[str, str]) -> None:
    done = inside("limits", *words, cwd=running.root)
    assert (done.returncode, done.stdout) == (3, "")
    assert done.stderr.startswith("ralph: ")
    assert "did not expect" not in done.stderr
    assert running.load().state.adjusted is None
