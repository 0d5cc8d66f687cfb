"""Every command in a code block or a command table of the pages runs."""

import os
import shlex
from pathlib import Path

import pytest

from ralph_tui.cli import composition
from tests.cli.processes import REPOSITORY, inside
from tests.cli.recorded import recorded_launch
from tests.cli.shown import (
    Shown,
    elsewhere,
    feature_of,
    in_blocks,
    make_project,
    prepared,
    scene_of,
)

COMMANDS = in_blocks()
ISSUE = '{"number": 12, "title": "Export", "body": "To CSV.", "url": "https://host/12"}'


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, no_layers: None) -> dict[str, str]:
    """The variables of a person with a project in `~/code/app`; a loop replays a recorded run."""
    monkeypatch.setattr(composition, "launch_project", lambda *_, **__: recorded_launch("whole"))
    root = tmp_path / "code/app"
    root.mkdir(parents=True)
    gh = tmp_path / "bin/gh"
    gh.parent.mkdir()
    gh.write_text(f"#!/bin/sh\necho '{ISSUE}'\n", encoding="utf-8")
    gh.chmod(0o755)
    return {
        "HOME": str(tmp_path),
        "XDG_STATE_HOME": str(tmp_path / "state"),
        "PATH": f"{gh.parent}{os.pathsep}{os.environ['PATH']}",
        "ANTHROPIC_API_KEY": "x",
        "ANTHROPIC_BASE_URL": "http://127.0.0.1:9",
    }


@pytest.mark.parametrize("command", [c for c in COMMANDS if not elsewhere(c)], ids=str)
def test_every_shown_command_runs(command: Shown, home: dict[str, str], tmp_path: Path) -> None:
    root = tmp_path / "code/app"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", home["HOME"])
        patch.setenv("XDG_STATE_HOME", home["XDG_STATE_HOME"])
        make_project(root)
    scene = scene_of(command)
    stdin = (root / command.stdin).read_text(encoding="utf-8") if command.stdin else scene.stdin
    words = [word.replace("~/", f"{tmp_path}/", 1) for word in command.words]
    with prepared(root, scene):
        feature = feature_of(command)
        for line in (*([f"feature new {feature}"] if feature else []), *scene.before):
            done = inside(*shlex.split(line), cwd=root, environ=home)
            assert done.returncode == 0, done.stderr
        done = inside(*words, cwd=root, stdin=stdin, environ=home)
    assert done.returncode == scene.status, done.stderr
    assert scene.says in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


HYBRID = """
    init --from-issue -f run archive help status prd.json progress.txt specs/ passes jq branch chooses
    --max-iterations --timeout --rate-limit --prompt --verbose --no-archive --reset-circuit --dry-run
    --dangerously-skip-permissions <promise>COMPLETE</promise> no_progress_threshold
    same_error_threshold consecutive_done_signals consecutive_test_loops allowed_tools quality_checks
    branch.auto_create branch.prefix Five-hour Preflight 130
"""
WIGGUM = """
    prd.json requirements.md default.json agent command git-commit readme-check noop timeout max_retries
    retry_delay continue_on_error circuit_breaker SETUP_PROMPT.md LOOP_PROMPT.md init add --once --model
    max_loops_per_task stuck prd_archive.json learnings.md compacts run_state.json aggregate.json Tokens
    ${ENV_VAR} .ralph_lock .ralph/logs nested Opus
"""


def test_the_tables_name_what_the_two_tools_have_each_with_a_command() -> None:
    page = (REPOSITORY / "docs/from-hybrid-and-wiggum.md").read_text(encoding="utf-8")
    hybrid, wiggum = page.split("## From Wiggum")
    assert [word for word in HYBRID.split() if word not in hybrid] == []
    assert [word for word in WIGGUM.split() if word not in wiggum] == []
    rows = [line for line in page.splitlines() if line.startswith("| ")]
    assert all(
        "`ralph " in row.rsplit("|", 2)[1]
        for row in rows
        if row.count("---") == 0 and "| Command |" not in row
    )
