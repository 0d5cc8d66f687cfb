"""`ralph steps`: where each step stands, and what a reset needs."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ralph_tui.domain.run.steps import StepLog, StepOutcome, digest_of
from ralph_tui.store.project import Project
from tests.cli.processes import inside

CONFIG = """\
steps:
  setup: {type: agent, prompt: SETUP.md, once: true}
  deps: {type: command, run: uv sync, once: true}
  work: {}
  docs: {type: command, run: make docs, when: task_complete, breaker: {}}
  old: {type: noop, enabled: false}
  commit: {}
"""
NOW = datetime.now(UTC)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    project = Project(tmp_path)
    project.create()
    (tmp_path / ".ralph" / "config.yaml").write_text(CONFIG, encoding="utf-8")
    (tmp_path / "SETUP.md").write_text("Set it up.\n", encoding="utf-8")
    log = StepLog().done_once("setup", digest_of("Set it up.\n"), NOW)
    log = log.done_once("deps", digest_of("uv sync --old"), NOW)
    for _ in range(3):
        failed = StepOutcome.FAILED
        log = log.ended("docs", failed, "exit status 2", NOW, threshold=3, reset_after=86_400)
    project.transact(lambda docs: docs.replacing(steps=log))
    return project


def states(project: Project) -> dict[str, str]:
    listed = json.loads(inside("steps", "--json", cwd=project.root).stdout)
    return {step["name"]: step["state"] for step in listed}


def test_every_state_is_in_words(project: Project) -> None:
    shown = states(project)
    day = f"{NOW:%Y-%m-%d}"
    until = NOW + timedelta(seconds=86_400)
    assert list(shown) == ["setup", "deps", "work", "docs", "old", "commit"]
    assert shown["setup"].startswith(f"done once, {day}")
    assert shown["deps"].endswith(", changed since")
    assert shown["docs"] == f"breaker open until {until:%Y-%m-%d %H:%M:%S} UTC (3 failures)"
    assert (shown["old"], shown["work"], shown["commit"]) == ("off", "", "git.commit is off")
    table = inside("steps", cwd=project.root).stdout
    assert "failed" in next(line for line in table.splitlines() if line.startswith("docs"))


@pytest.mark.parametrize("name", ["setup", "docs"])
def test_a_reset_lets_a_step_run_again(project: Project, name: str) -> None:
    done = inside("steps", "--reset", name, "--reason", "It is new", cwd=project.root)
    assert done.stdout == f"{name} runs again at the next opportunity: It is new\n"
    assert states(project)[name] in ("ready", "ready again: It is new")
    record = project.load().steps.of(name)
    assert (record.done_at, record.open_until, record.failures) == (None, None, 0)
    assert record.reset_reason == "It is new"
