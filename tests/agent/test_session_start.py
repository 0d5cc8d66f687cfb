"""A CLI that does not start, in every way that was seen: one sentence each, and nothing else on the screen."""

import asyncio
import contextlib
import errno
import re
import time
from pathlib import Path
from typing import Any

import psutil
import pytest
from claude_agent_sdk import CLIConnectionError

from ralph_tui.agent import process, session
from ralph_tui.agent.agent import ClaudeAgent
from ralph_tui.agent.failures import exit_reason
from ralph_tui.domain import events as ev
from ralph_tui.domain.errors import SetupError
from ralph_tui.engine.core.ports import TurnEnded
from tests.agent.test_contract import Recorder, script, spec, turn
from tests.harness.model import cli_environment, serving
from tests.harness.real_processes import PYTHON
from tests.harness.waiting import until

QUICK = 8.0
"""Seconds. It takes about one on an idle machine; waiting as the SDK does takes ten and more."""

ENDS = {
    "status 0": ("#!/bin/sh\nexit 0\n", "did not start: no response in 2 seconds."),
    "silent": ("#!/bin/sh\nexec sleep 600\n", "did not start: no response in 2 seconds."),
    "status 1": (
        "#!/bin/sh\necho oops >&2; exit 1\n",
        'did not start: Command failed with exit code 1. Last output: "oops"',
    ),
    "killed": ("#!/bin/sh\nkill -9 $$\n", "did not start: Command failed with exit code -9."),
    "segfault": ("#!/bin/sh\nkill -11 $$\n", "did not start: Command failed with exit code -11."),
    "no program": ("neither", "did not start: "),
    "missing": (None, "did not start: "),
}


def living_children() -> list[int]:
    found: list[int] = []
    for child in psutil.Process().children():
        with contextlib.suppress(psutil.NoSuchProcess):
            if child.status() != psutil.STATUS_ZOMBIE:
                found.append(child.pid)
    return found


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=pytest.mark.long) if n == "silent" else n for n in ENDS],
)
async def test_a_cli_that_does_not_start_is_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], name: str
) -> None:
    program, told = ENDS[name]
    cli = tmp_path / "claude"
    if program is not None:
        cli.write_text(program)
        cli.chmod(0o700)
    monkeypatch.setattr(process, "bundled_cli", lambda: cli)
    if "2 seconds" in told:
        monkeypatch.setattr(session, "START_SECONDS", 2)
    log = tmp_path / "cli.log"
    agent = ClaudeAgent({}, log=log)
    with pytest.raises(SetupError) as failed:
        await agent.open(spec(tmp_path), Recorder())
    await agent.close()
    # The SDK may be writing when the process ends, and then knows no exit status.
    unknown = r"Command failed with exit code -?\d+"
    if name == "status 0":
        unknown = "no answer in 2 seconds"
    gone = re.sub(unknown, "the process ended", told)
    begins = tuple(f"The Claude Code CLI {how}" for how in (told, gone))
    assert failed.value.message.startswith(begins), failed.value
    assert failed.value.message.count("\n") == 0
    assert "doctor" in failed.value.hint
    assert capfd.readouterr() == ("", "")
    await until(lambda: not living_children(), what="the end of every process")
    if "oops" in (program or ""):
        assert log.read_text() == "oops\n"


async def test_a_log_that_cannot_be_written_is_told_once_and_stops_nothing(tmp_path: Path) -> None:
    log = tmp_path / "logs"
    log.mkdir()
    (tmp_path / "work").mkdir()
    async with serving(script("say: hi")) as server:
        agent = ClaudeAgent({**cli_environment(server, tmp_path), "DEBUG": "1"}, log=log)
        opened = await agent.open(spec(tmp_path / "work"), Recorder())
        assert isinstance(opened, session.ClaudeSession)
        for line in ("one", "two"):
            opened._keep_stderr(line)
        items = await turn(opened, "go")
        await opened.close()
        await agent.close()
    notices = [item.text for item in items if isinstance(item, ev.Notice)]
    lost = (
        f"The log of the Claude Code CLI cannot be written: Cannot append to {log}: Is a directory."
    )
    assert notices == [lost]
    assert any(isinstance(item, ev.AssistantText) for item in items)


async def test_a_session_made_ahead_that_nobody_needed_any_more_may_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    monkeypatch.setattr(session.ClaudeSession, "connect", full)
    agent = ClaudeAgent({})
    agent.prepare(spec(tmp_path))
    await agent.close()  # the run has its own end, and this is not it


@pytest.mark.parametrize("name", ["review_tool", "after_tool", "on_stop", "call_tool"])
async def test_where_a_resource_runs_out_the_turn_ends(tmp_path: Path, name: str) -> None:
    async def full(*_: object) -> None:
        raise OSError(errno.EMFILE, "Too many open files")

    opened = session.ClaudeSession(spec(tmp_path), {}, lambda _: None)
    overseer = Recorder()
    setattr(overseer, name, full)
    opened.oversee(overseer)
    with pytest.raises(OSError, match="Too many open files"):
        await getattr(opened._hooks.supervisor, name)()
    (ended,) = await opened._next_items()
    assert "has run out of resources: Too many open files." in str(getattr(ended, "failure", ""))


async def test_an_interrupt_without_an_answer_is_said_in_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "INTERRUPT_SECONDS", 0.01)
    deaf = session.ClaudeSession(spec(tmp_path), {}, lambda _: None)
    monkeypatch.setattr(deaf._client, "interrupt", asyncio.Event().wait)
    await deaf.interrupt()
    (ended,) = await deaf._next_items()
    assert isinstance(ended, TurnEnded)
    assert ended.failure is not None
    assert ended.failure.message == (
        "The Claude Code CLI ended unexpectedly (no response to an interrupt in 0.01 seconds)."
    )


async def test_after_a_tool_what_the_cli_said_before_is_dealt_with_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    talking, recorder = session.ClaudeSession(spec(tmp_path), {}, lambda _: None), Recorder()
    talking.oversee(recorder)
    (after,) = talking._hooks.matchers()["PostToolUse"]
    data: Any = {"tool_name": "Read", "tool_input": {}, "hook_event_name": "PostToolUse"}

    def ran() -> asyncio.Task[Any]:
        return asyncio.ensure_future(after.hooks[0](data, "t", {"signal": None}))

    talking._emit(ev.Notice(level="warning", text="83 % is used"))
    hook = ran()
    assert len(await talking._next_items()) == 1
    assert not recorder.after, "whoever reads the turn is still at it"
    assert await talking._next_items() == []
    await hook
    assert len(recorder.after) == 1
    monkeypatch.setattr(session, "CATCH_UP_SECONDS", 0.01)
    await ran()
    assert len(recorder.after) == 2, "nobody reads between turns"


DEAF = """\
#!{python} -IS
import signal, time
for name in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
    signal.signal(name, signal.SIG_IGN)
open({sign!r}, "w").close()
while True:
    time.sleep(60)
"""
"""It never says a word, reads nothing, and heeds no signal that can be ignored."""


def deaf_cli(directory: Path) -> tuple[Path, Path]:
    cli, sign = directory / "claude", directory / "runs"
    cli.write_text(DEAF.format(python=PYTHON, sign=str(sign)))
    cli.chmod(0o700)
    return cli, sign


@pytest.mark.serial
@pytest.mark.parametrize("wanted", ["standby", "first"])
async def test_a_cli_that_hangs_at_its_start_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: str
) -> None:
    cli, sign = deaf_cli(tmp_path)
    monkeypatch.setattr(process, "bundled_cli", lambda: cli)
    agent = ClaudeAgent({})
    opening = None
    if wanted == "standby":
        agent.prepare(spec(tmp_path))
    else:
        opening = asyncio.create_task(agent.open(spec(tmp_path), Recorder()))
    await until(sign.exists, what="the start of the CLI")
    began = time.monotonic()
    if opening is not None:
        opening.cancel()
        await asyncio.wait([opening])
        assert opening.cancelled()
    await agent.close()
    assert time.monotonic() - began < QUICK
    await until(lambda: not living_children(), what="the end of every process")


@pytest.mark.parametrize(
    "told",
    ["Failed to write to process stdin: ", "Cannot write to terminated process (exit code: 1)"],
)
def test_a_pipe_that_broke_is_told_as_a_process_that_ended(told: str) -> None:
    assert exit_reason(CLIConnectionError(told)) == "the process ended"
