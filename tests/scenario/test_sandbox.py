"""The operating system's sandbox, for real: what no reading of a command can hold, it holds.

Skipped where it does not work: without bubblewrap and socat, or in a container without user namespaces.
"""

import asyncio
import json
import os
import shlex
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.plan import TaskStatus
from ralph_tui.guard.sandbox import why_no_sandbox
from tests.harness.model import serving
from tests.harness.programs import path_without
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import Run, play
from tests.scenario.test_guarded import log, repository

pytestmark = pytest.mark.real_cli

needs_sandbox = pytest.mark.skipif(
    bool(why_no_sandbox()), reason=f"no sandbox here: {why_no_sandbox()}"
)

GIT = "/usr/bin/env -i PATH=/usr/bin:/bin git -c user.name=x -c user.email=x"

TRIES = f"""\
#!/bin/sh
{GIT} commit -q --allow-empty -m sly; echo "script: $?"
{sys.executable} write.py .git/written; echo "python: $?"
{sys.executable} write.py .ralph/state.json; echo "state: $?"
make -s commit; echo "make: $?"
setsid sh -c 'sleep 0.2; {GIT} commit -q --allow-empty -m later; echo "detached: $?" > later.txt' &
cat "$HOME/.ssh/id_ed25519"; echo "key: $?"
echo x > "$HOME/outside.txt"; echo "outside: $?"
{sys.executable} reach.py; echo "network: $?"
while [ ! -e later.txt ]; do sleep 0.02; done; cat later.txt
"""
REACH = "import socket\nsocket.create_connection(('127.0.0.1', int(open('port').read())), 5)\n"
WRITE = "import sys\nopen(sys.argv[1], 'w').write('sly')\n"
MAKEFILE = f"commit:\n\t{GIT} commit -q --allow-empty -m made\n"

SCRIPT = scenario(
    """
    - name: tries what no text shows
      task: a
      turns:
        - bash: sh try.sh
        - bash: git status --short; git log --oneline
        - write: [{path: test_one.py, content: "def test_one():\\n    assert 1 + 1 == 2\\n"}]
        - bash: uv run pytest -q
        - ralph: {mark_task_complete: {task_id: a, verification_notes: Done.}}
        - when: {last_result: "ACCEPTED:"}
          say: Done.
    """
)
SANDBOX = {"safety": {"sandbox": "required"}}


def outputs(run: Run) -> list[str]:
    return [e.output for e in run.of(ev.ToolFinished) if e.name == "Bash"]


@needs_sandbox
@pytest.mark.long
async def test_what_no_text_shows_is_held_and_work_goes_on(tmp_path: Path, isolated: Path) -> None:
    (isolated / ".ssh").mkdir()
    (isolated / ".ssh" / "id_ed25519").write_text("the key itself")
    files = {"try.sh": TRIES, "write.py": WRITE, "Makefile": MAKEFILE, "reach.py": REACH}
    project = make_project(tmp_path, [task("a")], config=SANDBOX, files=files)
    repository(project)
    async with serving(SCRIPT) as server:
        (project / "port").write_text(server.url.rpartition(":")[2])
        await asyncio.to_thread(
            subprocess.run, [sys.executable, "reach.py"], cwd=project, check=True
        )
        run = await play(project, server)
    tried, looked, tested = outputs(run)
    for what in ("script", "python", "state", "make", "detached", "key", "outside", "network"):
        assert f"{what}: " in tried, tried
        assert f"{what}: 0" not in tried, tried
    assert "Read-only file system" in tried
    assert "the key itself" not in tried
    assert log(project) == "1 HEAD -> main\n"
    assert not (project / ".git" / "written").exists()
    assert not (isolated / "outside.txt").exists()
    assert looked.endswith(" 1"), "git can still be read"
    assert "1 passed" in tested
    assert run.end.exit_code == 0, run.end
    assert task_of(project, "a").status is TaskStatus.COMPLETE
    assert [n.text for n in run.of(ev.Notice) if n.level != "info"] == []
    assert not (project / ".claude").exists(), "nothing of the sandbox stays"


@needs_sandbox
@pytest.mark.long
async def test_a_sandbox_that_is_off_holds_nothing(tmp_path: Path) -> None:
    """So that the test above is about the sandbox and not about something else."""
    project = make_project(tmp_path, [task("a")], files={"write.py": WRITE})
    repository(project)
    command = shlex.join([sys.executable, "write.py", ".git/written"])
    script = f"""
    - name: writes
      task: a
      turns:
        - write: [{{path: try.sh, content: {command!r}}}]
        - bash: sh try.sh
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Done.}}}}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done.
    """
    async with serving(scenario(script)) as server:
        await play(project, server)
    assert (project / ".git" / "written").read_text() == "sly"


CHECK = """\
import os, pathlib, socket, subprocess, sys
here = pathlib.Path(__file__).parent
def key(): print(pathlib.Path(os.environ["HOME"], ".ssh", "id_rsa").read_text())
def outside(): pathlib.Path(os.environ["HOME"], "outside.txt").write_text("sly")
def network(): socket.create_connection(("127.0.0.1", int((here / "port").read_text())), 5)
def token():
    environs = pathlib.Path("/proc").glob("[0-9]*/environ")
    assert any(b"TOKEN=of another" in p.read_bytes() for p in environs if os.access(p, os.R_OK))
def ralph(): pathlib.Path(here, ".ralph", "state.json").write_text("sly")
def git(): pathlib.Path(here, ".git", "hooks", "post-checkout").write_text("sly")
def project(): pathlib.Path(here, "made.txt").write_text("mine")
for attempt in (key, outside, network, token, ralph, git, project):
    try:
        attempt()
    except (OSError, AssertionError):
        print(f"{attempt.__name__}: held")
    else:
        print(f"{attempt.__name__}: done")
"""


@contextmanager
def others() -> Iterator[int]:
    """Another process that holds a token, and a listener on loopback; its port."""
    sleeper = subprocess.Popen(["sleep", "300"], env={**os.environ, "TOKEN": "of another"})
    try:
        with socket.create_server(("127.0.0.1", 0)) as listener:
            yield listener.getsockname()[1]
    finally:
        sleeper.kill()
        sleeper.wait()


ATTEMPTS = ("key", "outside", "network", "token", "ralph", "git")


@needs_sandbox
@pytest.mark.parametrize("mode", ["required", pytest.param("off", marks=pytest.mark.long)])
async def test_a_check_the_agent_wrote_reaches_nothing_outside(
    tmp_path: Path, isolated: Path, mode: str
) -> None:
    (isolated / ".ssh").mkdir()
    (isolated / ".ssh" / "id_rsa").write_text("the key itself")
    check, opened = "uv run python check.py", "uv run python check.py again"
    script = f"""
    - name: writes its own check
      task: a
      turns:
        - write: [{{path: check.py, content: {json.dumps(CHECK)}}}]
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Done.}}}}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done.
    """
    with others() as port:
        exceptions = {opened: {"ports": [port]}}
        project = make_project(
            tmp_path,
            [task("a", verification_criteria=[{"command": check}, {"command": opened}])],
            config={"safety": {"sandbox": mode, "sandbox_exceptions": exceptions}},
            files={"port": str(port)},
        )
        repository(project)
        async with serving(scenario(script)) as server:
            run = await play(project, server)
    assert run.end.exit_code == 0, run.end
    (gate,) = run.of(ev.GateFinished)
    first, second = (r.tail for r in gate.receipts if r.command.startswith(check))
    assert "project: done" in first
    state = "held" if mode == "required" else "done"
    for attempt in ATTEMPTS:
        assert f"{attempt}: {state}" in first, first
        assert f"{attempt}: {'done' if attempt == 'network' else state}" in second, second
    assert ("the key itself" in first) is (mode == "off")
    assert (isolated / "outside.txt").exists() is (mode == "off")


async def test_without_a_sandbox_the_screen_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path_without(tmp_path / "bin", "bwrap", "socat"))
    project = make_project(tmp_path, [task("a")], config={"safety": {"sandbox": "auto"}})
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end
    (warning,) = [n.text for n in run.of(ev.Notice) if n.level == "warning"]
    assert "No sandbox holds the agent's commands" in warning


async def test_a_required_sandbox_that_is_missing_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path_without(tmp_path / "bin", "bwrap", "socat"))
    project = make_project(tmp_path, [task("a")], config=SANDBOX)
    async with serving(scenario(finishes("a"))) as server:
        with pytest.raises(SetupError, match=r"required .* does not work here"):
            await play(project, server)
        assert list(server.requests) == []
