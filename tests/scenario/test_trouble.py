"""What the loop does when the model, the network, the CLI or the money gives out."""

import json
from pathlib import Path

import psutil
import pytest

from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import FailureClass, IterationOutcome
from ralph_tui.engine.safety.processes import SESSION_MARK
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play


def once(script: str) -> str:
    return script.replace("turns:", "times: 1\n      turns:", 1)


SLEEP = "import time; time.sleep(600)"


def leaves_a_stray(task_id: str) -> str:
    sleep = f"python3 -c '{SLEEP}'"
    detached = f"nohup setsid {sleep} >/dev/null 2>&1 & echo ok"
    return f"""
    - name: leaves a stray
      when: "^Task ID: {task_id}$"
      turns:
        - bash: {repr_yaml(detached)}
        - bash: {repr_yaml(sleep)}
        - say: Done.
    """


@pytest.mark.costly
async def test_a_killed_cli_costs_one_iteration_and_leaves_nothing(tmp_path: Path) -> None:
    project = make_project(tmp_path, [task("a")])
    first = once(leaves_a_stray("a"))
    survivors: list[psutil.Process] = []

    async def kill(run: Run) -> None:
        await run.until_told(ev.ToolFinished)
        await until(lambda: sleeping(project), what="the detached sleep")
        survivors.extend(sleeping(project))
        cli = next(p for p in children() if "claude" in p.name())
        cli.kill()

    async with serving(scenario(first, finishes("a"))) as server:
        run = await play(project, server, meanwhile=kill)
    assert [e.failure for e in run.of(ev.AgentFailed)] == [FailureClass.CLI_DIED]
    outcomes = [e.outcome for e in run.of(ev.IterationFinished)]
    assert outcomes == [IterationOutcome.FAILED, IterationOutcome.COMPLETE]
    assert task_of(project, "a").retry_count == 0
    assert run.end.exit_code == 0
    assert survivors
    assert not any(p.is_running() and p.status() != "zombie" for p in survivors)
    assert not marked_children()


def repr_yaml(text: str) -> str:

    return json.dumps(text)


def children() -> list[psutil.Process]:
    return psutil.Process().children(recursive=True)


def sleeping(project: Path) -> list[psutil.Process]:
    """The sleeps that were started in the project, without the shells whose text they are."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cmdline()[1:] == ["-c", SLEEP] and process.cwd() == str(project):
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found


def marked_children() -> list[psutil.Process]:
    found = []
    for process in children():
        try:
            if SESSION_MARK in process.environ():
                found.append(process)
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue
    return found
