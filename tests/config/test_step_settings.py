"""`steps:` in the settings: the order is the order, and what cannot be meant is one sentence with its line."""

from pathlib import Path

from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.run.steps import StepWhen


def loaded(root: Path, text: str) -> Settings:
    (root / ".ralph").mkdir()
    (root / ".ralph" / "config.yaml").write_text(text, encoding="utf-8")
    return load_settings(root, environ={}, home=root / "nobody")


def test_the_order_in_the_file_is_the_order(tmp_path: Path) -> None:
    text = """\
steps:
  setup: {type: agent, prompt: SETUP.md, once: true}
  work:
  docs:
    type: command
    run: make docs
    when: task_complete
    breaker: {threshold: 3}
  commit: {}
"""
    steps = loaded(tmp_path, text).steps_in_order
    assert list(steps) == ["setup", "work", "docs", "commit"]
    assert [step.type for step in steps.values()] == ["agent", "work", "command", "git-commit"]
    docs, commit = steps["docs"], steps["commit"]
    assert (docs.runs, commit.runs) == (StepWhen.TASK_COMPLETE, StepWhen.TASK_COMPLETE)
    assert docs.breaker is not None
    assert (docs.breaker.threshold, docs.breaker.reset_after_seconds) == (3, 60)


def test_without_steps_it_is_the_work_and_the_commit(tmp_path: Path) -> None:
    assert list(loaded(tmp_path, "").steps_in_order) == ["work", "commit"]


def test_commits_that_are_wanted_come_last_where_no_step_makes_them(tmp_path: Path) -> None:
    text = "git: {commit: task}\nsteps:\n  work:\n  docs: {type: noop}\n"
    assert list(loaded(tmp_path, text).steps_in_order) == ["work", "docs", "git-commit"]
