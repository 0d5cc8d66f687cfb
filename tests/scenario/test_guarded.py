"""What text cannot show, on the real CLI: what an agent may end. See `runs/guarded.txt` for the rest."""

import json
import subprocess
from pathlib import Path

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.real_processes import PYTHON_HERE
from tests.harness.scenarios import scenario
from tests.scenario.running import play


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


REACHES = {
    "kill -STOP $PPID": "ralph-signals",
    "pkill -URG -f mark_task_complete": "ralph-signals",  # words of the prompt, which the CLI is given
    "kill -URG $(pgrep -f ralph)": "ralph-signals",
    "uv pip install left-pad": "uv-only",
    "ralph mcp < /dev/null": "ralph-steering",
}
"""What would end the loop or change its state, by the rule that refuses it. Patterns reach other runs, so URG: it ends none."""

HELLO = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
SERVES = f'echo \'{HELLO}\' | {PYTHON_HERE} -c \'import runpy, sys; sys.argv[1:] = ["mcp"]; runpy.run_module("ralph_tui", run_name="__main__")\''
"""A script is a way around the guard, which reads commands: there the process itself is refused."""

ENDS_ITS_OWN = scenario(
    f"""
    - name: ends ralph, then its own server
      task: a
      turns:
        - tools: {json.dumps([{"name": "Bash", "input": {"command": c}} for c in REACHES])}
        - bash: "sh try.sh; echo status: $?"
        - bash: sleep 600 & kill $!; wait $!; echo "ended with $?"
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Done.}}}}
          write: {{path: done.txt, content: done}}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done.
    """
)


async def test_an_agent_ends_what_it_started_but_neither_ends_nor_steers_ralph(
    tmp_path: Path,
) -> None:
    files = {"try.sh": SERVES}
    project = make_project(tmp_path, [task("a")], ["test -f done.txt"], files=files)
    async with serving(ENDS_ITS_OWN) as server:
        run = await play(project, server)
    assert [e.rule for e in run.of(ev.ToolDenied)] == list(REACHES.values())
    assert all(e.instead for e in run.of(ev.ToolDenied))
    ended = [e.output for e in run.of(ev.ToolFinished) if "ended with" in e.output]
    assert ended == ["ended with 143"]
    (tried,) = [e.output for e in run.of(ev.ToolFinished) if "status:" in e.output]
    assert "may not change its state" in tried
    assert "status: 3" in tried
    assert "jsonrpc" not in tried
    assert task_of(project, "a").status is TaskStatus.COMPLETE
