"""`ralph guard check`: verdicts without a run."""

import json
from pathlib import Path
from typing import get_args

import pytest

from ralph_tui.cli.commands.guard import PhaseName
from ralph_tui.domain.project_state import Phase
from tests.cli.processes import inside


def test_a_command_is_judged_and_not_run(tmp_path: Path) -> None:
    done = inside("guard", "check", "touch made && git push", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout.startswith("verdict  deny\n")
    assert "git-read-only" in done.stdout
    assert list(tmp_path.iterdir()) == []
    everything = inside("guard", "check", "rm -rf /", cwd=tmp_path).stdout
    assert "files outside the project" in everything


def test_what_the_person_is_asked_about_is_said(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    settings = "safety: {ask_commands: [docker compose up, pytest]}\n"
    (tmp_path / ".ralph/config.yaml").write_text(settings)
    done = inside("guard", "check", "docker compose up -d && pytest", cwd=tmp_path)
    assert done.returncode == 1
    facts = dict(line.split(maxsplit=1) for line in done.stdout.splitlines())
    assert facts["verdict"] == "ask"
    assert facts["command"] == "docker compose up -d && uv run pytest"
    assert facts["rule"] == "ask-first"
    assert facts["reason"].startswith("The person must be asked about `docker compose up`")


@pytest.mark.parametrize(
    ("words", "status", "runs"),
    [
        (("git status",), 0, "git status"),
        (("git", "log", "--oneline"), 0, "git log --oneline"),
        (("pytest", "-k", "two words"), 0, "uv run pytest -k 'two words'"),
        (("pip install x",), 1, None),
    ],
)
def test_words_are_one_command(
    tmp_path: Path, words: tuple[str, ...], status: int, runs: str | None
) -> None:
    done = inside("guard", "check", "--json", *words, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (done.returncode, found["command"]) == (status, runs)


def test_every_phase_can_be_named() -> None:
    assert set(get_args(PhaseName)) == {phase.value for phase in Phase}


def test_the_phase_counts(tmp_path: Path) -> None:
    done = inside("guard", "check", "--phase", "discovery", "ls", cwd=tmp_path)
    assert done.returncode == 1
    assert "The discovery phase does not allow commands" in done.stdout


def test_the_projects_own_settings_count(tmp_path: Path) -> None:
    (tmp_path / ".ralph").mkdir()
    text = "safety: {blocked_commands: [frobnicate]}\n"
    (tmp_path / ".ralph" / "config.yaml").write_text(text, encoding="utf-8")
    assert inside("guard", "check", "frobnicate", cwd=tmp_path).returncode == 1


@pytest.mark.parametrize("command", ["", " \n", "a b;" * 20_000])
def test_a_command_that_is_none_is_denied(tmp_path: Path, command: str) -> None:
    done = inside("guard", "check", "--json", command, cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (found["verdict"], found["rule"]) == ("deny", "unreadable-command")
    assert len(done.stdout) < 2_000, "an answer is bounded"
