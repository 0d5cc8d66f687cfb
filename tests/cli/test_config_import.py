"""`ralph config import`: what is shown, what is asked, what is written, and that nothing else changes."""

import json
from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.store.project import Project
from tests.cli.processes import inside

WIGGUM = {
    "name": "my-loop",
    "max_loops_per_task": 8,
    "steps": [
        {
            "type": "agent",
            "name": "setup",
            "config": {"prompt_file": "SETUP.md", "marker_file": ".ralph/.ralph_setup_done"},
            "timeout": "20m",
            "max_retries": 1,
            "retry_delay": "30s",
        },
        {"type": "agent", "name": "run-claude", "config": {"model": "sonnet", "timeout": "15m"}},
        {
            "type": "command",
            "name": "docs",
            "continue_on_error": True,
            "circuit_breaker": {"threshold": 3, "reset_after": "1m"},
            "config": {"command": 'make docs && echo "# \\x1b[31mdone"'},
        },
        {"type": "git-commit", "config": {"message_template": "{{task_id}}: {{task}}"}},
        {"type": "slack", "name": "tell"},
    ],
}
MINE = "# mine\nmodels:\n  primary: opus  # the best\n"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    Project(tmp_path).create()
    (tmp_path / ".ralph" / "config.yaml").write_text(MINE, encoding="utf-8")
    (tmp_path / "SETUP.md").write_text("Set it up.\n", encoding="utf-8")
    (tmp_path / "default.json").write_text(json.dumps(WIGGUM), encoding="utf-8")
    return tmp_path


def config(project: Path) -> str:
    return (project / ".ralph" / "config.yaml").read_text(encoding="utf-8")


def test_where_nobody_can_answer_it_is_only_shown(project: Path) -> None:
    done = inside("config", "import", "default.json", cwd=project)
    assert done.returncode == 4
    assert config(project) == MINE
    assert "default.json: steps of Wiggum" in done.stdout
    assert "steps[4]: ralph has no step of type 'slack'" in done.stdout
    assert "name: settings have no name here" in done.stdout
    assert "  steps.docs: make docs && echo " in done.stdout
    assert "\x1b" not in done.stdout
    assert "there is nobody to ask. Give --yes" in done.stderr


def test_steps_are_translated_and_comments_stay(project: Path) -> None:
    assert inside("config", "import", "default.json", "--yes", cwd=project).returncode == 0
    text = config(project)
    assert text.startswith('# mine\nmodels:\n  primary: "sonnet"  # the best\n')
    settings = load_settings(project, environ={}, home=project / "nobody")
    assert list(settings.steps) == ["setup", "work", "docs", "commit"]
    setup, docs = settings.steps["setup"], settings.steps["docs"]
    assert (setup.once, setup.timeout_seconds, setup.retries) == (True, 1200, 1)
    assert docs.run == 'make docs && echo "# \\x1b[31mdone"'
    assert docs.breaker is not None
    assert docs.breaker.reset_after_seconds == 60
    assert settings.limits.max_iterations_per_task == 8
    assert settings.git.commit == "task"
    assert settings.git.message == "{task.id}: {task.title}"
    assert settings.phases.building.iteration_timeout_seconds == 900
    again = json.loads(
        inside("config", "import", "default.json", "--yes", "--json", cwd=project).stdout
    )
    assert again["written"]
    assert config(project) == text, "a second import changes nothing"


def test_a_setup_that_was_done_is_not_done_again(project: Path) -> None:
    (project / ".ralph" / ".ralph_setup_done").touch()
    done = inside("config", "import", "default.json", "--yes", cwd=project)
    assert "Done before, so not run again: setup." in done.stdout
    assert Project(project).load().steps.of("setup").done_at is not None
    listed = json.loads(inside("steps", "--json", cwd=project).stdout)
    assert listed[0]["state"].startswith("done once, ")


def test_a_file_in_the_place_of_the_settings_is_kept_beside_them(project: Path) -> None:
    theirs = "# theirs\ndefaults:\n  max_iterations: 30\nquality_checks:\n  all: just check\n"
    theirs += "completion:\n  promise: '<done/>'\n  consecutive_done_signals: 2\n"
    (project / ".ralph" / "config.yaml").write_text(theirs, encoding="utf-8")
    shown = inside("config", "show", cwd=project)
    assert shown.returncode == 3
    assert "These look like the settings of Ralph Hybrid: `ralph config import " in shown.stderr
    done = inside("config", "import", ".ralph/config.yaml", "--yes", cwd=project)
    assert done.returncode == 0, done.stderr
    assert "  quality_checks.all: just check" in done.stdout
    assert "completion.consecutive_done_signals (line 8): a claim is checked" in done.stdout
    assert (project / ".ralph" / "config.yaml.imported").read_text() == theirs
    building = load_settings(project, environ={}, home=project / "nobody").phases.building
    assert (building.max_iterations, building.backpressure) == (30, ("just check",))
    assert building.promise == "<done/>"
