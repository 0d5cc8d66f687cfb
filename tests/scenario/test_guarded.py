"""What text cannot show, on the real CLI: scripts of the agent meet the shims, and secrets are not there."""

import json
import os
import subprocess
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.real_processes import PYTHON_HERE
from tests.harness.scenarios import scenario
from tests.scenario.running import play

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
          write: {path: done.txt, content: done}
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


def shell(command: str, project: Path) -> None:
    subprocess.run(command, shell=True, cwd=project, check=True)


def log(project: Path) -> str:
    command = ["git", "log", "--all", "--format=%s %D"]
    return subprocess.run(command, cwd=project, check=True, capture_output=True, text=True).stdout


@pytest.mark.costly
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
    assert "guard/sandbox/shims/git" in direct
    assert log(project) == "1 HEAD -> main\n"
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    assert os.environ["AWS_SECRET_ACCESS_KEY"], "ralph keeps its own environment"


REACHES = {
    "kill -STOP $PPID": "ralph-signals",
    "pkill -f mark_task_complete": "ralph-signals",  # words of the prompt, which the CLI is given
    "kill $(pgrep -f ralph)": "ralph-signals",
    "uv pip install left-pad": "uv-only",
    "ralph mcp < /dev/null": "ralph-steering",
}
"""What would end the loop or change its state, by the rule that refuses it."""

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


LEAKS = """\
#!/bin/sh
echo "key=sk-ant-api03-abcdefghijklmnopqrstuvwx"
echo "Authorization: Bearer abcdefgh12345678"
echo "postgres://me:pa55word@db/x AKIAIOSFODNN7EXAMPLE ghp_abcdefghijklmnopqrstuvwxyz0123"
echo "from a file: correct-horse-battery"
"""
LEAKED = ("abcdefghijklmno", "abcdefgh12345678", "pa55word", "AKIAIO", "correct-horse")

TELLS = scenario(
    """
    - name: tells secrets everywhere
      task: a
      turns:
        - say: The key is sk-ant-api03-abcdefghijklmnopqrstuvwx, or correct-horse-battery.
          bash: sh leak.sh; echo sk-ant-api03-abcdefghijklmnopqrstuvwx
        - ralph: {append_learning: {learning: Use ghp_abcdefghijklmnopqrstuvwxyz0123, category: build}}
        - ralph: {mark_task_complete: {task_id: a, verification_notes: AKIAIOSFODNN7EXAMPLE works}}
          write: {path: done.txt, content: done}
        - when: {last_result: "ACCEPTED:"}
          say: Done.
    """
)


@pytest.mark.long
async def test_what_a_script_tells_of_secrets_is_kept_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_TOKEN", "correct-horse-battery")
    gate = ["sh leak.sh", "echo sk-ant-api03-abcdefghijklmnopqrstuvwx"]
    project = make_project(tmp_path, [task("a")], gate, files={"leak.sh": LEAKS})
    async with serving(TELLS) as server:
        run = await play(project, server)
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    told = "\n".join(event.model_dump_json() for event in run.events)
    kept = {
        path: path.read_text(errors="replace")
        for path in (project / ".ralph").rglob("*")
        if path.is_file() and path.name != "config.yaml"  # the person wrote that themselves
    }
    kept[project / "progress.txt"] = (project / "progress.txt").read_text()
    assert "[redacted]" in told
    assert "[redacted]" in kept[project / ".ralph" / "events.jsonl"]
    for secret in LEAKED:
        assert secret not in told
        assert [path.name for path, text in kept.items() if secret in text] == []
    files = [
        path for path in kept if path.parent != project and path.name != "implementation_plan.json"
    ]
    assert [p.name for p in files if p.stat().st_mode & 0o077] == []
    assert (project / ".ralph" / ".gitignore").read_text() == "*\n"
