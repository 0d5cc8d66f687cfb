"""The operating system's sandbox, for real: what no reading of a command can hold, it holds.

Skipped where it does not work: without bubblewrap and socat, or in a container without user namespaces.
"""

import asyncio
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.plan import TaskStatus
from ralph_tui.guard.sandbox import why_no_sandbox
from tests.harness.model import serving
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
CONFTEST = "open('.git/hooks/post-checkout', 'w').write('sly')\n"
"""Run by the gate, and written by an agent for all it knows."""

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


@needs_sandbox
@pytest.mark.parametrize("mode", ["auto", pytest.param("off", marks=pytest.mark.long)])
@pytest.mark.long
async def test_a_test_of_the_agent_cannot_write_to_git_in_the_gate(
    tmp_path: Path, mode: str
) -> None:
    project = make_project(
        tmp_path,
        [task("a")],
        ["uv run python conftest.py || true"],
        {"safety": {"sandbox": mode}},
        {"conftest.py": CONFTEST},
    )
    repository(project)
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    (gate,) = run.of(ev.GateFinished)
    written = (project / ".git" / "hooks" / "post-checkout").exists()
    assert written is (mode == "off")
    assert ("Read-only file system" in gate.receipts[0].tail) is (mode == "auto")


def only(names: tuple[str, ...], directory: Path) -> str:
    """A PATH with nothing but these programs."""
    directory.mkdir()
    for name in names:
        found = subprocess.run(["which", name], capture_output=True, text=True, check=True)
        (directory / name).symlink_to(found.stdout.strip())
    return str(directory)


async def test_without_a_sandbox_the_screen_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = ("uv", "git", "bash", "sh", "env", "cat", "dirname", "ps")
    monkeypatch.setenv("PATH", only(programs, tmp_path / "bin"))
    project = make_project(tmp_path, [task("a")], config={"safety": {"sandbox": "auto"}})
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end
    (warning,) = [n.text for n in run.of(ev.Notice) if n.level == "warning"]
    assert "No sandbox holds the agent's commands" in warning


async def test_a_required_sandbox_that_is_missing_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = ("uv", "git", "bash", "sh")
    monkeypatch.setenv("PATH", only(programs, tmp_path / "bin"))
    project = make_project(tmp_path, [task("a")], config=SANDBOX)
    async with serving(scenario(finishes("a"))) as server:
        with pytest.raises(SetupError, match=r"required .* does not work here"):
            await play(project, server)
        assert list(server.requests) == []
