"""What tab offers: in the real bash, and as text for the other shells."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.projects import make_project, task

HOSTILE = [
    "$(touch bad)",
    "`touch bad`",
    "a b",
    "*",
    "-rf",
    "x;touch bad",
    "a'b",
    'a"b',
    "new\nline",
]

_ASK = """
ralph() { "$PYTHON" -m ralph_tui "$@"; }
export -f ralph
eval "$(ralph --show-completion bash)"
env() { while [[ $1 == *=* ]]; do local -x "$1"; shift; done; "$@"; }
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
_ralph_completion ralph
printf '%s\\n' "${COMPREPLY[@]}"
"""


def asked(cwd: Path, *words: str) -> list[str]:
    command = ["bash", "--norc", "-c", _ASK, "bash", *words]
    env = {
        **os.environ,
        "PYTHON": sys.executable,
        "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1",
    }
    done = subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.stderr == ""
    return done.stdout.split("\n")[:-1]


def told(cwd: Path, shell: str, line: str) -> str:
    env = {**os.environ, "_RALPH_COMPLETE": f"complete_{shell}", "_TYPER_COMPLETE_ARGS": line}
    env["_TYPER_COMPLETE_FISH_ACTION"] = "get-args"
    command = [sys.executable, "-m", "ralph_tui"]
    return subprocess.run(
        command, cwd=cwd, env=env, capture_output=True, text=True, check=False
    ).stdout


@pytest.fixture
def project(tmp_path: Path) -> Path:
    titles = {"description": "Fix $(touch bad) `touch bad` 'it' [now]; and more"}
    return make_project(
        tmp_path,
        [
            task("task-1", **titles),
            task("task-2", status="blocked"),
            task("done-1", status="complete"),
            *(task(odd) for odd in HOSTILE),
        ],
    )


def test_bash_is_offered_ids_that_are_words_and_nothing_else(project: Path) -> None:
    assert asked(project, "ralph", "skip", "") == ["task-1", "task-2"]
    assert not (project / "bad").exists()


@pytest.mark.long
def test_each_argument_offers_what_it_could_be(project: Path, tmp_path: Path) -> None:
    assert asked(project, "ralph", "demo", "") == ["python", "go", "npm", "rust"]
    assert asked(project, "ralph", "sk") == ["skip"]
    assert asked(project, "ralph", "retry", "") == ["task-2"]
    assert asked(project, "ralph", "edit", "task-1", "--after", "task-") == ["task-1", "task-2"]
    assert asked(project, "ralph", "config", "set", "safety.ask_c") == ["safety.ask_commands"]
    assert asked(tmp_path, "ralph", "skip", "-C", str(project), "task-1") == ["task-1"]
    assert asked(tmp_path, "ralph", "skip", "") == [""]
    plan = project / ".ralph" / "implementation_plan.json"
    plan.write_text('{"tasks": [', encoding="utf-8")
    assert asked(project, "ralph", "skip", "") == [""]
    assert plan.read_text(encoding="utf-8") == '{"tasks": [', "only looked at"


@pytest.mark.parametrize("shell", ["zsh", "fish"])
@pytest.mark.long
def test_a_title_is_shown_beside_its_id_with_no_sign_that_a_shell_evaluates(
    project: Path, shell: str
) -> None:
    said = told(project, shell, "ralph skip ")
    assert "task-1" in said
    assert "Fix touch bad" in said
    assert not set("$`;") & set(said)
    assert "-rf" not in said
