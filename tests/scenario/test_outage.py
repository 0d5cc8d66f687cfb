"""Outages of the API and the network: waited out, at no cost to the task, and never without end."""

import shlex
from pathlib import Path

import pytest

from ralph_tui.agent import process
from ralph_tui.domain import events as ev
from ralph_tui.domain.outcomes import LoopStatus
from ralph_tui.domain.plan.plan import TaskStatus
from tests.harness.model import serving
from tests.harness.projects import make_project, task, task_of
from tests.harness.scenarios import finishes, scenario
from tests.scenario.running import play

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
