"""`steps:` in the settings: the order is the order, and what cannot be meant is one sentence with its line."""

from pathlib import Path

import pytest

from ralph_tui.config.load import load_settings
from ralph_tui.config.settings import Settings
from ralph_tui.domain.errors import ConfigError
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


@pytest.mark.parametrize(
    ("steps", "said"),
    [
        ("  a: {type: noop}", "1: steps must hold the step `work: {}` once"),
        ("  work:\n  work:", "3: steps.work is set twice"),
        ("  work: {retries: 1}", "2: steps.work: work has no settings here"),
        ("  w: {type: work}\n  work:", "1: steps must have one step of type work"),
        ("  work:\n  a: {}", "1: steps must give 'a' a type: agent, command, git-commit"),
        ("  work:\n  a: {type: command}", "3: steps.a: a step of type command needs run"),
        ("  work:\n  a: {type: agent}", "3: steps.a: a step of type agent needs prompt"),
        ("  work:\n  a: {type: noop, run: x}", "3: steps.a: run belongs to steps of type command"),
        ("  work:\n  a: {type: noop, options: {x: 1}}", "3: steps.a: options belong to types"),
        ("  work:\n  commit: {breaker: {}}", "3: steps.commit: a commit has no breaker"),
        ("  a: {type: noop, when: task_complete}\n  work:", "1: steps must have 'a' after work"),
        ("  work:\n  a b: {type: noop}", "1: steps cannot have a step 'a b'"),
        ("  work:\n  a: {type: noop, wen: always}", "3: unknown setting 'steps.a.wen'"),
        (
            "  work:\n  a: {type: noop, breaker: {reset_after: 1}}",
            "3: unknown setting 'steps.a.breaker.reset_after'",
        ),
        ("  work:\n  a: {type: noop, retries: 99}", "3: steps.a.retries: "),
        ("  work:\n  a: {type: noop, timeout_seconds: 0}", "3: steps.a.timeout_seconds: "),
        ("  work:\n  a: 3", "3: steps.a: must be `name: value` lines, not '3'"),
        ("  - work", "1: steps must be `name: value` lines"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(
    tmp_path: Path, steps: str, said: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        loaded(tmp_path, f"steps:\n{steps}\n")
    assert f"config.yaml:{said}" in caught.value.message
    assert caught.value.hint
