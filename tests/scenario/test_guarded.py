"""What text cannot show, on the real CLI: scripts of the agent meet the shims, and secrets are not there."""

import os
import subprocess
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import scenario
from tests.scenario.running import play

pytestmark = pytest.mark.real_cli

TRY = """\
#!/bin/sh
git commit --allow-empty -m sneaky
echo "commit: $?"
git branch sneaky
echo "branch: $?"
pip install left-pad
echo "pip: $?"
git status --short >/dev/null
echo "status: $?"
uv run python -c 'print("uv works")'
echo "secrets: [$AWS_SECRET_ACCESS_KEY$PLAIN_SETTING$ANTHROPIC_API_KEY]"
env | grep -c AWS_SECRET_ACCESS_KEY
"""

SCRIPT = scenario(
    """
    - name: tries it in a script
      task: a
      turns:
        - bash: sh try.sh
        - bash: echo "direct [$AWS_SECRET_ACCESS_KEY][$GIT_DIR][$ANTHROPIC_API_KEY]"; type git pip
        - ralph: {mark_task_complete: {task_id: a, verification_notes: Done.}}
        - when: {last_result: "ACCEPTED:"}
          say: Done.
    """
)


def repository(project: Path) -> None:
    identity = ["-c", "user.name=me", "-c", "user.email=me@example.org"]
    for command in (
        ["init", "-q", "-b", "main"],
        [*identity, "commit", "-q", "--allow-empty", "-m", "1"],
    ):
        subprocess.run(["git", *command], cwd=project, check=True)


def log(project: Path) -> str:
    command = ["git", "log", "--all", "--format=%s %D"]
    return subprocess.run(command, cwd=project, check=True, capture_output=True, text=True).stdout


async def test_a_script_of_the_agent_meets_the_shims_and_sees_no_secrets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated: Path
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2-hunter2")
    monkeypatch.setenv("PLAIN_SETTING", "plain")
    # As many people's shells do, this one puts other directories first.
    (isolated / ".bashrc").write_text("export PATH=/usr/bin:$PATH\n")
    in_gate = 'test -z "$AWS_SECRET_ACCESS_KEY" && ! git commit --allow-empty -m gate'
    project = make_project(tmp_path, [task("a")], [in_gate], files={"try.sh": TRY})
    repository(project)
    async with serving(SCRIPT) as server:
        run = await play(project, server)
    script, direct = [e.output for e in run.of(ev.ToolFinished) if e.name == "Bash"]
    assert "commit: 1" in script
    assert "git-read-only" in script
    assert "branch: 1" in script
    assert "pip: 1" in script
    assert "uv add" in script
    assert "status: 0" in script
    assert "uv works" in script
    assert "secrets: [plain]" in script
    assert script.rstrip().endswith("\n0")
    assert "direct [][][]" in direct
    assert "guard/shims/git" in direct
    assert log(project) == "1 HEAD -> main\n"
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    assert os.environ["AWS_SECRET_ACCESS_KEY"], "ralph keeps its own environment"
