"""What the words of a command mean to the run that they start; nothing is run."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from ralph_tui.domain.documents.questions import GivenAnswers
from ralph_tui.domain.errors import RalphError
from ralph_tui.domain.project_state import Phase
from ralph_tui.engine.control.request import OwnPrompt, RunRequest
from ralph_tui.store.project import Project
from tests.cli.processes import inside

Started = tuple[Mapping[str, object], RunRequest]


@pytest.fixture
def started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Started]:
    Project(tmp_path).create()
    found: list[Started] = []

    def launch(root: Path, overrides: Mapping[str, object], request: RunRequest) -> None:
        found.append(({k: v for k, v in overrides.items() if v is not None}, request))
        raise RalphError("enough")

    monkeypatch.setattr("ralph_tui.cli.composition.launch_project", launch)
    return found


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        (["run"], RunRequest()),
        (["run", "A", "tracker"], RunRequest(text="A tracker")),
        (["A tracker", "--yes"], RunRequest(text="A tracker", assume_yes=True)),
        (["discover", "A tracker"], RunRequest(text="A tracker", only=Phase.DISCOVERY)),
        (["plan"], RunRequest(only=Phase.PLANNING)),
        (["plan", "smaller"], RunRequest(text="smaller", only=Phase.PLANNING)),
        (["regenerate-plan", "sqlite"], RunRequest(text="sqlite", only=Phase.PLANNING)),
        (["build", "--no-input"], RunRequest(only=Phase.BUILDING, no_input=True)),
        (["validate", "-y"], RunRequest(only=Phase.VALIDATION, assume_yes=True)),
        (
            ["run", "--answers", "answers.yaml"],
            RunRequest(answers=GivenAnswers(answers={"Storage": "2"})),
        ),
    ],
)
def test_a_command_is_a_request(
    tmp_path: Path, started: list[Started], line: list[str], asked: RunRequest
) -> None:
    (tmp_path / "answers.yaml").write_text("Storage: 2\n", encoding="utf-8")
    assert inside(*line, "--headless", cwd=tmp_path).returncode == 3
    assert started == [({}, asked)]


def test_a_plan_is_made_anew_without_being_told_why(tmp_path: Path, started: list[Started]) -> None:
    inside("regenerate-plan", "--headless", cwd=tmp_path)
    assert started[0][1].text.startswith("Make the plan again")


@pytest.mark.parametrize(
    ("command", "key"),
    [
        ("run", "models.primary"),
        ("build", "models.primary"),
        ("validate", "models.primary"),
        ("discover", "models.planning"),
        ("plan", "models.planning"),
    ],
)
def test_options_are_settings(
    tmp_path: Path, started: list[Started], command: str, key: str
) -> None:
    words = ("--model", "haiku", "--max-cost", "5", "-n", "3", "-t", "1.5", "-r", "40", "--json")
    inside(command, *words, cwd=tmp_path)
    assert started[0][0] == {
        key: "haiku",
        "safety.cost_limits.per_session": 5.0,
        "phases.building.max_iterations": 3,
        "phases.building.iteration_timeout_seconds": 90.0,
        "limits.rate_limit_per_hour": 40,
    }


def test_what_a_run_that_builds_can_be_told(tmp_path: Path, started: list[Started]) -> None:
    (tmp_path / "own.md").write_text("Build {{task.id}}.\n", encoding="utf-8")
    inside("build", "--once", "-p", "own.md", "--reset-circuit", "-v", "--headless", cwd=tmp_path)
    own = OwnPrompt("Build {{task.id}}.\n", "own.md")
    wanted = RunRequest(only=Phase.BUILDING, once=True, prompt=own, reset_breaker=True)
    assert started == [({}, wanted)]
