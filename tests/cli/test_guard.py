"""`ralph guard check`: verdicts without a run."""

import json
import os
import subprocess
import sys
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


def test_a_stream_of_commands_gets_a_stream_of_verdicts(tmp_path: Path) -> None:
    lines = '{"command": "git push"}\nnonsense\n{"command": "ls"}\n'
    done = inside("guard", "check", "--stdin", cwd=tmp_path, stdin=lines)
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [f["verdict"] for f in found] == ["deny", "deny", "allow"]
    assert done.returncode == 0


def test_bytes_that_are_no_text_in_any_locale_get_their_answer(tmp_path: Path) -> None:
    strict = {**os.environ, "PYTHONIOENCODING": "utf-8:strict"}
    done = subprocess.run(
        [sys.executable, "-m", "ralph_tui", "guard", "check", "--stdin"],
        input=b'{"command": "ls"}\n{"command": "\xff"}\n\n{"command": "git push"}',
        cwd=tmp_path,
        env=strict,
        capture_output=True,
        check=False,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert [f["verdict"] for f in found] == ["allow", "deny", "deny", "deny"]
    assert [f["rule"] for f in found[1:]] == ["bad-input", "bad-input", "git-read-only"]
    assert (done.stderr, done.returncode) == (b"", 0)


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


@pytest.mark.parametrize("words", [(), ("--stdin", "ls")])
def test_one_of_the_two_must_be_given(tmp_path: Path, words: tuple[str, ...]) -> None:
    done = inside("guard", "check", *words, cwd=tmp_path)
    assert done.returncode == 3
    assert "either a command or --stdin" in done.stderr
