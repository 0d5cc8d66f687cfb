"""A run that is killed between a completion and its commit leaves the commit to the next run, which makes it once."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.projects import git, task_of

FEWEST_STEPS = 8
"""Git commands and writes of one commit; it makes more."""


@pytest.mark.long
def test_a_commit_that_was_killed_at_any_step_is_made_once(tmp_path: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "tests.faults.dying_commits", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    steps = [json.loads(line) for line in ran.stdout.splitlines()]
    assert len(steps) > FEWEST_STEPS
    assert not steps[-1]["died"]
    found = 0
    for step in steps:
        project = Path(step["project"])
        assert git(project, "log", "--format=%s").splitlines() == ["feat: a - Do a", "Begin"], step
        assert git(project, "status", "--porcelain") == "", step
        assert git(project, "show", "--name-only", "--format=", "HEAD").split() == [
            "kept.txt",
            "new.txt",
        ]
        made = task_of(project, "a").commit
        assert made is not None
        assert (made.pending, made.hash) == (False, git(project, "rev-parse", "HEAD").strip())
        found += any("already committed" in text for text in step["notices"])
    assert found, "one died after the branch moved and before that was written down"
