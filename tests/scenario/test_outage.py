"""Outages of the API and the network: waited out, at no cost to the task, and never without end."""

import shlex
from pathlib import Path

import pytest

from ralph_tui.agent import process
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from ralph_tui.engine.control.controls import Controls
from ralph_tui.store.project import Project
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.harness.waiting import until
from tests.scenario.running import Run, play

NO_RETRIES = {"agent.max_api_retries": 0}


def suffers(fault: str, sessions: int = 1) -> str:
    return f"""
    - name: "suffers {fault}"
      task: a
      times: {sessions}
      turns:
        - say: Hello.
          fault: {{kind: {fault}, times: forever}}
    """


@pytest.mark.long
async def test_an_outage_ends_the_run_after_its_limit_and_a_person_can_end_the_wait(
    tmp_path: Path,
) -> None:
    project = make_project(tmp_path, [task("a")])

    async def person(run: Run) -> None:
        await run.until_told(ev.LimitWait)
        await until(lambda: Project(project).load().state.waits, what="the wait on disk")
        Controls(project).retry_now()

    outage = suffers("status, status: 529", sessions=2)
    async with serving(scenario(outage, finishes("a"))) as server:
        bounded = {**NO_RETRIES, "limits.max_outage_minutes": 0}
        run = await play(project, server, overrides=bounded)
        assert (run.end.status, run.end.exit_code) == (LoopStatus.ERROR, 3)
        assert "529" in run.end.reason
        assert "run again" in run.end.hint
        left = task_of(project, "a")
        assert (left.status, left.retry_count) == (TaskStatus.PENDING, 0)

        slow = {**NO_RETRIES, "limits.backoff_seconds": 600}
        again = await play(project, server, overrides=slow, meanwhile=person)
    assert [e.why for e in again.of(ev.LimitWaitEnded)] == ["retried on request"]
    assert again.end.exit_code == 0


DIES = """\
#!/bin/sh
echo x >> {starts}
if [ $(wc -l < {starts}) -le {times} ]; then
    echo "cannot allocate memory; token {secret}" >&2
    exit 7
fi
exec {cli} "$@"
"""

SECRET = "sk-ant-api03-no-real-key-0123456789"


def dying(directory: Path, monkeypatch: pytest.MonkeyPatch, *, times: int) -> Path:
    """Put a CLI in place that dies at its first so many starts; the file that counts them."""
    cli, starts = directory / "claude", directory / "starts"
    real = process.bundled_cli()
    cli.write_text(
        DIES.format(starts=starts, times=times, secret=SECRET, cli=shlex.quote(str(real)))
    )
    cli.chmod(0o700)
    monkeypatch.setattr(process, "bundled_cli", lambda: cli)
    return starts


async def test_a_cli_that_dies_at_its_start_is_started_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path, [task("a")])
    dying(tmp_path, monkeypatch, times=2)
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, overrides={"agent.standby_session": False})
    assert [e.message.partition("Starting")[2] for e in run.of(ev.LimitWait)] == [
        " again (2 of 5)",
        " again (3 of 5)",
    ]
    assert len(run.of(ev.IterationStarted)) == 1
    assert run.end.exit_code == 0


async def test_a_cli_that_keeps_dying_at_its_start_ends_the_run_with_its_last_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project(tmp_path, [task("a")])
    starts = dying(tmp_path, monkeypatch, times=99)
    async with serving(scenario(finishes("a"))) as server:
        run = await play(project, server, overrides={"agent.standby_session": False})
    assert len(starts.read_text().splitlines()) == 5
    assert (run.end.status, run.end.exit_code) == (LoopStatus.ERROR, 3)
    assert run.end.reason == (
        "The Claude Code CLI failed to start 5 times. The Claude Code CLI did not start: Command "
        'failed with exit code 7. Last output: "cannot allocate memory; token [redacted]"'
    )
    assert "ralph doctor" in run.end.hint
    left = task_of(project, "a")
    assert (left.status, left.retry_count) == (TaskStatus.PENDING, 0)
