"""The demo: its project, and its scenario played by the real loop and the real CLI."""

import math
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph_tui.demo.loading import load_scenario, shipped_scenario
from ralph_tui.demo.messages import message, stream_events
from ralph_tui.demo.project import create_demo_project, demo_environment
from ralph_tui.demo.scenario import Either, Turn, Usage
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import SetupError
from tests.harness.model import serving
from tests.harness.processes import run_ralph
from tests.harness.projects import events_of, plan_of

GATE = "uv run python -m unittest"


def run(command: str, project: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **demo_environment()}
    return subprocess.run(
        command.split(), cwd=project, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.real_cli
async def test_the_loop_finishes_the_demo_and_shows_what_it_promises(tmp_path: Path) -> None:
    project = create_demo_project(tmp_path / "demo")
    async with serving(shipped_scenario("demo")) as server:
        ran = await run_ralph(["build", "--headless"], project, server)
        assert (ran.status, server.unmatched) == (0, []), ran.stdout + ran.stderr

    told = events_of(project)
    gates = [(e.task_id, e.passed) for e in told if isinstance(e, ev.GateFinished)]
    assert gates == [
        ("demo-01", True),
        ("demo-02", True),
        ("demo-03", False),
        ("demo-03", True),
        ("demo-04", True),
        ("demo-05", True),
    ]
    denied = [e for e in told if isinstance(e, ev.ToolDenied)]
    assert ["git commit" in str(e) for e in denied] == [True]
    assert len([e for e in told if isinstance(e, ev.LearningRecorded)]) == 1
    assert len([e for e in told if isinstance(e, ev.HandoffFinished)]) == 1
    assert "rank is written and tested" in (project / "MEMORY.md").read_text()
    assert plan_of(project).is_finished
    report = run("uv run python -m habits march.log --today 2026-03-08", project)
    assert report.stdout.splitlines() == [
        "read   ▇▇▇▇▇▇▇························  7 days",
        "walk   ▇▇·▇▇▇▇························  4 days",
        "piano  ··▇···▇························  1 day",
    ]


def _seconds(turn: Turn, defaults: Mapping[str, float]) -> float:
    events = stream_events(message(turn, key="k", model="m", usage=Usage()), Usage())
    deltas = sum(1 for event in events if event["type"] == "content_block_delta")
    wait = defaults["wait"] if turn.wait is None else turn.wait
    pace = defaults["pace"] if turn.pace is None else turn.pace
    return wait + pace * deltas


def test_the_demo_is_neither_rushed_nor_slow() -> None:
    """What the CLI and the gate take, some ten seconds, comes on top."""
    scenario = load_scenario(shipped_scenario("demo"))
    items = [item for script in scenario.scripts for item in script.turns]
    turns = [item.either[0] if isinstance(item, Either) else item for item in items]
    defaults = {"wait": scenario.wait, "pace": scenario.pace}
    assert 15 < math.fsum(_seconds(turn, defaults) for turn in turns) < 45


def test_the_project_begins_green_and_its_plan_can_be_worked(tmp_path: Path) -> None:
    project = create_demo_project(tmp_path / "new" / "demo")
    plan = plan_of(project)
    assert plan.problems() == ()
    assert len(plan.tasks) == 5
    assert run(GATE, project).returncode == 0
    assert "VIRTUAL_ENV" not in run(GATE, project).stderr
    assert run("git status --short", project).returncode == 0


def test_a_temporary_project_is_fresh_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = create_demo_project(), create_demo_project()
    assert first != second
    assert first.name.startswith("ralph-demo-")
    assert (second / ".ralph" / "config.yaml").exists()


def test_without_git_there_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not (create_demo_project(tmp_path / "demo") / ".git").exists()


def test_a_directory_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for target in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(SetupError, match="wants an empty directory"):
            create_demo_project(target)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(SetupError, match="cannot be written"):
        create_demo_project(tmp_path / "mine.txt" / "below")
