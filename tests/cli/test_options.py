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


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("build -t 0", "--timeout takes minutes above 0, not 0."),
        ("build -t nan", "--timeout takes minutes above 0, not nan."),
        ("build -p none.md", "The prompt file none.md cannot be read: No such file or directory."),
        ("build -p empty.md", "The prompt file empty.md is empty."),
        ("build -p long.md", "The prompt file long.md is longer than 100,000 characters."),
        ("discover --once", "No such option: --once"),
        ("status --jsn", "No such option: --jsn. Did you mean --json?"),
        ("build --max-cost lots", "Invalid value for '--max-cost': it must be a number."),
        ("tasks extra", "'extra' does not belong here."),
        ("attach now please", "'now please' does not belong here; put a text of several words"),
        ("-n 3", "Put -n after the command: ralph run -n"),
        ("run --dangerously-skip-permissions", "There is no --dangerously-skip-permissions"),
        ("--dangerously-skip-permissions", "Ralph judges each call itself"),
        ("build --allowed-tools=Bash", "phases.building.without_tools removes some of them"),
        ("help stat", "Did you mean 'status'?"),
    ],
)
def test_wrong_words_are_answered_in_a_sentence(
    tmp_path: Path, started: list[Started], line: str, said: str
) -> None:
    (tmp_path / "empty.md").write_text(" \n", encoding="utf-8")
    (tmp_path / "long.md").write_text("x" * 100_001, encoding="utf-8")
    ran = inside(*line.split(), cwd=tmp_path)
    assert (ran.returncode, started) == (3, [])
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr


def test_help_is_that_of_the_command(tmp_path: Path) -> None:
    asked, own = (
        inside(*words, cwd=tmp_path)
        for words in (("help", "config", "set"), ("config", "set", "-h"))
    )
    assert (asked.returncode, asked.stdout) == (0, own.stdout)
    assert "ralph config set" in asked.stdout
