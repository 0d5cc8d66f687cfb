"""The demo: its project, and its scenario played by the real program and the real CLI."""

import json
import math
import os
import pwd
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from ralph_tui.demo.demo_project import create_demo_project, demo_environment
from ralph_tui.demo.messages import message, stream_events
from ralph_tui.demo.scenario import (
    FIRST,
    Either,
    Turn,
    Usage,
    load_scenario,
    shipped_scenario,
    shipped_scenarios,
)
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import SetupError
from ralph_tui.store.backup.mirror import copied_at, mirror_of
from ralph_tui.store.project import Project
from tests.harness.projects import events_of, plan_of
from tests.harness.real_processes import Ran, run_ralph
from tests.harness.suite import need

GATE = "uv run python -m unittest"
FILES = load_scenario(shipped_scenario(FIRST)).files
REFUTED = {  # demos of other languages: the task whose first claim is false, and what refutes it
    "npm": ("npm-01", "without which the checks do not pass"),
    "go": ("go-02", "passes lock by value"),
    "rust": ("rust-01", "attempt to subtract with overflow"),
}


def run(command: str, project: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, **demo_environment()}
    return subprocess.run(
        command.split(), cwd=project, env=environment, capture_output=True, text=True, check=False
    )


E = TypeVar("E", bound=ev.Event)


@dataclass(frozen=True)
class Played:
    """A demo that nobody interfered with."""

    project: Path
    ran: Ran
    told: list[ev.Event]


@pytest.mark.long
async def test_the_demo(tmp_path: Path) -> None:
    """One run, because it takes the longest of all."""
    project = tmp_path / "habits"
    words = ["demo", "--headless", "--json", "--speed", "1000", "--keep-at", str(project)]
    ran = await run_ralph(words, tmp_path)
    played = Played(project, ran, events_of(project))
    goes_the_whole_way(played)
    answers_itself_and_says_so(played)
    shows_what_it_promises(played)
    prints_each_event_and_last_the_end(played)
    built_what_works(played)


def test_each_demo_of_another_language_is_played_below() -> None:
    assert [FIRST, *sorted(REFUTED)] == list(shipped_scenarios())


@pytest.mark.long
@pytest.mark.parametrize("name", REFUTED)
async def test_a_demo_of_another_language(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its checks are found by its files, and refute one claim that is true after the repair."""
    if (rustup := Path(pwd.getpwuid(os.getuid()).pw_dir, ".rustup")).exists():
        monkeypatch.setenv("RUSTUP_HOME", str(rustup))
    scenario = load_scenario(shipped_scenario(name))
    need(*(command.split()[0] for command in scenario.needs))
    project = tmp_path / name
    words = ["demo", name, "--headless", "--json", "--speed", "1000", "--keep-at", str(project)]
    ran = await run_ralph(words, tmp_path)
    assert ran.status == 0, ran.stderr
    assert "No script covers" not in ran.stdout
    assert "no script for this task" not in ran.stdout
    played = Played(project, ran, events_of(project))
    task, why = REFUTED[name]
    gates = [event for event in of(played, ev.GateFinished) if event.task_id.startswith(name)]
    refused: list[ev.GateFinished | ev.ReviewFinished] = [one for one in gates if not one.passed]
    refused += [one for one in of(played, ev.ReviewFinished) if one.review.rejected]
    assert [event.task_id for event in refused] == [task]
    accepted = {event.task_id for event in gates if event.passed and not event.reviewed}
    assert accepted == {f"{name}-01", f"{name}-02"}
    assert why in refused[0].model_dump_json()
    assert of(played, ev.ToolDenied) == []
    assert plan_of(project).is_finished


def of(played: Played, kind: type[E]) -> list[E]:
    return [event for event in played.told if isinstance(event, kind)]


def goes_the_whole_way(played: Played) -> None:
    assert played.ran.status == 0, played.ran.stderr
    phases = [(event.phase.value, event.reason) for event in of(played, ev.PhaseChanged)]
    assert [phase for phase, _ in phases] == [
        *("planning", "building", "validation"),
        *("building", "validation"),
    ]
    assert phases[3][1] == "validation found problems"
    assert [event.passed for event in of(played, ev.ValidationFinished)] == [False, True]
    assert "No script covers" not in played.ran.stdout
    assert plan_of(played.project).is_finished


def answers_itself_and_says_so(played: Played) -> None:
    answers = [event.question.answer for event in of(played, ev.QuestionAnswered)]
    assert [(answer.labels, answer.by) for answer in answers if answer] == [
        (("It may still be done",), "demo"),
        (("This month", "The living streak"), "demo"),
        (("Allow once",), "demo"),
    ]
    given = [(event.kind.value, event.approved, event.by) for event in of(played, ev.ApprovalGiven)]
    assert given == [(kind, True, "demo") for kind in ("specs", "plan", "validation")]
    before = [event.text for event in of(played, ev.Notice) if "The demo answers" in event.text]
    assert len(before) == 5, "one for the questions, one for each approval, one for the permission"
    assert [spec.problems() for spec in Project(played.project).read_specs()] == [()]


def shows_what_it_promises(played: Played) -> None:
    gates = [
        (event.task_id, event.passed)
        for event in of(played, ev.GateFinished)
        if event.task_id != "validation"
    ]
    assert gates == [
        ("demo-01", True),
        ("demo-02", True),
        ("demo-03", False),
        ("demo-03", True),
        ("demo-04", True),
        ("fix-r1-01", True),
    ]
    assert ["git commit" in str(event) for event in of(played, ev.ToolDenied)] == [True]
    (allowed,) = of(played, ev.ToolAllowed)
    assert (allowed.part, allowed.by) == ("cp march.log march.backup", "demo")
    assert (played.project / "march.backup").exists()
    assert len(of(played, ev.LearningRecorded)) == 1
    assert len(of(played, ev.HandoffFinished)) == 1
    assert "rank is written and tested" in (played.project / "MEMORY.md").read_text()
    started = of(played, ev.ToolStarted)
    agent = next(event for event in started if event.name == "Agent")
    assert [e.name for e in started if e.parent_id == agent.tool_id] == ["Read"] * 3
    (guidance,) = of(played, ev.InjectionConsumed)
    third = next(e for e in of(played, ev.IterationStarted) if e.task_id == "demo-03")
    assert guidance.iteration == third.iteration
    costs = [event.cost_usd for event in of(played, ev.IterationFinished)]
    assert len(costs) == 10
    assert min(costs) > 0


def prints_each_event_and_last_the_end(played: Played) -> None:
    lines = [json.loads(line) for line in played.ran.stdout.splitlines()]
    assert [line["seq"] for line in lines] == [event.seq for event in played.told]
    assert all(line["type"] and line["time"] for line in lines)
    last = lines[-1]
    assert (last["type"], last["status"], last["exit_code"]) == ("loop_finished", "complete", 0)


def built_what_works(played: Played) -> None:
    report = run("uv run python -m habits march.log --today 2026-03-08", played.project)
    assert report.stdout.splitlines() == [
        "read   ▇▇▇▇▇▇▇························  7 days",
        "walk   ▇▇·▇▇▇▇························  4 days",
        "piano  ··▇···▇························  1 day",
    ]
    assert run("uv run python -m habits /dev/null", played.project).stdout == "No habits yet.\n"


def _seconds(turn: Turn, defaults: Mapping[str, float]) -> float:
    events = stream_events(message(turn, key="k", model="m", usage=Usage()), Usage())
    deltas = sum(1 for event in events if event["type"] == "content_block_delta")
    wait = defaults["wait"] if turn.wait is None else turn.wait
    pace = defaults["pace"] if turn.pace is None else turn.pace
    return wait + pace * deltas


def test_the_demo_is_neither_rushed_nor_slow() -> None:
    """What the CLI and the gate take, some twenty seconds, comes on top."""
    scenario = load_scenario(shipped_scenario(FIRST))
    items = [item for script in scenario.scripts for item in script.turns]
    turns = [item.either[0] if isinstance(item, Either) else item for item in items]
    defaults = {"wait": scenario.wait, "pace": scenario.pace}
    talked = math.fsum(_seconds(turn, defaults) for turn in turns)
    asked = 6 * scenario.person.after
    assert 20 < talked + asked < 35


def test_the_project_begins_green_and_without_a_plan(tmp_path: Path) -> None:
    project = tmp_path / "new" / "demo"
    mirror_of(project).mkdir(parents=True)
    (mirror_of(project) / ".ralph--state.json").write_text("of an earlier demo in this place")
    create_demo_project(FILES, project)
    assert copied_at(project) is None
    assert not (project / "specs").exists()
    green, listed = run(GATE, project), run("git status --short", project)
    assert (green.returncode, listed.returncode) == (0, 0)
    assert "VIRTUAL_ENV" not in green.stderr


def test_a_temporary_project_is_fresh_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    first, second = (create_demo_project(FILES, name="demo") for _ in range(2))
    assert first != second
    assert first.name == "demo", "the screen shows it before the settings are read"
    assert first.parent.name.startswith("ralph-demo-")
    assert (second / ".ralph" / "config.yaml").exists()


def test_without_git_there_is_no_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not (create_demo_project(FILES, tmp_path / "demo") / ".git").exists()


def test_a_directory_in_use_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    for target in (tmp_path, tmp_path / "mine.txt"):
        with pytest.raises(SetupError, match="needs an empty directory"):
            create_demo_project(FILES, target)
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    with pytest.raises(SetupError, match="Cannot write the demo project"):
        create_demo_project(FILES, tmp_path / "mine.txt" / "below")
