"""The operating system's sandbox, for real: what no reading of a command can hold, it holds.

Skipped where it does not work: without bubblewrap and socat, or in a container without user namespaces.
"""

import asyncio
import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import SetupError
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.guard.sandbox.os_sandbox import NOT_HELD
from ralph_tui.store.project_root import AGENT_OF
from tests.harness.missing_programs import path_without
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.real_processes import PYTHON
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import WAITS_FOR_GO, Run, let_go, play
from tests.scenario.test_guarded import log, repository

GIT = "/usr/bin/env -i PATH=/usr/bin:/bin git -c user.name=x -c user.email=x"

TRIES = f"""\
#!/bin/sh
{GIT} commit -q --allow-empty -m sly; echo "script: $?"
{PYTHON} write.py .git/written; echo "python: $?"
{PYTHON} write.py .ralph/state.json; echo "state: $?"
make -s commit; echo "make: $?"
setsid sh -c 'sleep 0.2; {GIT} commit -q --allow-empty -m later; echo "detached: $?" > later.txt' &
cat "$HOME/.ssh/id_ed25519"; echo "key: $?"
echo x > "$HOME/outside.txt"; echo "outside: $?"
{PYTHON} reach.py; echo "network: $?"
kill -0 "$(cat pid)"; echo "owner: $?"
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


@pytest.mark.needs("sandbox")
@pytest.mark.long
async def test_what_no_text_shows_is_held_and_work_goes_on(tmp_path: Path, isolated: Path) -> None:
    (isolated / ".ssh").mkdir()
    (isolated / ".ssh" / "id_ed25519").write_text("the key itself")
    files = {"try.sh": TRIES, "write.py": WRITE, "Makefile": MAKEFILE, "reach.py": REACH}
    files["pid"] = str(os.getpid())
    project = make_project(tmp_path, [task("a")], config=SANDBOX, files=files)
    repository(project)
    async with serving(SCRIPT) as server:
        (project / "port").write_text(server.url.rpartition(":")[2])
        await asyncio.to_thread(
            subprocess.run, [sys.executable, "reach.py"], cwd=project, check=True
        )
        run = await play(project, server)
    tried, looked, tested = outputs(run)
    for what in (
        "script",
        "python",
        "state",
        "make",
        "detached",
        "key",
        "outside",
        "network",
        "owner",
    ):
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


CHECK = """\
import os, pathlib, socket, subprocess, sys
here = pathlib.Path(__file__).parent
def key(): print(pathlib.Path(os.environ["HOME"], ".ssh", "id_rsa").read_text())
def outside(): pathlib.Path(os.environ["HOME"], "outside.txt").write_text("sly")
def network(): socket.create_connection(("127.0.0.1", int((here / "port").read_text())), 5)
def environ(of):
    try:
        return of.read_bytes()
    except OSError:  # gone meanwhile
        return b""
def token():
    environs = pathlib.Path("/proc").glob("[0-9]*/environ")
    assert any(b"TOKEN=of another" in environ(of) for of in environs)
def ralph(): pathlib.Path(here, ".ralph", "state.json").write_text("sly")
def git(): pathlib.Path(here, ".git", "hooks", "post-checkout").write_text("sly")
def owner(): os.kill(int((here / "pid").read_text()), 0)
def project(): pathlib.Path(here, "made.txt").write_text("mine")
for attempt in (key, outside, network, token, ralph, git, owner, project):
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


ATTEMPTS = ("key", "outside", "network", "token", "ralph", "git", "owner")


@pytest.mark.costly
@pytest.mark.needs("sandbox")
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
        - bash: test -f .ralph/events.jsonl && echo Nothing dangles.
        - ralph: {{mark_task_complete: {{task_id: a, verification_notes: Done.}}}}
        - when: {{last_result: "ACCEPTED:"}}
          say: Done.
    """
    with others() as port:
        exceptions = {opened: {"ports": [port]}}
        project = make_project(
            tmp_path,
            [
                task(
                    "a",
                    verification_criteria=[{"command": check}, {"command": opened}],
                    may_change_checks=["check.py"],
                )
            ],
            config={"safety": {"sandbox": mode, "sandbox_exceptions": exceptions}},
            files={"port": str(port), "pid": str(os.getpid())},
        )
        repository(project)
        async with serving(scenario(script)) as server:
            run = await play(project, server)
    assert run.end.tasks_complete == 1, run.end
    assert "Nothing dangles." in outputs(run)[0], "where `node --test` walks"
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
    done = [task("a", status="complete")]
    project = make_project(tmp_path, done, config={"safety": {"sandbox": "auto"}})
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server)
    assert run.end.exit_code == 0, run.end
    first, last = [n.text for n in run.of(ev.Notice) if n.level == "warning"]
    assert "The agent's commands and the checks run without a sandbox" in first
    assert NOT_HELD in first
    assert NOT_HELD in last
    assert run.events[-2].type == "notice", "the line before the last tells it"


async def test_a_required_sandbox_that_is_missing_starts_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", path_without(tmp_path / "bin", "bwrap", "socat"))
    project = make_project(tmp_path, [task("a")], config=SANDBOX)
    async with serving(scenario(finishes("a"))) as server:
        with pytest.raises(SetupError, match=r"required .* does not work here"):
            await play(project, server)
        assert list(server.requests) == []


ESCAPE = """
    - name: runs a script twice
      task: a
      turns:
        - bash: sh escape.sh
        - bash: sh escape.sh
        - say: That is all.
"""


@pytest.mark.costly
@pytest.mark.needs("sandbox")
async def test_a_sandbox_lost_during_the_run_stops_it_and_nothing_runs_outside(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The CLI alone would fail the first command and run all later ones unsandboxed."""
    works_for_the_trial(tmp_path / "bin", "socat", calls=2)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:{os.environ['PATH']}")
    escape = f"echo out > {tmp_path}/escaped\n"
    project = make_project(
        tmp_path,
        [task("a")],
        config={"safety": {"sandbox": "auto"}},
        files={"escape.sh": escape},
    )
    async with serving(scenario(ESCAPE)) as server:
        run = await play(project, server)
    assert not (tmp_path / "escaped").exists()
    assert run.end.exit_code == 3, run.end
    assert "The sandbox stopped working during the run: socat does not work" in run.end.reason
    assert "ralph doctor" in run.end.hint


def works_for_the_trial(directory: Path, program: str, calls: int) -> None:
    """Put a program before the real one that fails after so many calls."""
    directory.mkdir()
    real, count = shutil.which(program), directory / "count"
    assert real is not None
    count.mkdir()
    text = f"""#!/bin/sh
mkdir {count}/$$
[ "$(ls {count} | wc -l)" -gt {calls} ] && exit 1
exec {real} "$@"
"""
    (directory / program).write_text(text, encoding="utf-8")
    (directory / program).chmod(0o755)


LOSES_IT = f"""
    - name: loses its sandbox
      task: a
      times: 1
      turns:
        - bash: {WAITS_FOR_GO}
        - bash: uv run python -c 'print(1)'
        - say: That is all.
"""


@pytest.mark.needs("sandbox")
@pytest.mark.long
async def test_a_session_that_lost_its_sandbox_is_replaced(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")], config=SANDBOX)

    async def breaks_it(run: Run) -> None:
        await run.until_told(ev.ToolStarted, lambda e: e.name == "Bash")
        bridge = next(p for p in psutil.process_iter() if is_bridge(p, project))
        named = next(w for w in bridge.cmdline() if w.startswith("UNIX-LISTEN:"))
        bridge.kill()
        os.unlink(named.split(":")[1].split(",")[0])  # noqa: PTH108
        let_go(project)

    async with serving(scenario(LOSES_IT, finishes("a"))) as server:
        run = await play(project, server, meanwhile=breaks_it)
    assert run.end.exit_code == 0, run.end
    assert run.end.iterations == 2


def is_bridge(process: psutil.Process, project: Path) -> bool:
    """Whether this is the socat through which the CLI leads a session's commands to the network."""
    try:
        line = " ".join(process.cmdline())
        environment = process.environ()
    except psutil.Error:
        return False
    return "UNIX-LISTEN:" in line and environment.get(AGENT_OF) == str(project.resolve())
